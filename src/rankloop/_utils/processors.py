"""How many processors and threads this process may use."""

from __future__ import annotations

import os

_MAX = 8  # with more threads, memory is the bottleneck
_MAX_ASKED = 256  # no computation here gains from more


def processors() -> int:
    """Return how many processors this process may run on, by its affinity if the system has one."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def threads() -> int:
    """Return how many threads to use: the variable OMP_NUM_THREADS, at most 256.

    Without the variable, it is the number of processors, at most 8.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip().lstrip("0")
    if not asked.isdecimal():
        return min(processors(), _MAX)
    return min(int(asked[:4]), _MAX_ASKED)
