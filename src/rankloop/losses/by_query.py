"""A loss summed over the queries of a data set, with one call of the loss per query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rankloop.exceptions import DataError
from rankloop.losses.whole import WholeLoss, has_compiled_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats, Loss


class SummedLoss(Protocol):
    """A loss of a whole data set, as a function of all scores."""

    def at(self, scores: Floats) -> tuple[float, Floats]:
        """Return value and gradient; `diagonal` refers to these scores."""

    def diagonal(self) -> Floats:
        """Return the diagonal of the Hessian, or an approximation of it."""


class LossByQuery:
    """The sum of any loss over queries, times the weights of the queries.

    The diagonal of the Hessian is the `curvature` of the loss, or 1 if the loss has none.

    Parameters
    ----------
    loss : any loss (see :class:`Loss`)
    data : a data set; only its grades, queries and weights are used. Weights of documents must be
        equal, because a loss of whole queries cannot use them.

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> from rankloop.losses import PairwiseHinge
    >>> data = QueryDataset.from_arrays(np.zeros((4, 1)), [1, 0, 0, 2], group=[2, 2])
    >>> value, gradient = LossByQuery(PairwiseHinge(), data).at(np.array([0.5, 0, 0, 2]))
    >>> value, gradient.tolist()
    (0.5, [-1.0, 1.0, 0.0, 0.0])
    """

    def __init__(self, loss: Loss, data: QueryDataset) -> None:
        if data.sample_weight is not None and np.ptp(data.sample_weight) > 0:
            raise DataError(
                f"{loss} is a loss of whole queries, which cannot use document weights; use query "
                "weights, or no weights"
            )
        self._loss, self._y, self._offsets = loss, data.y, data.offsets
        self._weights = np.ones(len(data)) if data.query_weight is None else data.query_weight
        self._scores = np.zeros(data.n_documents)

    def at(self, scores: Floats) -> tuple[float, Floats]:
        """Return value and gradient; `diagonal` refers to these scores."""
        self._scores = np.array(scores, np.float64)
        gradient, values = np.empty(len(self._y)), np.empty(len(self._weights))
        for q, rows in self._queries():
            s, y = self._scores[rows], self._y[rows]
            values[q] = self._weights[q] * self._loss.value(s, y)
            gradient[rows] = self._weights[q] * self._check_finite(
                "gradient", self._loss.gradient(s, y)
            )
        self._check_finite("value", values)
        return math.fsum(values), gradient

    def diagonal(self) -> Floats:
        """Return the curvature of each document, times the weight of its query."""
        curvature, bends = getattr(self._loss, "curvature", None), np.empty(len(self._y))
        for q, rows in self._queries():
            curvatures = np.ones(rows.stop - rows.start)
            if curvature is not None:
                curvatures = self._check_finite(
                    "curvature", curvature(self._scores[rows], self._y[rows])
                )
            bends[rows] = self._weights[q] * curvatures
        return bends

    def _queries(self) -> Iterator[tuple[int, slice]]:
        for q, (first, last) in enumerate(zip(self._offsets, self._offsets[1:], strict=False)):
            yield q, slice(int(first), int(last))

    def _check_finite(self, what: str, values: Floats) -> Floats:
        if not np.isfinite(values).all():
            raise DataError(f"{what} of {self._loss} must be finite; found {np.asarray(values)}")
        return values


def make_summed_loss(loss: Loss, data: QueryDataset) -> SummedLoss:
    """Return the sum of a loss over a data set, compiled if the loss has a compiled version."""
    return WholeLoss(loss, data) if has_compiled_version(loss) else LossByQuery(loss, data)
