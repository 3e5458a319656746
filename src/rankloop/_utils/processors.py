"""How many processors and threads this process may use, and how its threads wait."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX = 8  # with more threads, memory is the bottleneck
_MAX_ASKED = 256  # no computation here gains from more
_VALUES_A_THREAD = 400_000
_CGROUPS = Path("/sys/fs/cgroup")


def processors() -> int:
    """Return how many processors this process may use: by its affinity, and by its container."""
    affinity = getattr(os, "sched_getaffinity", None)
    allowed = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return min(allowed, _container_limit())


@functools.cache
def _container_limit() -> int:
    return container_limit(_CGROUPS, Path("/proc/self/cgroup"))


def container_limit(cgroups: Path, own: Path) -> int:
    """Return how many processors the container grants, rounded up; a large number if all.

    A container with half a second of time per second sees all processors of its machine. With a
    thread for each of them, it would use up its time at once, and then stand still.

    cgroups : where the groups of processes are, of version 2 or 1
    own : the file that names the groups of this process
    """
    limit = float(2**31)
    try:
        places = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        places = []
    for _, kinds, place in (parts for parts in places if len(parts) == 3):
        if kinds and "cpu" not in kinds.split(","):
            continue
        root = cgroups / "cpu" if kinds else cgroups
        group = Path(place.lstrip("/"))
        for folder in (group, *group.parents):  # a group is bound by those around it
            limit = min(limit, _quota(root / folder))
    return max(1, math.ceil(limit))


def _quota(group: Path) -> float:
    """Return how many processors' time a group gets; infinity if that is not limited."""
    try:
        if (group / "cpu.max").exists():
            time, period = (group / "cpu.max").read_text().split()
        else:
            time = (group / "cpu.cfs_quota_us").read_text().strip()
            period = (group / "cpu.cfs_period_us").read_text()
        return float(time) / float(period) if float(time) > 0 else math.inf
    except (OSError, ValueError):  # no such file, or "max"
        return math.inf


_share: ContextVar[int | None] = ContextVar("_share", default=None)


@contextlib.contextmanager
def share_threads(each: int) -> Iterator[None]:
    """Let what runs meanwhile use so many threads, because others run at the same time."""
    token = _share.set(each)
    try:
        yield
    finally:
        _share.reset(token)


def shared_threads() -> int | None:
    """Return the number of threads inside :func:`share_threads`; None elsewhere."""
    return _share.get()


def threads() -> int:
    """Return how many threads to use: the variable OMP_NUM_THREADS, at most 256.

    Without the variable, it is the number of processors, at most 8. Inside :func:`share_threads` it
    is the share.
    """
    share = shared_threads()
    if share is not None:
        return share
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip().lstrip("0")
    if not asked.isdecimal():
        return min(processors(), _MAX)
    return min(int(asked[:4]), _MAX_ASKED)


def useful_threads(values: int) -> int:
    """Return how many threads it is worth to train trees with on so many values.

    Threads wait for each other at every tree, so more of them would be slower on small data. Inside
    :func:`share_threads` it is the share for all: LightGBM keeps its number of threads once for the
    process, and computes with buffers of another size if somebody else changes it meanwhile.
    """
    return shared_threads() or max(1, min(threads(), values // _VALUES_A_THREAD))


@contextlib.contextmanager
def passive_waiting() -> Iterator[None]:
    """Let the threads of a library that is loaded meanwhile sleep when they wait for each other.

    OpenMP's threads otherwise spin, which takes processors from those they wait for whenever there
    are more threads than free processors. OpenMP reads the variable once, when it is loaded. What
    the user has set stays.
    """
    name = "OMP_WAIT_POLICY"
    if name in os.environ:
        yield
        return
    os.environ[name] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop(name, None)
