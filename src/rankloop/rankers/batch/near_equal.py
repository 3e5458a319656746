"""Choose among values that are equal except for rounding errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NOISE = 1e-10
"""A fraction of the largest value: smaller differences may be rounding errors."""


def first_largest(values: Floats) -> int:
    """Return the index of the largest of some values >= 0; the first one if several are equal.

    >>> first_largest(np.array([0.1, 0.3, 0.3 + 1e-15]))
    1
    """
    return int(np.argmax(values >= values.max() * (1 - NOISE)))


def best_first(values: Floats) -> NDArray[np.int64]:
    """Return the indices of values >= 0, largest value first; equal values keep their order.

    >>> best_first(np.array([0.1, 0.3, 0.3 + 1e-15, 0.9])).tolist()
    [3, 1, 2, 0]
    """
    return np.argsort(-np.round(values / max(values.max(), 1e-300), 10), kind="stable")
