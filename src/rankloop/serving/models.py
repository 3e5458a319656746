"""The models of a loop: each ranks, some learn, and the quality of each is measured."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from rankloop.clicks.rankers.base import ClickRanker
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, RankloopError
from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import measure_queries
from rankloop.measures.measure import parse
from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.rankers.online.base import OnlineRanker
from rankloop.serving.examples import stack_examples
from rankloop.serving.journal.entries import JUDGED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Ranker, Scores
    from rankloop.serving.examples import Example

_T = TypeVar("_T")
_MEASURE = (parse("nDCG@10"),)
_RULES = as_convention("standard")
RECENT = 0.99
"""The factor by which each new ranking reduces the weight of the recent mean."""


class Curve(msgspec.Struct):
    """The quality of rankings, measured on feedback before it was learnt.

    n, total : rankings measured, and the sum of their nDCG@10
    recent : a mean in which older rankings count less
    """

    n: int = 0
    total: float = 0.0
    recent: float = 0.0

    def add(self, values: Iterable[float]) -> None:
        """Add rankings."""
        n, total, recent = self.n, self.total, self.recent
        for value in values:
            n += 1
            total += value
            recent += max(1 - RECENT, 1 / n) * (value - recent)
        self.n, self.total, self.recent = n, total, recent

    @property
    def mean(self) -> float:
        """The mean over all rankings; 0 if there are none."""
        return self.total / self.n if self.n else 0.0


class Model:
    """A ranker with its name.

    name : its name for people and in entries
    ranker : what ranks, and learns if it is an :class:`OnlineRanker`
    version : position of the entry that changed it last
    curve : its quality
    refused : number of examples that it could not learn from; they did not change it
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
        """Whether it continues to learn."""
        return isinstance(self.ranker, OnlineRanker)

    def learn(self, examples: Sequence[Example], seen: QueryDataset) -> NDArray[np.float64]:
        """Learn from examples, if it can, and return its scores for each just before.

        An example that would make it invalid is counted, but changes nothing.

        Parameters
        ----------
        examples : all of the same kind: with weights or without, with pairs or without
        seen : their candidates, of which the scores are returned
        """
        ranker = self.ranker
        if not isinstance(ranker, OnlineRanker):
            return np.asarray(ranker.predict(seen), np.float64)
        alone = isinstance(ranker, ClickRanker) or examples[0].pairs is not None
        scores: Scores | None
        if len(examples) > 1:
            scores = None if alone else self._try(lambda: _finite(ranker.predict_then_learn(seen)))
            if scores is None:
                # An example of the batch may have failed: one by one, only that one is refused.
                return np.concatenate(
                    [self.learn([one], stack_examples([one])) for one in examples]
                )
        elif alone:
            scores = ranker.predict(seen)
            if self._try(lambda: _learn_alone(ranker, examples[0], seen)) is None:
                self.refused += 1
                return np.asarray(scores, np.float64)
        else:
            scores = self._try(lambda: ranker.predict_then_learn(seen))
            if scores is None:
                self.refused += 1
                return np.asarray(ranker.predict(seen), np.float64)
        self.version = examples[-1].position
        return np.asarray(scores, np.float64)

    def _try(self, learn: Callable[[], _T]) -> _T | None:
        """Return what learning returned; None if it failed, and changed nothing."""
        before = self.ranker.copy()
        try:
            found = learn()
            if all_finite(self.ranker._state()):
                return found
        except RankloopError:
            pass
        self.ranker._become(before)
        return None

    def state(self) -> ModelState:
        """Return its whole state as plain values."""
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


def _learn_alone(ranker: OnlineRanker, example: Example, seen: QueryDataset) -> OnlineRanker:
    if example.by_clicks and isinstance(ranker, ClickRanker):
        return ranker.learn_ranking(example.ranking, example.grades)
    return ranker.partial_fit(seen if example.pairs is None else example.pairs)


def _finite(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Raise where a score is not finite: then an example before it may have broken the ranker."""
    if not np.isfinite(scores).all():
        raise DataError("a score is not finite")
    return scores


def all_finite(state: object) -> bool:
    """Whether all arrays of a ranker's state are finite; one infinite weight spoils all scores.

    >>> all_finite({"weights_": np.ones(2), "of": [{"weights_": np.array([1, np.nan])}]})
    False
    """
    if isinstance(state, np.ndarray):
        return state.dtype.kind != "f" or bool(np.isfinite(state).all())
    if isinstance(state, OnlineRanker):
        return all_finite(state._state())
    if isinstance(state, dict):
        return all(map(all_finite, state.values()))
    return not isinstance(state, list | tuple) or all(map(all_finite, state))


def fresh(ranker: OnlineRanker, names: tuple[str, ...]) -> OnlineRanker:
    """Return a ranker that knows only its features, so that it can rank."""
    nothing = QueryDataset(
        np.empty((0, len(names)), np.float32),
        np.empty(0),
        np.array([0]),
        np.empty(0, np.int64),
        feature_names=names,
    )
    return ranker.partial_fit(nothing)


def qualities(
    scores: Sequence[NDArray[np.float64]], grades: NDArray[np.float64], offsets: NDArray[np.int64]
) -> list[list[float]]:
    """Return the nDCG@10 of several scorings, each of all queries in which a document is good."""
    starts = (len(grades) * np.arange(len(scores)))[:, None] + offsets[:-1]
    rows = np.append(starts.ravel(), len(scores) * len(grades))  # all scorings, one after the other
    every = np.tile(grades, len(scores))
    values = measure_queries(np.concatenate(scores), every, rows, _MEASURE, _RULES)[0]
    by_scores = values.reshape(len(scores), -1)
    known: list[list[float]] = by_scores[:, ~np.isnan(by_scores[0])].tolist()
    return known


def learn_examples(examples: Sequence[Example], models: Collection[Model], shown: Curve) -> None:
    """Measure every model on each example, then let it learn; and measure what people saw."""
    for (nobody_saw, *_), run in groupby(examples, _alike):
        batch = list(run)
        seen = stack_examples(batch)
        orders = _as_scores(batch, seen.offsets)
        scores = [orders, *(model.learn(batch, seen) for model in models)]
        curves = [Curve() if nobody_saw else shown, *(model.curve for model in models)]
        for curve, values in zip(curves, qualities(scores, seen.y, seen.offsets), strict=True):
            curve.add(values)


def _alike(example: Example) -> tuple[bool, bool, bool]:
    """Return what examples that are learnt together have in common."""
    return example.ranking.policy == JUDGED, example.weights is None, example.pairs is None


def _as_scores(examples: Sequence[Example], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores that lead to the orders that were shown: minus the place, counted from 0."""
    orders = [example.ranking.order for example in examples]
    sizes = [len(order) for order in orders]
    ends = np.cumsum(sizes)
    rows = np.concatenate(orders) + np.repeat(offsets[:-1], sizes)
    scores = np.repeat(-np.diff(offsets).astype(np.float64), np.diff(offsets))
    scores[rows] = np.repeat(ends - sizes, sizes) - np.arange(float(len(rows)))
    return scores
