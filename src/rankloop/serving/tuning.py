"""How the interpreter runs in a process that serves."""

from __future__ import annotations

import gc
import sys

_SWITCH = 0.0002  # seconds that a thread may keep the interpreter while another waits for it
_COLLECT = (20_000, 10, 50)  # new objects, and younger collections, between two collections


def tune() -> None:
    """Let threads take turns often, and the collection of garbage seldom interrupt.

    For the process as a whole, once all that stays is loaded. What requests leave behind is freed
    without any collection; a collection walks through all that a loop keeps, and stops everyone.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
