"""Boosted trees for any smooth loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankloop.losses.registry import smooth_loss
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.boosting.objectives import WholeObjective

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset


@dataclass(eq=False, repr=False)
class LossBoost(BoostedRanker):
    """Trees that minimise a smooth loss, grown on its gradient and the diagonal of its Hessian.

    For `listnet` and `xendcg` the trees differ from those of :class:`ListNetBoost` and
    :class:`XENDCGBoost`, which take the approximate Newton step of Bruch (2021), section 4.4, as
    LightGBM does.

    Parameters
    ----------
    loss : the name of a smooth loss: `logistic` (pairs, as in RankNet), `squared-hinge` (pairs),
        `listnet`, `xendcg` (with gamma 1), or your own (see :func:`rankloop.losses.register_loss`);
        your own cannot use document weights, and without `curvature` its Hessian counts as 1
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state, start : see :class:`BoostedRanker`
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Notes
    -----
    Cost: per tree, the loss takes O(m^2) per query for `logistic`, O(m log m) for `squared-hinge`
    and O(m) for others, in addition to O(n d) for LightGBM; memory: that of LightGBM, and about 80
    bytes per document.

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

    loss: str = "logistic"

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        smooth_loss(self.loss)

    def _objective(self, data: QueryDataset) -> WholeObjective:
        return WholeObjective(smooth_loss(self.loss), data)
