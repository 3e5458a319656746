"""Arguments that nobody should pass, and memory that nobody may touch."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

EXTREME = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e38, 1e-320, -0.0, 1e20, 64, 65, 1e10]
HUGE = [-1, 0, 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 10**30]
ASKED_FOR_WORK = ("terms", "steps", "iterations")  # a huge number is no mistake, it takes long


def damaged(rng, value, name):
    """An argument that nobody should pass."""
    if isinstance(value, np.ndarray):
        return damaged_array(rng, value)
    if isinstance(value, bool):
        return rng.choice([None, "x"])
    if isinstance(value, int):
        return 3 if name in ASKED_FOR_WORK else HUGE[rng.integers(len(HUGE))]
    if isinstance(value, float):
        return EXTREME[rng.integers(len(EXTREME))]
    if isinstance(value, bytes):
        return damaged_bytes(rng, value)
    if isinstance(value, tuple) and value:
        place = int(rng.integers(len(value)))
        return (*value[:place], damaged(rng, value[place], name), *value[place + 1 :])
    if isinstance(value, list):
        if value and rng.random() < 0.5:
            place = int(rng.integers(len(value)))
            return [*value[:place], damaged(rng, value[place], name), *value[place + 1 :]]
        wrong = [value[:-1], value * 2, [], [None], [(99, -5, np.nan, np.inf)], ["\ud800"], [(1,)]]
        return wrong[rng.integers(len(wrong))]
    return [None, 3.5, "x", np.zeros(3), []][rng.integers(4)]


def damaged_bytes(rng, value):
    """Bytes that were cut, or some of which were changed."""
    if not value or rng.random() < 0.2:
        return value[: rng.integers(len(value) + 1)] + b"\xff"
    changed = bytearray(value)
    for _ in range(int(rng.integers(1, 4))):
        changed[rng.integers(len(changed))] = rng.integers(256)
    return bytes(changed)


def damaged_array(rng, array):
    """An array of another length, shape, order or type, or with values that should not be there."""
    way = rng.integers(12)
    flat = array.ravel()
    if way == 0:
        return np.resize(array, (max(len(array) - 1, 0), *array.shape[1:]))
    if way == 1:
        return np.resize(array, (len(array) + int(rng.integers(1, 50)), *array.shape[1:]))
    if way == 2:
        return array[:0].copy()
    if way == 3:
        return array.astype(rng.choice(["f4", "f8", "i8", "i4", "u1", "?", "O"]))
    if way == 4:
        wide = (0, 2 ** int(rng.choice([1, 5, 16, 22, 40, 58])))  # takes no memory itself
        return np.zeros(wide, array.dtype) if array.ndim == 2 else flat[::2]
    if way == 5:
        return np.asfortranarray(array[::-1])
    if way == 6:
        array = array.copy()
        array.flags.writeable = False
        return array
    if way == 7:
        return flat.copy() if array.ndim == 2 else array.reshape(1, -1)
    if array.size == 0:
        return None
    array = array.copy()
    for _ in range(int(rng.integers(1, 4))):
        place = rng.integers(array.size)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array.ravel()[place] = EXTREME[rng.integers(len(EXTREME))]
        else:
            limits = np.iinfo(array.dtype)
            low, high = int(limits.min), int(limits.max)
            array.ravel()[place] = [low, high, min(high, 2**40), 0, max(low, -1), 3][
                rng.integers(6)
            ]
    return array


def guarded(value, rng):
    """A copy of an array with forbidden memory right behind it, or before it."""
    plain = isinstance(value, np.ndarray) and value.flags.c_contiguous and value.flags.writeable
    if not plain or value.dtype.kind == "O" or value.nbytes == 0:
        return value
    page = mmap.PAGESIZE
    inside = -(-value.nbytes // page) * page
    memory = mmap.mmap(-1, inside + page)
    behind = bool(rng.integers(2))
    first = inside - value.nbytes if behind else page
    copy = np.frombuffer(memory, value.dtype, value.size, first).reshape(value.shape)
    copy[...] = value
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + inside * behind), page, 0):
        raise OSError("memory cannot be forbidden")
    return copy
