"""Shared code of the rankers that optimise a measure: measuring, and linear scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.measures.conventions import CONVENTIONS
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import Measure, parse
from rankloop.rankers.explaining import weight_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Rows, Scores
    from rankloop.rankers.batch.base import BatchRanker

    Floats = NDArray[np.float64]
    from rankloop.rankers.explaining import Parts

_AVERAGED = CONVENTIONS["standard"].differing("standard, ties averaged", ties="averaged")
_BLOCK = 1024


class MeasureObjective:
    """A measure of rankings of one data set; queries where it is not defined are left out.

    Tied documents share their ranks, so that their order in the file has no effect. For measures
    that are not defined for shared ranks (RR, ERR, RBP, Success, AP@k), documents are shuffled
    instead.

    Parameters
    ----------
    measure : any
    data : the training data
    """

    def __init__(self, measure: str | Measure, data: QueryDataset) -> None:
        self.measure = parse(measure)
        self.convention = _AVERAGED if self.measure.averages_ties else CONVENTIONS["standard"]
        self.data = data.shuffle(np.random.default_rng(0))
        defined = ~np.isnan(self.values(np.zeros(data.n_documents)))
        if not defined.all():
            self.data = self.data.select(defined)
        weights = self.data.query_weight
        self.weights = np.ones(len(self.data)) if weights is None else weights
        self.columns = np.ascontiguousarray(self.data.X.T)

    @staticmethod
    def check(measure: str | Measure, data: QueryDataset) -> None:
        """Raise if the measure cannot be computed on the data."""
        evaluate(data, np.zeros(data.n_documents), measure)

    def values(self, scores: Scores) -> Floats:
        """Return the measure of each query's ranking."""
        return evaluate(self.data, scores, self.measure, self.convention).results[0].values

    def mean(self, scores: Scores) -> float:
        """Return its mean."""
        return float(np.average(self.values(scores), weights=self.weights))

    def scores(self, weights: Floats) -> Floats:
        """Score the documents by a weighted sum of features."""
        return linear_scores(self.data.X, weights)

    def of_features(self, both: bool) -> Floats:
        """Return one row per feature and one column per query; `both` adds rows for -feature."""
        values = [self.values(column) for column in self.columns]
        if both:
            values += [self.values(-column) for column in self.columns]
        return np.array(values).reshape(len(values), len(self.data))


def linear_scores(X: Rows, weights: Floats) -> Floats:
    """Return X @ weights in float64; equal rows get equal scores, as features are added in order.

    >>> linear_scores(np.eye(2, dtype=np.float32), np.array([0.5, 0.0])).tolist()
    [0.5, 0.0]
    """
    scores = np.zeros(len(X))
    for first in range(0, len(X), _BLOCK):
        block = slice(first, first + _BLOCK)
        for feature in np.flatnonzero(weights):
            scores[block] += weights[feature] * X[block, feature]
    return scores


def nonzero_parts(ranker: BatchRanker, weights: Floats) -> Parts:
    """Return the features with nonzero weights, largest first."""
    return [part for part in weight_parts(ranker, weights) if part["weight"] != 0]
