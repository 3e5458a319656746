"""Geometries: the norm in which the margin is measured, and its link function.

Mirror descent with psi(W) = |W|^2 / 2 for some norm keeps D = grad psi(W), moves D against the
gradient, and goes back: W = (grad psi)^-1(D) = grad psi*(D), where psi*(D) = |D|_*^2 / 2 for the
dual norm. If psi is a-strongly convex in its norm, the regret against U is at most
|U|^2 / (2 rate) + rate / (2 a) sum |gradient|_*^2. Only the dual D is updated here, so each
geometry is its way back, `weights`, and its inverse `dual`. Both are homogeneous: c W has dual c D.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import log, power, row_pairs, total
from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Geometry(ABC):
    """A norm of weight matrices, with one row per output and one column per feature."""

    linear = False
    """Whether weights are their own dual, so that they are a sum of inputs."""

    def check(self, shape: tuple[int, int]) -> None:  # noqa: B027
        """Raise if the norm of such a matrix is another, simpler one."""

    @abstractmethod
    def weights(self, dual: Floats) -> Floats:
        """Return grad psi*(dual)."""

    @abstractmethod
    def dual(self, weights: Floats) -> Floats:
        """Return grad psi(weights)."""


class Euclidean(Geometry):
    """psi = half the sum of squares: the dual of W is W, and mirror descent is gradient descent."""

    linear = True

    def weights(self, dual: Floats) -> Floats:
        """Return it as it is."""
        return dual

    def dual(self, weights: Floats) -> Floats:
        """Return it as it is."""
        return weights


class _Power(Geometry):
    """psi = half the squared r-norm of some numbers u >= 0 that a matrix has.

    The derivative of |u|_r^2 / 2 by u_j is u_j^(r-1) |u|_r^(2-r). The dual norm is the q-norm with
    1/r + 1/q = 1, so the way back is the same with q for r. psi is (r - 1)-strongly convex in the
    r-norm for 1 < r <= 2.

    With n numbers, r = log n / (log n - 1), so q = log n: |g|_q <= e max |g_j|, and |u|_r <= |u|_1;
    the margin is then one in the l1 norm of u, at the price of a factor e^2 (log n - 1) < 9 log n.

    Where we depart: below n = e^2 that r exceeds 2, where psi is not strongly convex; it stays 2.

    Parameters
    ----------
    r : above 1, at most 2; None: as above
    """

    def __init__(self, r: float | None = None) -> None:
        if r is not None:
            check_number("r", r, 1, 2, above=True)
        self.r = r

    def exponent(self, n: int) -> float:
        """Return r for n numbers."""
        if self.r is not None:
            return self.r
        size = float(log(max(n, 1)))
        return size / (size - 1) if size > 2 else 2.0

    def _link(self, u: Floats, r: float) -> Floats:
        """Return u_j^(r-1) |u|_r^(2-r), in units of the largest so that nothing overflows."""
        top = u.max(initial=0.0)
        if top == 0:
            return u
        v = u / top
        size = float(power(total(power(v, r)), (2 - r) / r))
        return np.asarray(top * power(v, r - 1) * size)

    def _factors(self, u: Floats, r: float) -> Floats:
        """Return link(u) / u, and 0 for 0."""
        return np.divide(self._link(u, r), u, out=np.zeros_like(u), where=u > 0)

    @abstractmethod
    def _apply(self, matrix: Floats, back: bool) -> Floats:
        """Apply the link, or its inverse."""

    def weights(self, dual: Floats) -> Floats:
        """Return grad psi*(dual)."""
        return self._apply(dual, True)

    def dual(self, weights: Floats) -> Floats:
        """Return grad psi(weights)."""
        return self._apply(weights, False)

    def _power(self, n: int, back: bool) -> float:
        r = self.exponent(n)
        return r / (r - 1) if back else r


class RNorm(_Power):
    """psi = half the squared r-norm of all entries: an l1 margin, for few relevant features.

    u are the absolute values of the entries, whose signs stay (see :class:`_Power`). O(size).

    >>> RNorm().weights(np.array([[3.0, 0.0, -4.0]]))  # up to 7 entries it is Euclidean
    array([[ 3.,  0., -4.]])
    >>> RNorm(r=1.5).weights(np.array([[2.0, 0.0, -1.0]])).round(3)  # the larger gains
    array([[ 1.923,  0.   , -0.481]])
    """

    def _apply(self, matrix: Floats, back: bool) -> Floats:
        return np.sign(matrix) * self._link(np.abs(matrix), self._power(matrix.size, back))


class Group(_Power):
    """psi = half the squared r-norm of the norms of columns: few features count, for all outputs.

    u are the Euclidean norms of the columns. The derivative of |u|_r^2 / 2 by column j is
    link(u)_j W_j / |W_j|: columns keep their direction. O(size).
    """

    def check(self, shape: tuple[int, int]) -> None:
        """One row has columns of one entry: their norms are absolute values."""
        if shape[0] == 1:
            raise DataError(
                "the group geometry joins the rows of a weight matrix, but this problem "
                "has only one row: use geometry rnorm, which is then the same"
            )

    def _apply(self, matrix: Floats, back: bool) -> Floats:
        return matrix * self._factors(
            np.sqrt(row_pairs(matrix.T**2, np.ones((1, len(matrix))))[:, 0]),
            self._power(matrix.shape[1], back),
        )


_TINY = 1e-120
"""Matrices of smaller values, and those of larger ones than 1 / _TINY, have no exact squares."""


class Schatten(_Power):
    """psi = half the squared r-norm of the singular values: a trace-norm margin, for low rank.

    For a function of singular values alone, the gradient at W = U diag(u) V' is
    U diag(gradient at u) V' (Lewis 1995): singular vectors stay. O(d p min(d, p)).
    """

    def check(self, shape: tuple[int, int]) -> None:
        """One row or column has one singular value: its norm."""
        if min(shape) == 1:
            raise DataError(
                "the Schatten geometry uses singular values, but weights of one row "
                "or column have only one: use geometry euclidean, which is then the same"
            )

    def _apply(self, matrix: Floats, back: bool) -> Floats:
        top = np.abs(matrix).max(initial=0.0)
        if 0 < top < _TINY or top > 1 / _TINY:  # the link is homogeneous, and squares must fit
            return np.asarray(top * self._apply(matrix / top, back))
        wide = matrix.shape[0] <= matrix.shape[1]
        rows = np.array(matrix if wide else matrix.T, order="C")  # become u_k times a unit vector
        left = np.eye(len(rows))
        _core.rotate_rows(rows, left)
        u = np.sqrt(row_pairs(rows**2, np.ones((1, rows.shape[1])))[:, 0])
        linked = row_pairs(left.T, (rows * self._factors(u, self._power(len(u), back))[:, None]).T)
        return linked if wide else np.ascontiguousarray(linked.T)


GEOMETRIES: dict[str, type[Geometry]] = {
    "euclidean": Euclidean,
    "rnorm": RNorm,
    "group": Group,
    "schatten": Schatten,
}


def as_geometry(geometry: str | Geometry) -> Geometry:
    """Return a geometry unchanged, or find it by its name."""
    if isinstance(geometry, Geometry):
        return geometry
    if not isinstance(geometry, str) or geometry not in GEOMETRIES:
        raise DataError(f"geometry must be one of {', '.join(GEOMETRIES)}; found {geometry!r}")
    return GEOMETRIES[geometry]()
