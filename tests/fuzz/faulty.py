"""A fuzzer whose cases go wrong in every way there is: each has to be noticed."""

from __future__ import annotations

import ctypes
import os
import time

from .harness import MEGABYTES, main

WAYS = ("works", "raises", "crashes", "ends", "swells", "works", "hangs", "works")


def label(case):
    """What a case does."""
    return WAYS[case]


def outcome(case, folder):
    """Do it."""
    match WAYS[case]:
        case "raises":
            raise KeyError("a")
        case "crashes":
            ctypes.string_at(0)
        case "ends":
            os._exit(3)
        case "swells":
            return f"{len(bytearray(2 * MEGABYTES << 20))} bytes"
        case "hangs":
            time.sleep(1000)
    return "works"


if __name__ == "__main__":
    main()
