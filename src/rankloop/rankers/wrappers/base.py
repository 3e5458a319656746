"""A ranker whose features are transformed first; the transformation is part of the model."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.rankers.base import Ranker
from rankloop.rankers.forms import FittedRanker, Values
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.parameters import check_rankers
from rankloop.rankers.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.state import State


class Wrapped(Ranker):
    """A ranker that receives transformed features.

    A subclass defines how the transformation is fitted (:meth:`_fit_transformation`) and applied.
    It stores the transformation as plain values and arrays in the attributes that `_learns` names.
    Rounds, passes, early stopping and `warm_start` are those of the ranker.

    A wrapper is online if its ranker is. So there are two classes for each wrapper, and calling the
    one that users know makes an object of the other when the ranker is online, as `pathlib.Path()`
    makes a PosixPath. Methods such as `learn` exist only where they work, and
    `isinstance(model, OnlineRanker)` is right.
    """

    _wraps: ClassVar[type] = Ranker
    """The kind of rankers that this class wraps."""

    _special_classes: ClassVar[list[type[Wrapped]]] = []
    """The classes for special kinds of rankers; each comes after the more general ones."""

    ranker: Ranker | None
    ranker_: Ranker

    def __init_subclass__(cls, special_case_of: type[Wrapped] | None = None) -> None:
        """Register a class for a special kind of rankers (`_wraps`) with the one users know."""
        super().__init_subclass__()
        cls._special_classes = []  # its own list, not that of the parent
        if special_case_of is not None:
            special_case_of._special_classes.append(cls)
            # Model files, errors and repr use __name__, and users know only one name. Pickle uses
            # __qualname__, so it still finds this class.
            cls.__name__ = special_case_of.__name__

    def __new__(cls, ranker: Ranker | None = None, *_args: object, **_params: object) -> Self:
        """Make an object of the class for this kind of ranker; the default ranker is online."""
        inner = NewtonXENDCG() if ranker is None else ranker
        suitable = [kind for kind in cls._special_classes if isinstance(inner, kind._wraps)]
        return object.__new__(suitable[-1] if suitable else cls)  # type: ignore[return-value]

    def __getnewargs__(self) -> tuple[Ranker | None]:
        """Return what deep copies and pickles pass to `__new__`, which chooses the class by it."""
        return (self.ranker,)

    @abstractmethod
    def _fit_transformation(self, data: QueryDataset) -> None:
        """Fit the transformation and store it."""

    @abstractmethod
    def _transform(self, data: QueryDataset) -> QueryDataset:
        """Apply the transformation to a data set."""

    @abstractmethod
    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:
        """Apply the transformation to rows."""

    @abstractmethod
    def _transformed_width(self, state: State) -> int:
        """Return the number of transformed features; raise if the transformation is damaged."""

    @property
    def _inner_traits(self) -> Traits:
        """What its ranker can do, and whether this wrapper is online."""
        # Anything that is not a ranker is refused when it is fitted.
        inner = self.ranker.traits if isinstance(self.ranker, Ranker) else Traits()
        return replace(
            inner, is_online=isinstance(self, OnlineRanker), is_robust=True, is_baseline=False
        )

    @property
    def warm_start(self) -> bool:  # type: ignore[override]
        """Whether `fit` continues from the current state, with the transformation it has."""
        return isinstance(self.ranker, Ranker) and self.ranker.warm_start

    @property
    def rounds_(self) -> int | None:  # type: ignore[override]
        """The number of rounds of the ranker; None if it does not learn in rounds."""
        return self.ranker_.rounds_ if self.is_fitted else None

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        return (*known, "ranker_") if known else ()

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "ranker_": FittedRanker(self._wraps, None),
            **dict.fromkeys(self._learns, Values()),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        width = self._transformed_width(state)
        FittedRanker(self._wraps, width).check("ranker_", state["ranker_"])

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Fit the transformation and then the ranker; the rounds are those of the ranker."""
        goes_on = self.ranker_.is_fitted
        if not goes_on:
            self._fit_transformation(data)
        self.ranker_ = self.ranker_.copy().set_params(**self._fresh().get_params(deep=False))
        seen = self._transform(data)
        judged = None if valid is None else self._transform(valid)
        checked = self.ranker_._begin(seen, judged, goes_on)
        for _ in self.ranker_._fit(*checked, on_round):
            self.n_queries_seen_ = self.ranker_.n_queries_seen_
            yield
        self.n_queries_seen_ = self.ranker_.n_queries_seen_

    def _fit_sample(self, sample: QueryDataset) -> Self:
        """Return a copy with the transformation fitted to a sample; its ranker is still to learn.

        It is for data in parts: :meth:`_transform_part` changes each part, the ranker is fitted to
        them, and :meth:`_with_ranker` puts both together.
        """
        new = copy.deepcopy(self)
        new._begin(sample, None, False)
        new._fit_transformation(sample)
        return new

    def _transform_part(self, data: QueryDataset) -> QueryDataset:
        """Return data as the ranker sees it."""
        self._refuse_missing(data)
        return self._transform(data)

    def _with_ranker(self, ranker: Ranker) -> Self:
        """Return a copy with this fitted ranker."""
        new = copy.deepcopy(self)
        new.ranker_ = ranker
        new.n_queries_seen_ = ranker.n_queries_seen_
        return new

    def _end_early(self) -> None:
        """Keep the last complete round of the ranker."""
        self.ranker_ = self.ranker_.copy()
        self.ranker_._end_early()

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        for name in self._learns:
            setattr(self, name, {})
        self.ranker_ = self._fresh()

    def _fresh(self) -> Ranker:
        if self.ranker is None:
            return NewtonXENDCG()
        check_rankers("ranker", [self.ranker], Ranker)
        return copy.deepcopy(self.ranker)

    def _check(self, data: QueryDataset) -> None:
        self._fresh()._check(data)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        return self.ranker_._score_rows(self._transform_rows(X, offsets), offsets)


class OnlineWrapped(OnlineRanker, Wrapped):
    """A wrapper around an online ranker; its transformation is fitted to the first data.

    `OnlineRanker` comes first, so `fit` learns query by query instead of in rounds.
    """

    _wraps: ClassVar[type] = OnlineRanker

    ranker_: OnlineRanker

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of the wrapper, which come after those of any online ranker in the order."""
        return super(OnlineRanker, self).traits

    @property
    def passes(self) -> int:  # type: ignore[override]
        """The number of passes of `fit` over the data; that of the ranker."""
        return 1 if self.ranker is None else self.ranker.passes  # type: ignore[attr-defined]

    @property
    def random_state(self) -> int | None:  # type: ignore[override]
        """The random seed of the order of queries in `fit`; that of the ranker."""
        return None if self.ranker is None else self.ranker.random_state  # type: ignore[attr-defined]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ranker is not None:
            check_rankers("ranker", [self.ranker], self._wraps)

    def _check_queries(self, queries: Queries) -> None:
        ranker = self.ranker_ if self.is_fitted else self.ranker
        if ranker is not None:
            ranker._check_all(queries)  # type: ignore[attr-defined]

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows; before any data, when nothing is fitted, all are equal."""
        if not self.ranker_.is_fitted:
            return np.zeros(len(X), np.float32)
        return super()._score_rows(X, offsets)

    def _discount_past(self, keep: float) -> None:
        self.ranker_ = self.ranker_.copy().discount_past(keep)
