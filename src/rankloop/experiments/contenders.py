"""Who takes part in a comparison, and the settings each may choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError
from rankloop.learners.batch.base import BatchRanker
from rankloop.learners.registry import read_learner
from rankloop.learners.search import grid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankloop.learners.base import Ranker
    from rankloop.learners.estimator import Estimator
    from rankloop.learners.search import Search
    from rankloop.metrics.measures import Measure


@dataclass(frozen=True, eq=False)
class Contender:
    """A learner that knows nothing yet, with every setting to try; the first is tried first."""

    name: str
    learner: Ranker
    settings: tuple[dict[str, Any], ...]

    @property
    def key(self) -> list[Any]:
        """Plain values that change with what is tried."""
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
) -> list[Contender]:
    """Read learners; parameters that are given leave the grid.

    A batch ranker that leaves its `metric` or `random_state` open gets the measure and the seed.

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
                raise DataError(f"the learner {text!r} stands twice; name it once")
            cls, params = read_learner(text)
            given[text] = cls(**params), set(params)
    if not given:
        raise DataError("name at least one learner")
    found = []
    for name, (learner, fixed) in given.items():
        space = open_space(learner, fixed) if search else {}
        if isinstance(learner, BatchRanker):
            learner = prepared(learner, fixed, measure, seed)
        found.append(Contender(name, learner, tuple(grid(space))))
    return found


def prepared(learner: Ranker, fixed: set[str], measure: Measure, seed: int) -> Ranker:
    """Return a new learner that watches the measure and draws from the seed, unless told other."""
    params = learner.get_params(deep=False)
    for name, value in (("metric", str(measure)), ("random_state", seed)):
        if name in params and name not in fixed:
            params[name] = value
    return type(learner)(**params)


def open_space(learner: Ranker, fixed: set[str]) -> dict[str, Search]:
    """Return what there is to choose, but for parameters that are given."""
    return {name: search for name, search in learner.search_space.items() if name not in fixed}


def changed(learner: Estimator) -> set[str]:
    """Return the names of parameters that differ from their defaults."""
    defaults = learner.parameters()
    params = learner.get_params(deep=False)
    return {name for name, value in params.items() if repr(value) != repr(defaults[name])}
