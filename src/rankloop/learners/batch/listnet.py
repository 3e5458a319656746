"""ListNet: the cross entropy of top-one probabilities, at its optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rankloop.learners.batch.linear import ConvexRanker
from rankloop.learners.search import Range
from rankloop.losses.listnet import ListNetLoss

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.learners.search import Search
    from rankloop.losses.base import QueryLoss
    from rankloop.metrics.measures import Measure


class ListNet(ConvexRanker):
    """The linear ranker of the least ListNet loss.

    |w|^2 / 2 + C sum over queries of -sum_i softmax(R)_i log softmax(s)_i,   s = X w.

    Where we depart: the paper goes down by gradient steps and stops early; we minimise the same
    loss with a small ridge, to the end. With `patience` and a validation set it stops early too.

    Parameters
    ----------
    C : what queries weigh against the ridge, above 0
    tolerance : stop where a round promises to lower the objective by less than this part of it
    metric, patience, warm_start : see :class:`BatchRanker`; None as patience: go on to the optimum

    Attributes
    ----------
    weights_ : (d,) the weights

    Notes
    -----
    Cost: O(n d) a product, about 10 products, and O(n d^2) once (where d is at most 500);
    O(n + d^2) memory beside the features. Scale raw counts first: the ridge knows no units.

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

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-3, 1e2, points=11, log=True)}

    def __init__(
        self,
        C: float = 1.0,
        tolerance: float = 1e-8,
        metric: str | Measure = "nDCG@10",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.tolerance = tolerance
        self.metric = metric
        self.patience = patience
        self.warm_start = warm_start

    def _loss(self) -> QueryLoss:
        return ListNetLoss()
