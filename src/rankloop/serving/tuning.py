"""Settings of the interpreter in a process that serves."""

from __future__ import annotations

import gc
import sys

_SWITCH = 0.0002  # seconds that a thread may keep the interpreter while another waits for it
_COLLECT = (20_000, 10, 50)  # new objects, and younger collections, between two collections


def tune() -> None:
    """Switch between threads often, and collect garbage seldom.

    Call it once per process, after all permanent data is loaded. The objects of requests are freed
    without a collection; a collection visits everything that a loop keeps, and stops all threads.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
