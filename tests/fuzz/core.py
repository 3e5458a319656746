"""Calls of the compiled core with arguments that nobody should pass: no call may crash or hang.

Every function and every method of a class is found, with the types of its arguments, by what the
module says of itself. Most arguments of a call fit each other, by their names; some are damaged.
Arrays end, or begin, where memory that nobody may touch does, so that a step beyond is noticed.

    python -m tests.fuzz.core --cases 1000000
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import json
import mmap
import re
from functools import cache

import numpy as np

from rankloop import _core

from .harness import main

ARRAY = re.compile(r"ndarray\[dtype=(\w+), shape=\(([*, ]+)\)[^\]]*?(, writable=False)?\]")
DAMAGED = 0.04  # of the arguments, each in a way of its own
PLAIN = 0.7  # of the calls have no damaged argument: else little would come past the checks
EXTREME = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e38, 1e-320, -0.0, 1e20, 64, 65, 1e10]
HUGE = [-1, 0, 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30]
ASKED_FOR_WORK = ("terms", "steps")  # a huge number of them is no mistake, it takes long
REFUSED = (TypeError, ValueError, MemoryError, OverflowError, RuntimeError, IndexError)


def parameters(signature):
    """The names and types of a signature's parameters, without self."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    found, depth, start = [], 0, 0
    for i, letter in enumerate(inside + ","):
        depth += letter in "[(" or -(letter in "])")
        if letter == "," and depth == 0:
            name, _, kind = inside[start:i].strip().partition(": ")
            start = i + 1
            if name not in ("self", "*"):
                found.append((name, kind.partition(" = ")[0]))
    return found


@cache
def functions():
    """Every overload there is: name, what to call, its parameters."""
    found = []
    for name, thing in inspect.getmembers(_core, lambda thing: not inspect.ismodule(thing)):
        if name.startswith("_") or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        if inspect.isclass(thing):
            found.append((name, thing, parameters(thing.__init__.__nb_signature__[0][0])))
            continue
        found += [(name, thing, parameters(text)) for text, *_ in thing.__nb_signature__]
    return found


class World:
    """Numbers of rows, features and queries, and arguments that fit them."""

    def __init__(self, function, rng):
        self.function, self.rng = function, rng
        self.n = int(rng.choice([0, 1, 2, 7, 40, 200]))
        self.d = int(rng.choice([0, 1, 3, 8, 33]))
        queries = int(rng.integers(0, 5)) if self.n == 0 else int(rng.integers(1, 8))
        cuts = np.sort(rng.integers(0, self.n + 1, max(queries - 1, 0)))
        ends = [self.n] if queries else []
        self.offsets = np.r_[0, cuts, ends].astype(np.int64)
        self.q = queries
        self.k = int(rng.choice([0, 1, 2, 20]))
        self.grades = rng.integers(-1, 5, self.n).astype(float)

    def shapes(self, name, dimensions):
        """The shape that an argument of this name has as a rule."""
        n, d, q, k = self.n, self.d, self.q, self.k
        known = {
            **dict.fromkeys(("w", "total", "current", "variance", "b"), (d,)),
            **dict.fromkeys(("features", "thresholds", "alphas", "lasted", "so_far"), (k,)),
            **dict.fromkeys(("root", "matrix", "upper"), (d, d)),
            **dict.fromkeys(("count", "streak"), (1,)),
            **dict.fromkeys(("gram", "left"), (n, n)),
            **dict.fromkeys(("members", "z", "sides"), (k, d)),
            "matrices": (k, d, d),
            "query_weights": (q,),
            "rankers": (k, n),
            "splits": (2, k),
            "bins": (d, n),
            "sums": (d, 256),
            "sizes": (4,),
            ("learn_prank", "thresholds"): (64,),
            ("mix_queries", "scores"): (k, n),
            ("mix_queries", "losses"): (q, k),
        }
        usual = (n, d) if dimensions == 2 else (n,)
        return known.get((self.function, name), known.get(name, usual))

    def array(self, name, dtype, dimensions):
        """An array that fits, as a rule."""
        rng, shape = self.rng, self.shapes(name, dimensions)
        if name == "offsets":
            return self.offsets.copy()
        if name in ("y", "grades"):
            return np.sort(self.grades) if rng.random() < 0.5 else self.grades.copy()
        if name == "f":
            return -np.arange(float(self.n))
        if name == "features":
            return rng.integers(0, max(self.d, 1), shape).astype(dtype)
        if name in ("root", "matrix", "upper", "matrices"):
            return np.broadcast_to(10 * np.eye(self.d, dtype=dtype), shape).copy()
        if name in ("lasted", "count", "streak"):
            return np.zeros(shape, dtype)
        if name.endswith("weights") or name in ("sizes", "variance", "losses", "so_far"):
            return rng.random(size=shape).astype(dtype)
        if self.function == "chi_rows":
            return rng.random(size=shape).astype(dtype)
        if np.dtype(dtype).kind == "f":
            return rng.normal(size=shape).astype(dtype)
        return rng.integers(0, 2 if name == "rankers" else 200, shape).astype(dtype)

    def argument(self, name, kind):
        """An argument of this kind that fits, as a rule."""
        rng = self.rng
        if kind.endswith(" | None"):
            return None if rng.random() < 0.3 else self.argument(name, kind.removesuffix(" | None"))
        form = ARRAY.fullmatch(kind)
        if form is not None:
            return self.array(name, form[1], form[2].count("*"))
        if kind == "bool":
            return bool(rng.integers(2))
        if kind == "float":
            return float(rng.choice([0.0, 0.01, 0.5, 1.0, 2.0, 1e4]))
        if kind == "int":
            most = {"threads": 9, "gamma_kind": 3, "kind": 4, "base": 2, "few": 9}.get(name, 12)
            return int(rng.integers(0, most))
        if kind == "object":
            return source(rng)
        if kind == "bytes":
            return candidates(rng, int(rng.integers(4)), int(rng.integers(4)))
        if "tuple[" in kind:
            count = int(rng.integers(0, 4))
            return [(int(rng.integers(10)), int(rng.integers(12)), 1.0, 0.5) for _ in range(count)]
        if "str" in kind:
            return [str(i) for i in range(self.n)]
        raise NotImplementedError(f"the fuzzer does not know arguments of type {kind!r} yet")


