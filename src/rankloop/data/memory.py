"""Memory limits: sizes as text, the default limit, and errors for what exceeds it."""

from __future__ import annotations

import re

import numpy as np

from rankloop.data.free_memory import free_memory
from rankloop.exceptions import DataError, MemoryLimitError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SHARE = 0.75  # of the free memory; the rest is for what is done with the data


def parse_size(size: int | str) -> int:
    """Return bytes from a number or from text such as `500MB`, `2 GiB` or `4G` (powers of 1024).

    >>> parse_size("2 GB")
    2147483648
    """
    if isinstance(size, int | float | np.integer):
        value = float(size)
    else:
        text = size.upper() if isinstance(size, str) else ""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?\s*", text, re.ASCII)
        if match is None:
            raise DataError(f"cannot read {size!r} as a size; write for example '500MB' or '2GB'")
        value = float(match[1]) * _UNITS[match[2]]
    if not value > 0:
        raise DataError(f"a size must be positive; found {size!r}")
    return int(min(value, 2.0**62))


def show_size(n_bytes: float) -> str:
    """Return a size in bytes as text.

    >>> show_size(3 * 2**30)
    '3.0 GB'
    """
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"


def memory_limit_or_default(limit: int | str | None) -> int:
    """Return a limit in bytes; without one, it is three quarters of the free memory."""
    return int(_SHARE * free_memory()) if limit is None else parse_size(limit)


def check_fits(rows: int, features: int, limit: int | str | None = None, *, more: int = 0) -> None:
    """Raise if a float32 matrix of this shape plus `more` bytes exceed the limit.

    The default limit is that of :func:`memory_limit_or_default`.
    """
    allowed = memory_limit_or_default(limit)
    needed = 4 * rows * features + more
    if needed > allowed:
        raise MemoryLimitError(
            f"a dense matrix of {rows:,} rows and {features:,} features takes {show_size(needed)}"
            f"{' with its ids and grades' if more else ''}, but the limit is {show_size(allowed)}"
            f"{', three quarters of the free memory' if limit is None else ''}; select fewer "
            "features or rows, read in parts (iter_letor or iter_table), or raise memory_limit"
        )
