"""The models of a loop: each ranks, some learn, and the quality of each is measured."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankloop import _core
from rankloop.clicks.rankers.base import ClickRanker
from rankloop.data.columns import with_columns
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, RankloopError
from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import measure_queries
from rankloop.measures.measure import parse
from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.rankers.online.base import OnlineRanker
from rankloop.serving.journal.ranking_entries import JUDGED
from rankloop.serving.learning.changes import Changes, queries_seen
from rankloop.serving.learning.examples import stack_examples
from rankloop.serving.learning.failures import is_contained

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.features.columns import Features
    from rankloop.rankers.base import Ranker, Scores
    from rankloop.serving.learning.examples import Example
    from rankloop.serving.learning.failures import Note
    from rankloop.serving.settings.loop import LoopSettings

_MEASURE = (parse("nDCG@10"),)
_RULES = as_convention("standard")
RECENT = 0.99
"""The factor by which each new ranking reduces the weight of the recent mean."""


class Quality(msgspec.Struct):
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
    changes : the changes of people or items that it noticed
    """

    def __init__(
        self,
        name: str,
        ranker: Ranker,
        version: int,
        curve: Quality | None = None,
        refused: int = 0,
        changes: Changes | None = None,
    ) -> None:
        self.name, self.ranker, self.version = name, ranker, version
        self.curve = Quality() if curve is None else curve
        self.refused = refused
        self.changes = Changes() if changes is None else changes

    @property
    def learns(self) -> bool:
        """Whether it continues to learn."""
        return isinstance(self.ranker, OnlineRanker)

    def learn(
        self,
        examples: Sequence[Example],
        seen: QueryDataset,
        note: Note,
        names: tuple[str, ...] = (),
    ) -> NDArray[np.float64]:
        """Learn from examples, if it can, and return its scores for each just before.

        An example from which it cannot learn is counted, but changes nothing. Where it cannot even
        score the candidates, the scores are not finite.

        Parameters
        ----------
        examples : all of the same kind: with weights or without, with pairs or without
        seen : their candidates, of which the scores are returned
        note : told about errors that are not about the example, but faults of the ranker
        names : of the columns
        """
        ranker = self.ranker
        if seen.feature_names is None and ranker.feature_names_in_ not in ((), names):
            seen = replace(seen, feature_names=names)  # it was trained on another order
        learns = isinstance(ranker, OnlineRanker)
        before = queries_seen(ranker) if isinstance(ranker, OnlineRanker) else 0
        alone = isinstance(ranker, ClickRanker) or (learns and examples[0].pairs is not None)
        result: NDArray[np.float64] | Exception = DataError("learns from one example at a time")
        if len(examples) == 1 or not alone:
            result = self._try(lambda: self._learn_together(examples, seen, alone))
        if not isinstance(result, Exception):
            if isinstance(ranker, OnlineRanker):
                self.version = examples[-1].position
                self.changes.follow(ranker, before, examples)
            return result
        if len(examples) > 1:
            # An example of the batch may have failed: one by one, only that one is refused.
            parts = [(part, stack_examples(part, seen.features)) for part in zip(examples)]
            return np.concatenate([self.learn(*part, note, names) for part in parts])
        self.refused += 1
        if not isinstance(result, RankloopError):
            note(examples[0].position, self.name, result)
        again = self._try(lambda: np.asarray(ranker.predict(seen), np.float64))
        return np.full(len(seen.y), np.nan) if isinstance(again, Exception) else again

    def _learn_together(
        self, examples: Sequence[Example], seen: QueryDataset, alone: bool
    ) -> NDArray[np.float64]:
        """Score candidates, then learn from their examples; raise if anything is not finite."""
        ranker = self.ranker
        scores: Scores
        if not isinstance(ranker, OnlineRanker):
            scores = ranker.predict(seen)
        elif alone:
            scores = ranker.predict(seen)
            _learn_alone(ranker, examples[0], seen)
        else:
            scores = ranker.predict_then_learn(_known(seen, ranker))
        learnt = ranker._state() if isinstance(ranker, OnlineRanker) else None
        if not (np.isfinite(scores).all() and all_finite(learnt)):
            raise DataError("a score or a weight is not finite")
        return np.asarray(scores, np.float64)

    def _try(self, learn: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64] | Exception:
        """Return the result of learning; if it failed, its error, with nothing changed."""
        ranker = self.ranker
        before = ranker.copy() if isinstance(ranker, OnlineRanker) else None
        try:
            return learn()
        except Exception as error:
            if not is_contained(error):
                raise
            if before is not None and isinstance(ranker, OnlineRanker):
                ranker._become(before)
            return error

    def state(self) -> ModelState:
        """Return its whole state as plain values."""
        return ModelState(
            self.name, dumps(self.ranker), self.version, self.curve, self.refused, self.changes
        )


