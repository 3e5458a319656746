"""Choosing among equals: differences of rounding decide nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NOISE = 1e-10
"""A share of the largest value: smaller differences may be rounding."""


def first_largest(values: Floats) -> int:
    """Return where the largest value stands, at least 0; the first of equals.

    >>> first_largest(np.array([0.1, 0.3, 0.3 + 1e-15]))
    1
    """
    return int(np.argmax(values >= values.max() * (1 - NOISE)))


def best_first(values: Floats) -> NDArray[np.int64]:
    """Return places by value, at least 0, largest first; equals in order.

    >>> best_first(np.array([0.1, 0.3, 0.3 + 1e-15, 0.9])).tolist()
    [3, 1, 2, 0]
    """
    return np.argsort(-np.round(values / max(values.max(), 1e-300), 10), kind="stable")