def candidates(rng, n, d):
    """JSON arrays of features, one after the other, as a client sends them, or damaged."""
    rows = (json.dumps(rng.normal(size=d).round(3).tolist()) for _ in range(n))
    text = bytearray(" ".join(rows), "utf-8")
    for _ in range(rng.integers(0, 4) if text else 0):
        text[rng.integers(len(text))] = rng.integers(256)
    return bytes(text[: rng.integers(len(text) + 1)] if rng.random() < 0.2 else text)


def source(rng):
    """A `readinto` that gives LETOR text in pieces, or misbehaves."""
    line = b"1 qid:%d 1:0.5 3:-2e3 #docid = a\n"
    text = b"".join(line % rng.integers(3) for _ in range(rng.integers(0, 60)))
    damaged = bytearray(text)
    for _ in range(rng.integers(0, 3) if text else 0):
        damaged[rng.integers(len(damaged))] = rng.integers(256)
    left, way = bytes(damaged), rng.random()

    def readinto(buffer):
        nonlocal left
        if way < 0.05:
            raise OSError("the disk is gone")
        if way < 0.1:
            return [None, -1, "text", len(buffer) + 100, 2**62][int(way * 1000) % 5]
        some = left[: min(len(buffer), 100)]
        buffer[: len(some)], left = some, left[len(some) :]
        return len(some)

    return readinto


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
    if isinstance(value, list):
        wrong = [value[:-1], value * 2, [], [None], [(99, -5, np.nan, np.inf)], ["\ud800"], [(1,)]]
        return wrong[rng.integers(len(wrong))]
    return [None, 3.5, "x", np.zeros(3), []][rng.integers(4)]


def damaged_array(rng, array):
    """An array of another length, shape, order or type, or with values that should not be there."""
    way = rng.integers(11)
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


def calls(target, given, world):
    """Call a function, or make an object and call its methods, in any order."""
    made = target(**given)
    methods = [name for name in dir(target) if not name.startswith("_")]
    for name in world.rng.choice(methods, 5) if inspect.isclass(target) else ():
        method = getattr(target, name)
        if not hasattr(method, "__nb_signature__"):
            getattr(made, name)
            continue
        wanted = parameters(method.__nb_signature__[0][0])
        with contextlib.suppress(*REFUSED):
            getattr(made, name)(**arguments(world, wanted))


def arguments(world, wanted):
    """Arguments by name; in some calls some of them are damaged."""
    given = {name: world.argument(name, kind) for name, kind in wanted}
    if world.rng.random() > PLAIN:
        share = world.rng.choice([DAMAGED, 0.2, 0.5])
        for name in given:
            if world.rng.random() < share:
                given[name] = damaged(world.rng, given[name], name)
    return {name: guarded(value, world.rng) for name, value in given.items()}


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


def label(case):
    """The function that a case calls."""
    return functions()[case % len(functions())][0]


def outcome(case, folder):
    """Make one call, and tell whether it was done or refused."""
    name, target, wanted = functions()[case % len(functions())]
    world = World(name, np.random.default_rng([case, 1]))
    given = arguments(world, wanted)
    try:
        calls(target, given, world)
    except REFUSED:
        return f"{name}: refused"
    except OSError:
        return f"{name}: its source failed"
    return f"{name}: done"


if __name__ == "__main__":
    main()
