"""A fuzzer whose cases go wrong in every way, to see that each is noticed."""

from __future__ import annotations

import ctypes
import os
import time

from .harness import main

WAYS = ["done", "raises", "crashes", "ends", "swells", "done", "hangs", "done"]


def label(case):
    return WAYS[case]


def outcome(case, folder):
    if WAYS[case] == "raises":
        raise KeyError("a")
    if WAYS[case] == "crashes":
        ctypes.string_at(0)
    if WAYS[case] == "ends":
        os._exit(3)
    if WAYS[case] == "swells":
        return f"{len(bytearray(600 << 20))} bytes"
    if WAYS[case] == "hangs":
        time.sleep(1000)
    return "done"


if __name__ == "__main__":
    main()
