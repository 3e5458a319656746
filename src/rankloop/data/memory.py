"""How much memory there is, and refusing an array before it would exhaust it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rankloop.exceptions import DataError, MemoryLimitError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def available_memory() -> int:
    """Bytes that can be used now without swapping; the control group's limit counts on Linux."""
    candidates = []
    try:
        text = Path("/proc/meminfo").read_text()
        candidates.append(int(re.search(r"MemAvailable:\s+(\d+) kB", text)[1]) * 1024)  # type: ignore[index]
    except (OSError, TypeError):
        candidates.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            used = int((group / "memory.current").read_text())
            candidates.append(int(limit) - used)
    except (OSError, ValueError):
        pass
    return max(min(candidates), 0)


def parse_size(size: int | str) -> int:
    """Bytes from a number or from text such as `500MB`, `2 GiB` or `4G` (all powers of 1024).

    >>> parse_size("2 GB")
    2147483648
    """
    if isinstance(size, int):
        value = float(size)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?\s*", size.upper())
        if match is None:
            raise DataError(f"cannot read {size!r} as a size; write for example '500MB' or '2GB'")
        value = float(match[1]) * _UNITS[match[2]]
    if value <= 0:
        raise DataError(f"a size must be positive; found {size!r}")
    return int(value)


def show_size(n_bytes: float) -> str:
    """Bytes for people.

    >>> show_size(3 * 2**30)
    '3.0 GB'
    """
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TB"


def check_fits(rows: int, features: int, limit: int | str | None = None) -> None:
    """Raise unless a float32 matrix of this shape fits the limit (default: memory at hand)."""
    allowed = available_memory() if limit is None else parse_size(limit)
    needed = 4 * rows * features
    if needed > allowed:
        raise MemoryLimitError(
            f"a dense matrix of {rows:,} rows and {features:,} features takes {show_size(needed)}, "
            f"but {'there is' if limit is None else 'the limit is'} {show_size(allowed)}; select "
            "fewer features or rows, read in parts (iter_letor or iter_table), or raise "
            "memory_limit"
        )