class ModelState(msgspec.Struct):
    """A model as plain values."""

    name: str
    body: bytes
    version: int
    curve: Quality
    refused: int
    changes: Changes

    def model(self) -> Model:
        """Return the model."""
        ranker = loads(self.body)
        return Model(self.name, ranker, self.version, self.curve, self.refused, self.changes)


def _learn_alone(ranker: OnlineRanker, example: Example, seen: QueryDataset) -> OnlineRanker:
    if example.feedback is not None and isinstance(ranker, ClickRanker):
        ranking = replace(example.ranking, X=_known(seen, ranker).X)
        return ranker.learn_ranking(ranking, example.feedback)
    if example.pairs is None:
        return ranker.partial_fit(_known(seen, ranker))
    pairs = replace(example.pairs, features=seen.features, feature_names=seen.feature_names)
    return ranker.partial_fit(_known(pairs, ranker))


def _known(data: QueryDataset, ranker: OnlineRanker) -> QueryDataset:
    """Return the features that a ranker knows, as it knows nothing of those that were added."""
    return with_columns(data, ranker.feature_names_in_, wider=True)


def all_finite(state: object) -> bool:
    """Return whether all arrays of a state are finite; one infinite weight spoils all scores.

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


def fresh(
    ranker: OnlineRanker, names: tuple[str, ...], columns: Features | None = None
) -> OnlineRanker:
    """Return a ranker that knows only its features, so that it can rank."""
    nothing = QueryDataset(
        np.empty((0, len(names)), np.float32),
        np.empty(0),
        np.array([0]),
        np.empty(0, np.int64),
        feature_names=names,
        features=columns,
    )
    return ranker.partial_fit(nothing)


def model_name(text: str, settings: LoopSettings, models: Mapping[str, Model]) -> str:
    """Return the name of the model for a ranker of the settings.

    It is the ranker's text. If a model of this name was made for other features, it goes on with
    them, and the one with the present features is the second (`auto.2`), the third, and so on.
    """
    name, number = text, 1
    while name in models and models[name].ranker.feature_names_in_ != settings.names:
        number += 1
        name = f"{text}.{number}"
    return name


def qualities(
    scores: Sequence[NDArray[np.float64]], grades: NDArray[np.float64], offsets: NDArray[np.int64]
) -> list[list[float]]:
    """Return the nDCG@10 of several scorings, each of all queries in which a document is good.

    A scoring leaves out queries of which it has a score that is not finite.
    """
    starts = (len(grades) * np.arange(len(scores)))[:, None] + offsets[:-1]
    rows = np.append(starts.ravel(), len(scores) * len(grades))  # all scorings, one after the other
    every = np.tile(grades, len(scores))
    together = np.concatenate(scores)
    if _core.first_not_finite(together[:, None]) >= 0:
        bad = np.add.reduceat(~np.isfinite(together), rows[:-1]) > 0
        together = np.nan_to_num(together, posinf=0.0, neginf=0.0)
    else:
        bad = np.zeros(len(rows) - 1, np.bool_)
    values = measure_queries(together, every, rows, _MEASURE, _RULES)[0]
    values[bad] = np.nan
    return [row[~np.isnan(row)].tolist() for row in values.reshape(len(scores), -1)]


def learn_examples(
    examples: Sequence[Example],
    models: Collection[Model],
    shown: Quality,
    note: Note,
    columns: Features | None = None,
    names: tuple[str, ...] = (),
) -> None:
    """Measure every model on each example, then let it learn; and measure what people saw.

    note : told about an example or a model that failed; the others are not affected
    columns : what the columns of the examples are; None if all are numbers
    names : of the columns
    """
    for (nobody_saw, *_), run in groupby(examples, _alike):
        batch = list(run)
        seen = stack_examples(batch, columns)
        orders = _as_scores(batch, seen.offsets)
        scores = [orders, *(model.learn(batch, seen, note, names) for model in models)]
        curves = [Quality() if nobody_saw else shown, *(model.curve for model in models)]
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
