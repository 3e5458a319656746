"""YetiRank-style trees: neighbours of randomly perturbed rankings, compared pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.rankers.batch.base import refuse_document_weights
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.boosting.lambdamart import exponential_gains
from rankloop.rankers.boosting.objectives import MeasuredObjective, Shape
from rankloop.rankers.parameters import check_number, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats

    Places = NDArray[np.int64]

_MEAN_HESSIAN = 0.05  # about that of other objectives, so that `rate` means the same


@dataclass(eq=False, repr=False)
class YetiRank(BoostedRanker):
    """Trees grown on pairs of neighbours in randomly perturbed rankings.

    For each tree, the scores of each query are perturbed `draws` times by standard Gumbel noise,
    and sorted. Documents i and j at places p and p + 1 (from 0) form a pair with the weight

        decay^p |g_i - g_j|,   g = 2^r - 1,

    and the trees take a Newton step on the sum of the logistic losses log(1 + exp(s_j - s_i)) of
    the pairs, where i has the higher grade and s are the scores without noise. So pairs count that
    the present scores cannot tell apart, mostly at the top.

    Where we depart: the paper boosts oblivious trees on a quadratic approximation, and puts all
    noise into the weights; CatBoost's `YetiRank` has other weights of pairs. Gradients and Hessians
    are scaled by one number, so that the mean Hessian is 0.05; `rate` and `lambda_l2` then have the
    same meaning for any gains.

    Parameters
    ----------
    draws : number of perturbed rankings per query and tree
    decay : how much less the next place counts, above 0 and at most 1
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state, start : see :class:`BoostedRanker`
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(draws x n log n) per tree for the gradients, in addition to O(n d) for LightGBM; memory:
    that of LightGBM, and about 100 bytes per document. A query weight multiplies the pairs of the
    query. Document weights are not supported.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> YetiRank(trees=20).fit(data).explain()[0]["feature"]
    '3'

    References
    ----------
    Gulin, Kuralenok and Pavlov, Winning the transfer learning track of Yahoo!'s learning to rank
    challenge with YetiRank (2011).
    """

    draws: int = 10
    decay: float = 0.97

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        refuse_document_weights(self, data)
        check_whole("draws", self.draws)
        check_number("decay", self.decay, 0, 1, above=True)

    def _objective(self, data: QueryDataset) -> NeighbourObjective:
        return NeighbourObjective(Shape.of(data), self.draws, self.decay, self.random_state)


class NeighbourObjective(MeasuredObjective):
    """The pairs of :class:`YetiRank`; the value is 1 - nDCG.

    shape : the shape of the data
    draws, decay : see :class:`YetiRank`
    seed : random seed; each tree draws its own noise
    """

    def __init__(self, shape: Shape, draws: int, decay: float, seed: int) -> None:
        super().__init__("", shape, exponential_gains)
        self.native = None
        self.labels = shape.y
        self.params = {}
        self._gains = exponential_gains(shape.y)
        self._draws, self._decay, self._seed = draws, decay, seed
        sizes = np.diff(shape.offsets)
        self._query = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(shape.y)) - np.repeat(shape.offsets[:-1], sizes)
        inside = self._query[1:] == self._query[:-1]
        self._upper = np.flatnonzero(inside)  # places whose next place is in the same query
        self._weight = decay ** place[self._upper].astype(np.float64)
        self._counts = float(len(shape.y))
        if shape.query_weight is not None:
            self._weight *= shape.query_weight[self._query[self._upper]]
            self._counts = float(shape.query_weight @ sizes)
        self.gradient, self.hessian = np.zeros((2, len(shape.y)), np.float32)

    def at(self, scores: Floats, tree: int) -> float:
        """Return 1 - nDCG, and set the gradients of new draws."""
        noise = np.random.default_rng([self._seed, tree])
        gradient, hessian = np.zeros((2, len(scores)))
        for _ in range(self._draws):
            perturbed = scores + noise.gumbel(size=len(scores))
            order = np.lexsort((-perturbed, self._query))
            self._add(scores, order[self._upper], order[self._upper + 1], gradient, hessian)
        total = float(hessian.sum())
        scale = _MEAN_HESSIAN * self._counts / total if total > 0 else 0.0
        self.gradient[:], self.hessian[:] = scale * gradient, scale * hessian
        return super().at(scores, tree)

    def _add(self, scores: Floats, i: Places, j: Places, gradient: Floats, hessian: Floats) -> None:
        """Add the derivatives of the pairs of one draw; a document has at most two neighbours."""
        difference = self._gains[i] - self._gains[j]
        weight, sign = self._weight * np.abs(difference), np.sign(difference)
        wrong = 1 / (1 + np.exp(np.clip(sign * (scores[i] - scores[j]), -50, 50)))
        slope, bend = -sign * weight * wrong, weight * wrong * (1 - wrong)
        for places, direction in ((i, 1.0), (j, -1.0)):  # no place occurs twice on one side
            gradient[places] += direction * slope
            hessian[places] += bend
