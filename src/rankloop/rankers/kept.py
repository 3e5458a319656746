"""What a ranker has learnt, as a value: copied, checked, restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop._utils.estimator import Estimator
from rankloop.exceptions import ModelError, NotFittedError
from rankloop.rankers.forms import Anything, Names, Whole
from rankloop.rankers.locking import Shared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.forms import Form

    State = Mapping[str, Any]  # what a ranker learnt, by name

MAX_FEATURES = 2**24


def known_width(state: State) -> int:
    """Return the number of features according to a ranker's state."""
    width = state.get("n_features_in_")
    Whole(high=MAX_FEATURES).check("n_features_in_", width)
    return int(width)  # type: ignore[arg-type]


class Kept(Shared, Estimator):
    """State as a value; a subclass names what it learns (`_learns`, and :meth:`_forms`)."""

    _learns: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that, together with the counters, form the whole learnt state."""

    n_features_in_: int
    feature_names_in_: tuple[str, ...] = ()
    n_queries_seen_: int
    version_: int = 0

    @property
    def is_fitted(self) -> bool:
        """Whether it has seen any data."""
        return "n_features_in_" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"{type(self).__name__} has learnt nothing yet; call fit or learn")

    def state(self) -> dict[str, Any]:
        """Return copies of everything that was learnt, by attribute; empty before `fit`."""
        return {name: plain_copy(getattr(self, name)) for name in self._state_names()}

    def _state_names(self) -> tuple[str, ...]:
        if not self.is_fitted:
            return ()
        names = ("feature_names_in_",) if self.feature_names_in_ else ()
        return ("n_features_in_", "n_queries_seen_", *names, *self._learns)

    def _forms(self, n_features: int) -> dict[str, Form]:
        """Return the expected form of each part of :meth:`state`, for n_features features."""
        return {
            "n_features_in_": Whole(n_features, n_features),
            "n_queries_seen_": Whole(),
            **dict.fromkeys(self._learns, Anything()),
        }

    def _check_state(self, state: Mapping[str, object]) -> None:
        """Raise unless this is a possible state of a ranker with these parameters.

        The state comes from a file, and may be anything. A subclass extends this if its parts must
        be consistent with each other, or if it learns more than numbers.
        """
        width = known_width(state)
        forms = self._forms(width)
        if "feature_names_in_" in state:
            forms["feature_names_in_"] = Names(width)
        if state.keys() != forms.keys():
            differ = ", ".join(sorted(state.keys() ^ forms.keys()))
            raise ModelError(
                f"the state of a {type(self).__name__} has missing or unknown parts: {differ}"
            )
        for name, form in forms.items():
            form.check(name, state[name])

    def restore(self, state: State) -> None:
        """Replace the state by one that :meth:`state` returned, after checking it."""
        with self._writing:
            new = self.fork()
            new._check_state(state)
            new.feature_names_in_ = ()
            for name, value in state.items():
                setattr(new, name, tuple(value) if name == "feature_names_in_" else value)
            self._become(new)


def plain_copy(value: object) -> object:
    """Return a copy of a state that shares no array; rankers in it are forks."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Kept):
        return value.fork()
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_copy(item) for key, item in value.items()}
    return value
