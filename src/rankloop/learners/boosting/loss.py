"""Boosted trees for any smooth loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop.learners.boosting.base import BoostedRanker
from rankloop.learners.boosting.objectives import WholeObjective, smooth_loss

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.metrics.measures import Measure


class LossBoost(BoostedRanker):
    """Trees of the least loss of our own: gradients, and the diagonal of the Hessian.

    Parameters
    ----------
    loss : a smooth one of :mod:`rankloop.losses`: `logistic` (pairs, RankNet's), `squared-hinge`
        (pairs), `listnet` or `xendcg` (with gamma 1)
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state : see :class:`BoostedRanker`
    metric, patience, warm_start : see :class:`BatchRanker`

    Notes
    -----
    Cost: that of the loss a tree, O(m^2) a query for `logistic`, O(m log m) for `squared-hinge`,
    O(m) for others, beside O(n d) for LightGBM; memory: LightGBM's, and some 80 bytes a document.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> LossBoost("squared-hinge", trees=20).fit(data).explain()[0]["feature"]
    '3'

    References
    ----------
    Friedman, Greedy function approximation: a gradient boosting machine (2001).
    """

    def __init__(
        self,
        loss: str = "logistic",
        trees: int = 300,
        rate: float = 0.05,
        leaves: int | None = None,
        min_data_in_leaf: int | None = None,
        feature_fraction: float = 1.0,
        lambda_l2: float = 0.0,
        increasing: Sequence[int | str] = (),
        decreasing: Sequence[int | str] = (),
        categorical: Sequence[int | str] = (),
        params: Mapping[str, Any] | None = None,
        metric: str | Measure = "nDCG@10",
        convention: str = "standard",
        patience: int | None = 50,
        warm_start: bool = False,
        random_state: int = 0,
    ) -> None:
        self.loss = loss
        self.trees = trees
        self.rate = rate
        self.leaves = leaves
        self.min_data_in_leaf = min_data_in_leaf
        self.feature_fraction = feature_fraction
        self.lambda_l2 = lambda_l2
        self.increasing = increasing
        self.decreasing = decreasing
        self.categorical = categorical
        self.params = params
        self.metric = metric
        self.convention = convention
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        smooth_loss(self.loss)

    def _objective(self, data: QueryDataset) -> WholeObjective:
        return WholeObjective(smooth_loss(self.loss), data)
