"""How many processors there are for us."""

from __future__ import annotations

import os

_MOST = 8  # beyond it memory is the limit
_MOST_ASKED = 1024


def processors() -> int:
    """Return how many processors this process may run on, by its affinity where there is one."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def threads() -> int:
    """Return the threads to use where there is enough to do: OMP_NUM_THREADS, else up to 8.

    No more than 1,024, whatever is asked for. Where the system does not give as many, what is done
    on threads goes on with fewer.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    given = asked.isascii() and asked.isdecimal() and int(asked[:9]) > 0
    return min(int(asked[:9]), _MOST_ASKED) if given else min(processors(), _MOST)
