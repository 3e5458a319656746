"""How many processors there are for us."""

from __future__ import annotations

import os

_MOST = 8  # beyond it memory is the limit


def processors() -> int:
    """Return how many processors this process may run on, by its affinity where there is one."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def threads() -> int:
    """Return the threads to use where there is enough to do: OMP_NUM_THREADS, else up to 8."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(asked) if asked.isdecimal() and int(asked) > 0 else min(processors(), _MOST)
