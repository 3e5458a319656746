"""The models of a loop: each ranks, those that can learn, and how well each does is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from rankloop.clicks.learners.base import ClickLearner
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import RankloopError
from rankloop.learners.online.base import OnlineRanker
from rankloop.learners.saving import dumps, loads
from rankloop.metrics.conventions import as_convention
from rankloop.metrics.evaluation import measure_queries
from rankloop.metrics.measures import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.learners.base import Ranker

_MEASURE = (parse("nDCG@10"),)
_RULES = as_convention("standard")
RECENT = 0.99
"""How much of the recent mean each new ranking leaves."""


class Curve(msgspec.Struct):
    """How well rankings came out, measured on feedback before it was learnt.

    n, total : rankings measured, and the sum of their nDCG@10
    recent : a mean in which older rankings count for less
    """

    n: int = 0
    total: float = 0.0
    recent: float = 0.0

    def add(self, value: float) -> None:
        """Take one more ranking in."""
        self.n += 1
        self.total += value
        weight = max(1 - RECENT, 1 / self.n)
        self.recent += weight * (value - self.recent)

    @property
    def mean(self) -> float:
        """The mean over all; 0 before any."""
        return self.total / self.n if self.n else 0.0


class Model:
    """A ranker under its name.

    name : how people and entries call it
    ranker : what ranks, and learns if it is an :class:`OnlineRanker`
    version : position of the entry that changed it last
    curve : how well it does
    refused : lessons that it could not learn from; they left it as it was
    """

    def __init__(
        self,
        name: str,
        ranker: Ranker,
        version: int,
        curve: Curve | None = None,
        refused: int = 0,
    ) -> None:
        self.name, self.ranker, self.version = name, ranker, version
        self.curve = Curve() if curve is None else curve
        self.refused = refused

    @property
    def learns(self) -> bool:
        """Whether it goes on learning."""
        return isinstance(self.ranker, OnlineRanker)

    def learn(
        self,
        lesson: QueryDataset,
        position: int,
        clicked: tuple[Ranking, NDArray[np.float64]] | None = None,
    ) -> None:
        """Learn, if it can; a lesson that would break it is counted, and changes nothing.

        Parameters
        ----------
        lesson : what every learner takes
        position : of the entry that teaches it
        clicked : the ranking and its grades, where they come from feedback: a learner for clicks
            such as PDGD takes these instead
        """
        if not isinstance(self.ranker, OnlineRanker):
            return
        before = self.ranker.state()
        try:
            if clicked is not None and isinstance(self.ranker, ClickLearner):
                self.ranker.learn_ranking(*clicked)
            else:
                self.ranker.partial_fit(lesson)
            good = all_finite(self.ranker.state())
        except RankloopError:
            good = False
        if good:
            self.version = position
        else:
            self.ranker.restore(before)
            self.refused += 1

    def state(self) -> ModelState:
        """Return everything of it as plain values."""
        return ModelState(self.name, dumps(self.ranker), self.version, self.curve, self.refused)


class ModelState(msgspec.Struct):
    """A model as plain values."""

    name: str
    body: bytes
    version: int
    curve: Curve
    refused: int

    def model(self) -> Model:
        """Return the model."""
        return Model(self.name, loads(self.body), self.version, self.curve, self.refused)


def all_finite(state: Any) -> bool:
    """Whether all arrays of a learner's state are finite; one weight that is not spoils all scores.

    >>> all_finite({"weights_": np.ones(2), "of": [{"weights_": np.array([1, np.nan])}]})
    False
    """
    if isinstance(state, np.ndarray):
        return state.dtype.kind != "f" or bool(np.isfinite(state).all())
    if isinstance(state, OnlineRanker):
        return all_finite(state.state())
    if isinstance(state, dict):
        return all(map(all_finite, state.values()))
    return not isinstance(state, list | tuple) or all(map(all_finite, state))


def fresh(ranker: OnlineRanker, names: tuple[str, ...]) -> OnlineRanker:
    """Return a learner that knows its features and nothing else, so that it can rank."""
    nothing = QueryDataset(
        np.empty((0, len(names)), np.float32),
        np.empty(0),
        np.array([0]),
        np.empty(0, np.int64),
        feature_names=names,
    )
    return ranker.partial_fit(nothing)


def qualities(
    scores: Sequence[NDArray[np.float64]], grades: NDArray[np.float64]
) -> list[float] | None:
    """Return the nDCG@10 of several scorings of one query; None where no document is good."""
    rows = len(grades) * np.arange(len(scores) + 1)
    every = np.tile(grades, len(scores))
    values = measure_queries(np.concatenate(scores), every, rows, _MEASURE, _RULES)[0].tolist()
    return None if any(value != value for value in values) else values


def quality(scores: NDArray[np.float64], grades: NDArray[np.float64]) -> float | None:
    """Return the nDCG@10 of one scoring; None where no document is good."""
    found = qualities([scores], grades)
    return None if found is None else found[0]
