"""Process a matrix in blocks of rows, so that intermediate results stay in the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 17  # values worked on at a time: 1 MB of float64


def row_blocks(n: int, d: int) -> Iterator[slice]:
    """Yield slices that cover the rows of an n by d matrix, in order; none if it has no columns.

    >>> list(row_blocks(3, BLOCK // 2))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    step = max(1, BLOCK // max(d, 1))
    return (slice(first, min(first + step, n)) for first in range(0, n if d else 0, step))
