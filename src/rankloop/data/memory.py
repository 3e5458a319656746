"""Memory: sizes as text, what is free, limits and their errors, and blocks that fit the cache."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SHARE = 0.75  # of the free memory; the rest is for what is done with the data
_UNLIMITED = 1 << 60  # control groups of version 1 write so large a number for "no limit"
_SMALL = 1 << 22  # bytes; to find out what is free takes as long as to fill them
BLOCK = 1 << 17  # values worked on at a time: 1 MB of float64


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

    The default limit is that of :func:`memory_limit_or_default`, which costs up to half a
    millisecond in a container; small matrices, as every ranking is one, are not compared with it.
    """
    needed = 4 * rows * features + more
    if limit is None and needed <= _SMALL:
        return
    allowed = memory_limit_or_default(limit)
    if needed > allowed:
        raise MemoryLimitError(
            f"a dense matrix of {rows:,} rows and {features:,} features takes {show_size(needed)}"
            f"{' with its ids and grades' if more else ''}, but the limit is {show_size(allowed)}"
            f"{', three quarters of the free memory' if limit is None else ''}; select fewer "
            "features or rows, read in parts (iter_letor or iter_table), or raise memory_limit"
        )


def row_blocks(n: int, d: int) -> Iterator[slice]:
    """Yield slices that cover the rows of an n by d matrix, in order; none if it has no columns.

    Work in blocks keeps intermediate results in the processor's cache.

    >>> list(row_blocks(3, BLOCK // 2))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    step = max(1, BLOCK // max(d, 1))
    return (slice(first, min(first + step, n)) for first in range(0, n if d else 0, step))


def free_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes that can be used now without swapping.

    It is the smallest of what the kernel calls available and of what each control group of this
    process (a container, a service, a batch job) has left of its limit. Cached files count as free.
    If the system does not report this, it is the memory of the machine.
    """
    return max(min([_available(proc), *_left_in_groups(proc, groups)]), 0)


def _available(proc: Path) -> int:
    known = _numbers(proc / "meminfo")
    if "MemAvailable:" in known:
        return known["MemAvailable:"] * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNLIMITED


def _left_in_groups(proc: Path, groups: Path) -> Iterator[int]:
    """Yield what each control group of this process has left, if it has a limit."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2, also where it stands beside version 1
            roots, limit, used = [groups, groups / "unified"], "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            roots = [groups / "memory"]
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        below = Path(path.lstrip("/"))
        for root in roots:
            for group in (root / part for part in (below, *below.parents)):
                allowed, taken = _text(group / limit).strip(), _text(group / used).strip()
                if allowed.isdecimal() and taken.isdecimal() and int(allowed) < _UNLIMITED:
                    yield int(allowed) - int(taken) + _count_cached_bytes(group)


def _count_cached_bytes(group: Path) -> int:
    stat = _numbers(group / "memory.stat")
    both = ("total_inactive_file", "total_active_file")  # version 1, with the groups below
    names = both if both[0] in stat else ("inactive_file", "active_file")
    return sum(stat.get(name, 0) for name in names)


def _numbers(path: Path) -> dict[str, int]:
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
