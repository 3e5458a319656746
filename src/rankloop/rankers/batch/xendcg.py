"""Linear XE_NDCG: a linear ranker that minimises a cross entropy that bounds nDCG."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.exceptions import DataError
from rankloop.losses.xendcg import XENDCGLoss
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.parameters import check_number
from rankloop.rankers.search import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Loss
    from rankloop.rankers.search import Search

_LARGEST_POWER = 100.0


@dataclass(eq=False, repr=False)
class XENDCG(ConvexRanker):
    """A linear ranker that minimises XE_NDCG.

    |w|^2 / 2 + C sum over queries of -c sum_i phi_i log softmax(s)_i,   s = X w,
    phi_i = (2^R_i - gamma) / sum_j (2^R_j - gamma),   c = (sum_j (2^R_j - 1))^power.

    Where we depart: the paper boosts trees and draws a new gamma for each tree. Here scores are
    linear, gamma is one number, and a small L2 penalty (ridge) is added. The weight c gives queries
    with large gains more weight than queries with small gains, as in :class:`NewtonXENDCG`, which
    comes close to the same optimum in one pass.

    Parameters
    ----------
    C : weight of the queries relative to the penalty, above 0
    gamma : from 0 to 1; 1 makes phi proportional to the gains of nDCG
    power : how the weight of a query grows with its gains; 0 gives all queries the same weight
    tolerance : stop when a round is expected to lower the objective by less than this fraction
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`; without patience it
        runs to the optimum

    Attributes
    ----------
    weights_ : (d,) the weights

    Notes
    -----
    Cost: O(n d) per product with the Hessian, about 10 products, and O(n d^2) once (if d is at most
    500); O(n + d^2) memory in addition to the features. Scale raw counts first, because the penalty
    depends on the scale of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(50, np.random.default_rng(0), n_features=3).data
    >>> XENDCG(C=10).fit(data).explain()[0]["feature"]
    '3'

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1.
    """

    C: float = 1.0
    gamma: float = 1.0
    power: float = 0.0

    search_space: ClassVar[Mapping[str, Search]] = {
        "gamma": Range(0, 1, points=2),
        "C": Range(1e-3, 1e2, points=11, log=True),
    }

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        check_number("gamma", self.gamma, 0, 1)
        check_number("power", self.power)
        if self.power * data.y.max(initial=0) > _LARGEST_POWER:
            raise DataError(
                f"power times the largest grade must be at most {_LARGEST_POWER:g}, because "
                f"otherwise weights become too large; found {self.power:g} x {data.y.max():g}"
            )

    def _weigh(self, data: QueryDataset) -> QueryDataset:
        if not self.power or not data.n_documents:
            return data
        gains = np.exp2(data.y) - 1
        if data.sample_weight is not None:
            gains = gains * data.sample_weight
        weights = np.add.reduceat(gains, data.offsets[:-1]) ** self.power
        if data.query_weight is not None:
            weights *= data.query_weight
        return replace(data, query_weight=weights)

    def _loss(self) -> Loss:
        return XENDCGLoss(self.gamma)
