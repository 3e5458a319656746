"""The free memory: that of the machine, and what control groups leave to this process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNLIMITED = 1 << 60  # version 1 writes a number as large as that for "no limit"


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
                    yield int(allowed) - int(taken) + _cached_files(group)


def _cached_files(group: Path) -> int:
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
