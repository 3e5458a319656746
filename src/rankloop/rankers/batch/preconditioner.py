"""Preconditioners: approximations of the Hessian that are easy to invert.

With them, conjugate gradients need few products. They contain the scales and correlations of the
features, which make a problem badly conditioned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.sparse_rows import core_rows
from rankloop.rankers.sparse import query_blocks

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats

_WIDEST = 500  # with more features, a full matrix costs more than it saves


class Diagonal:
    """The diagonal of the matrix of :class:`Dense`."""

    def __init__(self, spread: Floats, C: float) -> None:
        self._m = 1 + C * spread

    def times(self, v: Floats) -> Floats:
        """Return M v."""
        return np.asarray(self._m * v)

    def solve(self, v: Floats) -> Floats:
        """Return M^-1 v."""
        return np.asarray(v / self._m)


class Dense:
    """M = I + C S, with S = sum over queries of X'(diag(h) - h h' / sum h) X.

    h is the diagonal of the Hessian of the loss in the scores.

    It is approximately the Hessian of a softmax. For pairs, it is the Hessian that would result if
    the partners of every document were drawn in proportion to h.

    Notes
    -----
    Cost: O(d^3) to build, after O(n d^2) for S; O(d^2) time per use, and O(d^2) memory. It does not
    use BLAS, because BLAS threads cost more than they save on such small matrices, and change the
    bits of the result.
    """

    def __init__(self, spread: Floats, C: float) -> None:
        d = len(spread)
        matrix = np.eye(d) + C * spread
        self._unit = 1 / np.sqrt(np.diag(matrix))
        self._m = matrix * self._unit * self._unit[:, None]  # its diagonal is 1
        self._factor = _core.cholesky(self._m + 1e-10 * np.eye(d))

    def times(self, v: Floats) -> Floats:
        """Return M v."""
        return np.asarray(np.einsum("ij,j", self._m, v / self._unit) / self._unit)

    def solve(self, v: Floats) -> Floats:
        """Return M^-1 v."""
        return np.asarray(self._unit * _core.cholesky_solve(self._factor, self._unit * v))


def preconditioner(spread: Floats, C: float) -> Dense | Diagonal:
    """Make a preconditioner from S (see :class:`Dense`), or from its diagonal."""
    return (Dense if spread.ndim == 2 else Diagonal)(spread, C)


def spread_of(data: QueryDataset, h: Floats) -> Floats:
    """Return S (see :class:`Dense`) for the queries of a data set; of many features, its diagonal.

    The spread of several data sets is the sum of theirs.
    """
    if data.n_features > _WIDEST:
        return _core.column_spreads(core_rows(data.X), data.offsets, h, threads())
    if not data.is_sparse:
        return _core.query_scatter(data.X, data.offsets, h, threads())
    total = np.zeros((data.n_features, data.n_features))
    for first, end in query_blocks(data.offsets, data.n_features):  # made dense one by one
        part = data.select(slice(first, end)).to_dense()
        own = h[data.offsets[first] : data.offsets[end]]
        total += _core.query_scatter(part.X, part.offsets, own, threads())
    return total
