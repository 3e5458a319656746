"""Matrices like the Hessian but easy to invert: conjugate gradients then need few products.

Units and correlations of features, which make a Hessian hard, are in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.processors import threads

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats

_WIDEST = 500  # features; beyond, a matrix of them costs more than it saves


class Diagonal:
    """The diagonal of the matrix that :class:`Dense` has whole."""

    def __init__(self, data: QueryDataset, h: Floats, C: float) -> None:
        self._m = 1 + C * _core.column_spreads(data.X, data.offsets, h, threads())

    def times(self, v: Floats) -> Floats:
        """Return M v."""
        return np.asarray(self._m * v)

    def solve(self, v: Floats) -> Floats:
        """Return M^-1 v."""
        return np.asarray(v / self._m)


class Dense:
    """M = I + C sum over queries of X'(diag(h) - h h' / sum h) X, for a Hessian of diagonal h.

    It is the Hessian of a softmax, nearly, and that of pairs as if whom a document meets depended
    only on how often each is met.

    Notes
    -----
    Cost: O(n d^2 + d^3) to make, O(d^2) to use, and to keep. None of it goes through BLAS, whose
    threads cost more than such small matrices, and whose bits depend on them.
    """

    def __init__(self, data: QueryDataset, h: Floats, C: float) -> None:
        d = data.n_features
        matrix = np.eye(d) + C * _core.query_scatter(data.X, data.offsets, h, threads())
        self._unit = 1 / np.sqrt(np.diag(matrix))
        self._m = matrix * self._unit * self._unit[:, None]  # a diagonal of 1
        self._factor = _core.cholesky(self._m + 1e-10 * np.eye(d))

    def times(self, v: Floats) -> Floats:
        """Return M v."""
        return np.asarray(np.einsum("ij,j", self._m, v / self._unit) / self._unit)

    def solve(self, v: Floats) -> Floats:
        """Return M^-1 v."""
        return np.asarray(self._unit * _core.cholesky_solve(self._factor, self._unit * v))


def preconditioner(data: QueryDataset, h: Floats, C: float) -> Dense | Diagonal:
    """Make one for a Hessian of diagonal h, as good as the number of features allows."""
    return (Dense if data.n_features <= _WIDEST else Diagonal)(data, h, C)
