"""A batch ranker small enough to see through: the same step each round, old ones shrunk."""

from __future__ import annotations

import numpy as np

from rankloop.rankers.batch.base import BatchRanker
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.search import OneOf


class Tiny(BatchRanker):
    """Weights w = (1 - shrink) w + sum of (grade - mean grade) x, a round.

    Parameters
    ----------
    shrink : from 0 to 1
    rounds : at least 1

    Notes
    -----
    Cost: O(n d) a round.
    """

    search_space = {"shrink": OneOf((0.0, 0.5, 1.0))}  # noqa: RUF012
    _learns = ("weights_",)

    def __init__(
        self,
        shrink=0.5,
        rounds=4,
        valid_measure="nDCG@10",
        patience=2,
        warm_start=False,
        random_state=None,
    ):
        self.shrink = shrink
        self.rounds = rounds
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state

    def _check(self, data):
        check_number("shrink", self.shrink, 0, 1)
        check_whole("rounds", self.rounds)

    def _reset(self, n_features):
        super()._reset(n_features)
        self.weights_ = np.zeros(n_features)

    def _rounds(self, data):
        query = np.repeat(np.arange(len(data)), data.sizes)
        mean = np.bincount(query, data.y, len(data)) / np.maximum(data.sizes, 1)
        weight = np.ones(len(data)) if data.query_weight is None else data.query_weight
        pull = (weight[query] * (data.y - mean[query])) @ data.X.astype(float)
        for _ in range(self.rounds):
            self.weights_ = (1 - self.shrink) * self.weights_ + pull
            yield -float(self.weights_ @ pull)

    def _score_rows(self, X, offsets):
        return X @ self.weights_

    def explain(self):
        order = np.argsort(-np.abs(self.weights_), kind="stable")
        return [
            {"feature": self._feature_name(i), "weight": float(self.weights_[i])} for i in order
        ]
