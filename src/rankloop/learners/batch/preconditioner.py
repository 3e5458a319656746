"""Preconditioners: approximations of the Hessian that are easy to invert.

With them, conjugate gradients need few products. They contain the scales and correlations of the
features, which make a problem badly conditioned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.processors import threads

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats

_WIDEST = 500  # with more features, a full matrix costs more than it saves


class Diagonal:
    """The diagonal of the matrix of :class:`Dense`."""

    def __init__(self, data: QueryDataset, h: Floats, C: float) -> None:
        self._m = 1 + C * _core.column_spreads(data.X, data.offsets, h, threads())

    def times(self, v: Floats) -> Floats:
        """Return M v."""
        return np.asarray(self._m * v)

    def solve(self, v: Floats) -> Floats:
        """Return M^-1 v."""
        return np.asarray(v / self._m)


class Dense:
    """M = I + C sum over queries of X'(diag(h) - h h' / sum h) X, for a Hessian with diagonal h.

    It is approximately the Hessian of a softmax. For pairs, it is the Hessian that would result if
    the partners of every document were drawn in proportion to h.

    Notes
    -----
    Cost: O(n d^2 + d^3) to build; O(d^2) time per use, and O(d^2) memory. It does not use BLAS,
    because BLAS threads cost more than they save on such small matrices, and change the bits of the
    result.
    """

    def __init__(self, data: QueryDataset, h: Floats, C: float) -> None:
        d = data.n_features
        matrix = np.eye(d) + C * _core.query_scatter(data.X, data.offsets, h, threads())
        self._unit = 1 / np.sqrt(np.diag(matrix))
        self._m = matrix * self._unit * self._unit[:, None]  # its diagonal is 1
        self._factor = _core.cholesky(self._m + 1e-10 * np.eye(d))

    def times(self, v: Floats) -> Floats:
        """Return M v."""
        return np.asarray(np.einsum("ij,j", self._m, v / self._unit) / self._unit)

    def solve(self, v: Floats) -> Floats:
        """Return M^-1 v."""
        return np.asarray(self._unit * _core.cholesky_solve(self._factor, self._unit * v))


def preconditioner(data: QueryDataset, h: Floats, C: float) -> Dense | Diagonal:
    """Make a preconditioner for a Hessian with diagonal h; many features get a diagonal one."""
    return (Dense if data.n_features <= _WIDEST else Diagonal)(data, h, C)
