"""Elementary functions and products with the same bits on every processor.

In NumPy, the last bits of `exp`, of sums and of matrix products depend on the processor, on the
installed libraries and on the position of a row in its matrix. What a ranker learns and how it
scores a row must not depend on these, so the compiled core computes them. The functions are
accurate to about one unit in the last place; see `cpp/linalg/math.hpp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


_ENOUGH = 8192  # with fewer products of rows, starting threads costs more than they gain


def _by_element(
    function: Callable[[Floats], Floats], doc: str
) -> Callable[[NDArray[np.generic] | float], Floats]:
    def apply(x: NDArray[np.generic] | float) -> Floats:
        values = np.asarray(x, np.float64)
        return function(np.ascontiguousarray(values).ravel()).reshape(values.shape)

    apply.__doc__ = doc
    return apply


exp = _by_element(_core.exp, "Return e to the power of each number.")
exp2 = _by_element(_core.exp2, "Return 2 to the power of each number.")
log = _by_element(_core.log, "Return natural logarithms.")
log2 = _by_element(_core.log2, "Return logarithms to the base 2.")
log1p = _by_element(_core.log1p, "Return log(1 + x), also for small x.")
tanh = _by_element(_core.tanh, "Return hyperbolic tangents.")
sin = _by_element(_core.sin, "Return sines.")
cos = _by_element(_core.cos, "Return cosines.")


def power(x: NDArray[np.generic] | float, exponent: float) -> Floats:
    """Return each number, which must be at least 0, to the power of `exponent`.

    >>> power(np.array([0.0, 2.0, 4.0]), 1.5)
    array([0.        , 2.82842712, 8.        ])
    """
    values = np.asarray(x, np.float64)
    flat = np.ascontiguousarray(values).ravel()
    return _core.power(flat, float(exponent)).reshape(values.shape)


def dot(x: NDArray[np.generic], y: NDArray[np.generic]) -> float:
    """Return the sum of products, added up from the first to the last.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return _core.dot(_vector(x), _vector(y))


def total(x: NDArray[np.generic]) -> float:
    """Return the sum of all numbers, added up from the first to the last."""
    values = _vector(x)
    return _core.dot(values, np.ones(len(values)))


def row_pairs(x: NDArray[np.generic], z: NDArray[np.generic]) -> NDArray[Any]:
    """Return x @ z.T: the product of every row of x with every row of z.

    The result is float32 if both are, otherwise float64. Cost: O(n m d).

    >>> row_pairs(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.,  2.]])
    """
    kind = np.float32 if x.dtype == z.dtype == np.float32 else np.float64
    some = _threads(len(x) * len(z))
    return _core.row_pairs(np.ascontiguousarray(x, kind), np.ascontiguousarray(z, kind), some)


def row_scores(x: NDArray[np.float32], weights: Floats) -> NDArray[np.float32]:
    """Return x @ weights; a row gets the same bits whether it is scored alone or with others.

    Sparse rows get the same bits as the equal dense rows. Cost: O(n d), or O(nonzeros) if sparse.
    """
    rows = getattr(x, "core", x)  # sparse rows have their arrays in `core`
    return _core.score_rows(rows, weights, _threads(len(x)))


def _threads(products: int) -> int:
    """Return how many threads to use; for few products, asking for them would take longer."""
    return threads() if products > _ENOUGH else 1


def _vector(x: NDArray[np.generic]) -> Floats:
    return np.ascontiguousarray(x, np.float64).ravel()
