"""FRank: additive weak rankers for the fidelity loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.rankers.batch.near_equal import best_first, first_largest
from rankloop.rankers.batch.stumps import StumpRanker
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.batch.stumps import BinnedPairs, Floats
    from rankloop.rankers.search import Search

_LEAST = 1e-6


class FRank(StumpRanker):
    """A sum of weak rankers, added one by one, that minimises the fidelity loss of pairs.

    With p_ij = 1 / (1 + exp(s_j - s_i)), the loss is the mean over queries of the mean over the
    query's pairs R_i > R_j of 1 - sqrt(p_ij). So the loss of a pair or a query is at most 1. A weak
    ranker h is 1 where a feature is above a threshold, and 0 elsewhere. With

        W_ij = D_ij (1 - p_ij) sqrt(p_ij),   D_ij = 1 / (number of queries x pairs of the query),

    its weight is alpha = 1/2 ln(sum of W_ij where h_i > h_j / sum of W_ij where h_i < h_j). There
    the slope of the loss is zero, if W's denominator (1 + exp(s_j - s_i))^(3/2) is held fixed.

    Where we depart: the paper computes alpha and the loss of every weak ranker in every round; we
    do so only for the `candidates` with the steepest slope |sum W_ij (h_i - h_j)|, which are found
    without listing pairs. A millionth of their total is added to both sums in the ratio of alpha,
    so that alpha stays finite. Training stops when the loss no longer falls.

    Parameters
    ----------
    candidates : number of weak rankers whose loss is computed in each round; None means all, as in
        the paper
    rounds, thresholds : see :class:`StumpRanker`
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(n d + c p) per round, with n documents, d features, c candidates and p pairs; memory (d
    + c) n bytes and a copy of the data. Pairs are not stored.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(60, np.random.default_rng(0), n_features=5).data
    >>> ranker = FRank(rounds=100).fit(data)
    >>> evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"] > 0.9
    True

    References
    ----------
    Tsai, Liu, Qin, Chen and Ma, FRank: a ranking method with fidelity loss (2007).
    """

    _least_fall: ClassVar[float] = 1e-12
    search_space: ClassVar[Mapping[str, Search]] = {"thresholds": OneOf((30, 255))}

    def __init__(
        self,
        rounds: int = 300,
        thresholds: int = 255,
        candidates: int | None = 1,
        valid_measure: str | Measure = "nDCG@10",
        patience: int | None = 100,
        warm_start: bool = False,
        refit: bool = False,
    ) -> None:
        self.rounds = rounds
        self.thresholds = thresholds
        self.candidates = candidates
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start
        self.refit = refit

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        check_whole("candidates", 1 if self.candidates is None else self.candidates)

    def _potentials(self, pairs: BinnedPairs, scores: Floats) -> tuple[float, Floats]:
        potentials = np.empty_like(scores)
        loss = _core.fidelity_pairs(
            scores,
            pairs.y,
            pairs.offsets,
            pairs.weights,
            _shares(pairs),
            potentials,
            threads(),
        )
        return loss, potentials

    def _choose(self, pairs: BinnedPairs, scores: Floats, slopes: Floats) -> tuple[int, int, float]:
        places = np.flatnonzero(slopes)
        if self.candidates is not None:
            steepness = np.abs(slopes.ravel()[places])
            places = places[best_first(steepness)[: self.candidates]]
        features, cuts = np.divmod(np.sort(places), slopes.shape[1])
        rankers = (pairs.bins[features] > cuts[:, None]).astype(np.uint8)
        alphas = self._alphas(pairs, scores, rankers)
        best = 0
        if len(alphas) > 1:
            losses = [
                self._potentials(pairs, scores + alpha * h)[0]
                for alpha, h in zip(alphas, rankers, strict=True)
            ]
            best = first_largest(1 - np.array(losses))
        return int(features[best]), int(cuts[best]), float(alphas[best])

    def _alphas(self, pairs: BinnedPairs, scores: Floats, rankers: NDArray[np.uint8]) -> Floats:
        splits = np.empty((2, len(rankers)))
        _core.fidelity_splits(
            scores,
            pairs.y,
            pairs.offsets,
            pairs.weights,
            _shares(pairs),
            rankers,
            splits,
            threads(),
        )
        splits += _LEAST * splits.sum(axis=0)
        alphas: Floats = np.log(splits[0] / splits[1]) / 2
        return alphas


def _shares(pairs: BinnedPairs) -> Floats:
    """Return, for each query, the weight D of a pair of documents with weight 1."""
    shares: Floats = pairs.query_weight / (pairs.query_weight.sum() * pairs.totals)
    return shares
