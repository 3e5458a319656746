"""A loss summed over all queries of a data set: compiled value, gradient and curvature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.exceptions import DataError
from rankloop.losses.listnet import ListNetLoss
from rankloop.losses.pairwise import PairwiseHinge, PairwiseLogistic
from rankloop.losses.xendcg import XENDCGLoss

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats, Loss


class WholeLoss:
    """The sum of a loss over the queries of a data set, as a function of all scores.

    Weights are counts: the weight of a pair is query weight x weight_i x weight_j; in a softmax, a
    document with weight 2 counts twice, in the scores and in the target.

    Parameters
    ----------
    loss : `PairwiseHinge(squared=True)`, `PairwiseLogistic`, `ListNetLoss` or `XENDCGLoss`
    data : a data set; only its grades, queries and weights are used, not its features

    Notes
    -----
    Cost: O(m log m) per query for the hinge, O(m^2) for the logistic loss, O(m) for the others;
    memory O(n), and O(n log g) with g grades for the hinge. Any number of threads gives the same
    bits.

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

    def __init__(self, loss: Loss, data: QueryDataset) -> None:
        kind, gamma = _code(loss)
        self._n = data.n_documents
        self._core = _core.WholeLoss(
            kind, gamma, data.y, data.offsets, data.sample_weight, data.query_weight
        )

    def at(self, scores: ArrayLike) -> tuple[float, Floats]:
        """Return value and gradient; later calls of `curvature` refer to these scores."""
        return self._core.at(self._as_values(scores, "scores"), threads())

    def curvature(self, direction: ArrayLike) -> Floats:
        """Return the Hessian times a direction.

        The squared hinge is not twice differentiable everywhere; for it, this is the Hessian of the
        pairs whose loss is above 0.
        """
        return self._core.product(self._as_values(direction, "the direction"), threads())

    def diagonal(self) -> Floats:
        """Return the diagonal of the Hessian."""
        return self._core.diagonal(threads())

    def _as_values(self, values: ArrayLike, name: str) -> Floats:
        numbers = np.ascontiguousarray(values, np.float64)
        if numbers.shape != (self._n,):
            raise DataError(f"expected {self._n:,} numbers in {name}; found shape {numbers.shape}")
        if not np.isfinite(numbers).all():
            bad = int((~np.isfinite(numbers)).argmax())
            raise DataError(f"{name} must be finite; the value of row {bad} is {numbers[bad]}")
        return numbers


def has_compiled_version(loss: Loss) -> bool:
    """Whether :class:`WholeLoss` can compute a loss."""
    return _find_code(loss) is not None


def _code(loss: Loss) -> tuple[int, float]:
    """Return the number of a loss in the compiled core, and gamma; raise if it has none."""
    form = _find_code(loss)
    if form is None:
        raise DataError(
            f"{loss} has no compiled version for whole data sets; use PairwiseHinge(squared=True), "
            "PairwiseLogistic, ListNetLoss, or XENDCGLoss with one gamma and without epsilon"
        )
    return form


def _find_code(loss: Loss) -> tuple[int, float] | None:
    """Return the number of a loss in the compiled core, and gamma; None if it has none."""
    match loss:
        case PairwiseHinge(squared=True):
            return 0, 0.0
        case PairwiseLogistic():
            return 1, 0.0
        case ListNetLoss():
            return 2, 0.0
        case XENDCGLoss(gamma=float() | int() as gamma, epsilon=0.0):
            return 3, float(gamma)
    return None
