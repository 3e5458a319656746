"""Sums of weak rankers: each is a threshold on one feature, and each round adds one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.batch.base import BatchRanker
from rankloop.rankers.forms import Array
from rankloop.rankers.parameters import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.forms import Form

    Floats = NDArray[np.float64]
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.state import State

MAX_THRESHOLDS = 255
"""The number of a bin is stored in one byte."""

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class BinnedPairs:
    """Training data for losses over pairs: documents sorted by grade, features cut into bins.

    X, y, offsets : documents in ascending order of grade inside each query
    weights : one per document
    query_weight : one per query
    totals : for each query, the sum over its pairs of the product of the two document weights
    cuts : the thresholds of each feature, ascending
    bins : (d, n) the number of thresholds below the document's value
    """

    X: Rows
    y: Floats
    offsets: Offsets
    weights: Floats
    query_weight: Floats
    totals: Floats
    cuts: list[NDArray[np.float32]]
    bins: NDArray[np.uint8]

    @classmethod
    def make(cls, data: QueryDataset, thresholds: int) -> BinnedPairs:
        """Sort documents and cut features into bins."""
        query = np.repeat(np.arange(len(data)), data.sizes)
        order = np.lexsort((data.y, query))
        X, y = data.X[order], data.y[order]
        weights = np.ones(len(y)) if data.sample_weight is None else data.sample_weight[order]
        of_queries = np.ones(len(data)) if data.query_weight is None else data.query_weight
        counts = weights * of_queries[query]
        columns = np.ascontiguousarray(X.T)
        cuts = [cut_points(column, counts, thresholds) for column in columns]
        bins = np.empty(columns.shape, np.uint8)
        for row, column, points in zip(bins, columns, cuts, strict=True):
            row[:] = np.searchsorted(points, column, side="left")
        totals = pair_totals(y, query, weights)
        return cls(X, y, data.offsets, weights, of_queries, totals, cuts, bins)

    def slopes(self, potentials: Floats) -> Floats:
        """Return, for each feature and threshold, the summed potentials of the documents above."""
        width = 1 + max(map(len, self.cuts))
        sums = np.empty((len(self.bins), width))
        _core.bin_sums(self.bins, potentials, sums, threads())
        slopes = np.asarray(sums[:, :0:-1].cumsum(axis=1)[:, ::-1])
        slopes[np.abs(slopes) <= _ROUNDING * np.abs(potentials).sum()] = 0
        return slopes


def pair_totals(y: Floats, query: NDArray[np.int64], weights: Floats) -> Floats:
    """Return each query's sum over pairs of w_i w_j; rows are sorted by query and grade.

    >>> pair_totals(np.array([0.0, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1]), np.ones(5)).tolist()
    [2.0, 1.0]
    """
    starts = np.flatnonzero(np.r_[True, (y[1:] != y[:-1]) | (query[1:] != query[:-1])])
    of_grades = np.add.reduceat(weights, starts)
    alike = np.bincount(query[starts], of_grades**2)
    return np.asarray((np.bincount(query, weights) ** 2 - alike) / 2)


def cut_points(values: Rows, counts: Floats, most: int) -> NDArray[np.float32]:
    """Return ascending thresholds between values: all of them, or at most `most` at quantiles.

    >>> cut_points(np.float32([3, 1, 1, 2]), np.ones(4), 5).tolist()
    [1.5, 2.5]
    >>> cut_points(np.arange(100, dtype=np.float32), np.ones(100), 3).tolist()
    [24.5, 49.5, 74.5]
    """
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) - 1 <= most:
        last = np.arange(len(distinct) - 1)
    else:
        below = np.cumsum(np.bincount(place, counts))
        shares = np.arange(1, most + 1) / (most + 1)
        last = np.unique(np.searchsorted(below, shares * below[-1]))
        last = last[last < len(distinct) - 1]
    low, high = distinct[last], distinct[last + 1]
    middle = ((low.astype(np.float64) + high) / 2).astype(np.float32)
    return np.where(middle < high, middle, low)


class StumpRanker(BatchRanker):
    """A sum of weak rankers; each adds alpha where a feature is above a threshold.

    A subclass defines the effect of each document's score on the loss (:meth:`_potentials`) and
    which weak ranker comes next (:meth:`_choose`). In addition to the parameters of
    :class:`BatchRanker` it has:

    rounds : maximum number of weak rankers
    thresholds : maximum number per feature, at quantiles of the training data; up to 255

    Attributes
    ----------
    features_, thresholds_, alphas_ : the weak rankers, one per round
    """

    rounds: int
    thresholds: int

    _least_fall: ClassVar[float] = 0.0
    """Training stops when the loss falls by no more than this in a round."""

    _learns: ClassVar[tuple[str, ...]] = ("features_", "thresholds_", "alphas_")
    features_: NDArray[np.int64]
    thresholds_: NDArray[np.float32]
    alphas_: Floats

    @abstractmethod
    def _potentials(self, pairs: BinnedPairs, scores: Floats) -> tuple[float, Floats]:
        """Return the loss, and how fast it falls as each document's score rises."""

    @abstractmethod
    def _choose(self, pairs: BinnedPairs, scores: Floats, slopes: Floats) -> tuple[int, int, float]:
        """Return the next weak ranker: feature, number of the threshold, alpha."""

    def _check(self, data: QueryDataset) -> None:  # noqa: ARG002
        check_whole("rounds", self.rounds)
        check_whole("thresholds", self.thresholds)
        if self.thresholds > MAX_THRESHOLDS:
            raise DataError(f"thresholds must be at most {MAX_THRESHOLDS}; found {self.thresholds}")

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.features_ = np.zeros(0, np.int64)
        self.thresholds_ = np.zeros(0, np.float32)
        self.alphas_ = np.zeros(0)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "features_": Array((None,), np.int64, low=0, high=n_features - 1),
            "thresholds_": Array((None,), np.float32),
            "alphas_": Array((None,)),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        if len({len(state[name]) for name in self._learns}) > 1:
            raise ModelError("features_, thresholds_ and alphas_ differ in length")

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        if len(data) == 0 or data.n_features == 0:
            return
        pairs = BinnedPairs.make(data, self.thresholds)
        scores = self._score_rows(pairs.X, pairs.offsets)
        loss, potentials = self._potentials(pairs, scores)
        while self.rounds_ < self.rounds:
            slopes = pairs.slopes(potentials)
            if not slopes.any():
                return
            feature, cut, alpha = self._choose(pairs, scores, slopes)
            scores += alpha * (pairs.bins[feature] > cut)
            before = loss
            loss, potentials = self._potentials(pairs, scores)
            if not loss < before - self._least_fall:
                return
            self.features_ = np.append(self.features_, feature)
            self.thresholds_ = np.append(self.thresholds_, pairs.cuts[feature][cut])
            self.alphas_ = np.append(self.alphas_, alpha)
            yield loss

    def _scorer(self, X: Rows, offsets: Offsets) -> Callable[[], Floats]:  # noqa: ARG002
        scores, done = np.zeros(len(X)), 0

        def score() -> Floats:
            nonlocal done
            new = slice(done, None)
            _core.add_stumps(
                X,
                self.features_[new],
                self.thresholds_[new],
                self.alphas_[new],
                scores,
                threads(),
            )
            done = len(self.alphas_)
            return scores

        return score

    def _score_rows(self, X: Rows, offsets: Offsets) -> Floats:
        """Score checked rows."""
        return self._scorer(X, offsets)()

    def explain(self) -> Parts:
        """Return the feature, threshold and alpha of each weak ranker, largest alphas first.

        If a weak ranker was chosen in several rounds, its alphas are summed.
        """
        self._check_fitted()
        total: dict[tuple[int, float], float] = {}
        for feature, threshold, alpha in zip(
            self.features_.tolist(), self.thresholds_.tolist(), self.alphas_.tolist(), strict=True
        ):
            total[feature, threshold] = total.get((feature, threshold), 0.0) + alpha
        return [
            {"feature": self._feature_name(feature), "threshold": threshold, "alpha": alpha}
            for (feature, threshold), alpha in sorted(total.items(), key=lambda at: -abs(at[1]))
        ]
