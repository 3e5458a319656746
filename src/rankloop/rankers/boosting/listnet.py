"""ListNet with boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.boosting.objectives import Shape, SoftmaxObjective

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset


@dataclass(eq=False, repr=False)
class ListNetBoost(BoostedRanker):
    """Trees that minimise the ListNet loss: -sum_i softmax(R)_i log softmax(s)_i.

    As in :class:`XENDCGBoost`, each tree is grown on the approximate Newton step of section 4.4, as
    in the paper's experiments. `LossBoost("listnet")` minimises the same loss with the diagonal of
    its Hessian instead, which gives other trees.

    Where we depart: a document with weight 2 counts as two documents; grades may be real numbers of
    any size.

    Parameters
    ----------
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state, start : see :class:`BoostedRanker`
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(n) per tree for the gradients, in addition to O(n d) for LightGBM; memory: that of
    LightGBM, and 8 bytes per document.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> ListNetBoost(trees=20).fit(data).explain()[0]["feature"]
    '3'

    References
    ----------
    Cao et al., Learning to rank: from pairwise approach to listwise approach (2007); Bruch, An
    alternative cross entropy loss for learning-to-rank (2021): section 5.2.
    """

    def _objective(self, data: QueryDataset) -> SoftmaxObjective:
        return SoftmaxObjective(Shape.of(data), gains=False)
