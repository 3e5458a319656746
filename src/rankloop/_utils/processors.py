"""How many processors and threads this process may use."""

from __future__ import annotations

import os

_MAX = 8  # with more threads, memory is the bottleneck
_MAX_ASKED = 256  # more than any use of threads here gains from


def processors() -> int:
    """Return how many processors this process may run on, by its affinity where there is one."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def threads() -> int:
    """Return the threads to use where there is enough to do: OMP_NUM_THREADS, else up to 8.

    The variable counts up to 256.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip().lstrip("0")
    if not asked.isdecimal():
        return min(processors(), _MAX)
    return min(int(asked[:4]), _MAX_ASKED)
