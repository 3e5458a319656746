"""The learners of a comparison, and the settings that each may choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError
from rankloop.experiments.peers import PEERS, read_peer
from rankloop.learners.registry import read_learner
from rankloop.learners.search import grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankloop.estimator import Estimator
    from rankloop.learners.base import Ranker
    from rankloop.learners.search import Search
    from rankloop.metrics.measures import Measure


@dataclass(frozen=True, eq=False)
class Contender:
    """An unfitted learner with the settings to try, in this order."""

    name: str
    learner: Ranker
    settings: tuple[dict[str, object], ...]

    @property
    def key(self) -> list[object]:
        """Plain values that identify what is tried."""
        return [
            type(self.learner).__name__,
            {name: repr(value) for name, value in self.learner.get_params(deep=False).items()},
            [{name: repr(value) for name, value in s.items()} for s in self.settings],
        ]


def make_contenders(
    learners: str | Iterable[str] | Mapping[str, Ranker],
    measure: Measure,
    *,
    seed: int = 0,
    search: bool = True,
    grids: Mapping[str, Mapping[str, Search]] | None = None,
) -> list[Contender]:
    """Read learners; given parameters are not searched, and `grids` replaces a learner's grid.

    A batch ranker without a given `valid_measure` or `random_state` gets the measure and the seed.

    >>> from rankloop.metrics.measures import nDCG
    >>> [len(c.settings) for c in make_contenders(["slam", "slam:rate=1", "auto"], nDCG @ 10)]
    [5, 1, 1]
    """
    if isinstance(learners, Mapping):
        given = {name: (learner, changed(learner)) for name, learner in learners.items()}
    else:
        given = {}
        for text in [learners] if isinstance(learners, str) else learners:
            if text in given:
                raise DataError(f"the learner {text!r} is given twice; give it once")
            read = read_peer if text.partition(":")[0].strip() in PEERS else read_learner
            cls, params = read(text)
            given[text] = cls(**params), set(params)
    if not given:
        raise DataError("give at least one learner")
    found = []
    for name, (learner, fixed) in given.items():
        own = (grids or {}).get(name) or open_space(learner, fixed)
        space = dict(own) if search else {}
        if not learner.is_online:
            learner = prepared(learner, fixed, measure, seed)
        found.append(Contender(name, learner, tuple(grid(space))))
    return found


def prepared(learner: Any, fixed: set[str], measure: Measure, seed: int) -> Any:
    """Return a new learner with this measure and seed, unless its own parameters are given."""
    params = learner.get_params(deep=False)
    for name, value in (("valid_measure", str(measure)), ("random_state", seed)):
        if name in params and name not in fixed:
            params[name] = value
    return type(learner)(**params)


def open_space(learner: Ranker, fixed: set[str]) -> dict[str, Search]:
    """Return the search space without the parameters that are given."""
    return {name: search for name, search in learner.search_space.items() if name not in fixed}


def changed(learner: Estimator) -> set[str]:
    """Return the names of parameters that differ from their defaults."""
    defaults = learner.parameters()
    params = learner.get_params(deep=False)
    return {name for name, value in params.items() if repr(value) != repr(defaults[name])}
