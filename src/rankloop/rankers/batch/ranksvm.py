"""RankSVM: a large margin between the documents of every pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.losses.pairwise import PairwiseHinge
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.search import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.losses.base import Loss
    from rankloop.rankers.search import Search


@dataclass(eq=False, repr=False)
class RankSVM(ConvexRanker):
    """The linear large-margin ranker, solved in the primal.

    |w|^2 / 2 + C sum over pairs R_i > R_j of max(0, 1 - (s_i - s_j))^2,   s = X w.

    The objective is that of `LinearSVC(loss="squared_hinge", fit_intercept=False)` on the
    differences of all pairs, but pairs are never listed.

    Where we depart: the paper sums over pairs by sorting, with one pass per grade. We split the
    grades in halves repeatedly, so that many grades, or real-valued grades, cost little more.

    Parameters
    ----------
    C : weight of the pairs relative to the penalty, above 0; use small values, as there are many
        pairs
    tolerance : stop when a round is expected to lower the objective by less than this fraction
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`; without patience it
        runs to the optimum

    Attributes
    ----------
    weights_ : (d,) the weights

    Notes
    -----
    Cost: O(n d + n log m) per product with the Hessian, about 10 products, and O(n d^2) once (if d
    is at most 500); O(n + d^2) memory in addition to the features. Scale raw counts first, because
    the penalty depends on the scale of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(50, np.random.default_rng(0), n_features=3).data
    >>> ranker = RankSVM(C=0.01).fit(data)
    >>> [part["feature"] for part in ranker.explain()]
    ['3', '1', '2']

    References
    ----------
    Chapelle and Keerthi, Efficient algorithms for ranking with SVMs (2010); Joachims, Optimizing
    search engines using clickthrough data (2002).
    """

    C: float = 1e-3

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-7, 1e-1, points=13, log=True)}

    def _loss(self) -> Loss:
        return PairwiseHinge(squared=True)
