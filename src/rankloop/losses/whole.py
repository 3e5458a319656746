"""A loss summed over all queries of a data set: value, gradient and curvature, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.losses.listnet import ListNetLoss
from rankloop.losses.pairwise import PairwiseHinge, PairwiseLogistic
from rankloop.losses.xendcg import XENDCGLoss
from rankloop.processors import threads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats, QueryLoss


class WholeLoss:
    """The sum of a loss over the queries of a data set, as a function of all scores.

    Weights are counts: a pair weighs query weight x weight_i x weight_j; in a softmax a document of
    weight 2 stands twice, in the scores and in the target.

    Parameters
    ----------
    loss : `PairwiseHinge(squared=True)`, `PairwiseLogistic`, `ListNetLoss` or `XENDCGLoss`
    data : its grades, queries and weights; features are not looked at

    Notes
    -----
    Cost: O(m log m) a query for the hinge, O(m^2) for the logistic, O(m) for the others; memory
    O(n), for the hinge O(n log g) with g grades. Any number of threads gives the same bits.

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((4, 1)), [1, 0, 0, 2], group=[2, 2])
    >>> whole = WholeLoss(PairwiseHinge(squared=True), data)
    >>> value, gradient = whole.at([0.5, 0.0, 0.0, 2.0])
    >>> value, gradient.tolist()
    (0.25, [-1.0, 1.0, 0.0, 0.0])
    >>> whole.diagonal().tolist()
    [2.0, 2.0, 0.0, 0.0]
    """

    def __init__(self, loss: QueryLoss, data: QueryDataset) -> None:
        kind, gamma = _code(loss)
        self._n = data.n_documents
        self._core = _core.WholeLoss(
            kind, gamma, data.y, data.offsets, data.doc_weights, data.query_weights
        )

    def at(self, scores: ArrayLike) -> tuple[float, Floats]:
        """Return value and gradient; curvature is from now on that at these scores."""
        return self._core.at(self._checked(scores, "scores"), threads())

    def curvature(self, direction: ArrayLike) -> Floats:
        """Return the Hessian times a direction.

        For the hinge, which bends, it is the Hessian of the pairs that cost something.
        """
        return self._core.product(self._checked(direction, "the direction"), threads())

    def diagonal(self) -> Floats:
        """Return the diagonal of the Hessian."""
        return self._core.diagonal(threads())

    def _checked(self, values: ArrayLike, name: str) -> Floats:
        found = np.ascontiguousarray(values, np.float64)
        if found.shape != (self._n,):
            raise DataError(f"expected {self._n:,} numbers in {name}; found shape {found.shape}")
        if not np.isfinite(found).all():
            bad = int((~np.isfinite(found)).argmax())
            raise DataError(f"{name} must be finite; that of row {bad} is {found[bad]}")
        return found


def _code(loss: QueryLoss) -> tuple[int, float]:
    """Return the number that the core knows a loss by, and its gamma."""
    match loss:
        case PairwiseHinge(squared=True):
            return 0, 0.0
        case PairwiseLogistic():
            return 1, 0.0
        case ListNetLoss():
            return 2, 0.0
        case XENDCGLoss():
            return 3, float(loss.gamma)
    raise DataError(
        f"{loss} is not compiled for whole data sets; these are: PairwiseHinge(squared=True), "
        "PairwiseLogistic, ListNetLoss, XENDCGLoss"
    )
