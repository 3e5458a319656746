"""ListNet: a linear ranker that minimises the cross entropy of top-one probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.losses.listnet import ListNetLoss
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.search import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.losses.base import Loss
    from rankloop.rankers.search import Search


@dataclass(eq=False, repr=False)
class ListNet(ConvexRanker):
    """A linear ranker that minimises the ListNet loss.

    |w|^2 / 2 + C sum over queries of -sum_i softmax(R)_i log softmax(s)_i,   s = X w.

    Where we depart: the paper uses gradient descent and stops early. We minimise the same loss plus
    a small L2 penalty (ridge) until convergence. With `patience` and a validation set, training
    also stops early.

    Parameters
    ----------
    C : weight of the queries relative to the penalty, above 0
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
    >>> ListNet(C=10).fit(data).explain()[0]["feature"]
    '3'

    References
    ----------
    Cao et al., Learning to rank: from pairwise approach to listwise approach (2007).
    """

    C: float = 1.0

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-3, 1e2, points=11, log=True)}

    def _loss(self) -> Loss:
        return ListNetLoss()
