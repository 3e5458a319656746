"""A kernel matrix a few rows at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK_BYTES = 32 << 20
"""How much of a kernel matrix is made at a time where only its products are wanted."""


def kernel_blocks(n: int, m: int, limit: int = BLOCK_BYTES) -> Iterator[slice]:
    """Give slices of n rows whose kernel with m others takes at most `limit` bytes (or is one row).

    >>> list(kernel_blocks(5, 100, limit=800))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, limit // max(4 * m, 1))
    return (slice(first, min(first + step, n)) for first in range(0, n, step))
