"""A stream may last for ever: what a ranker knows does not grow with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankloop.rankers.registry import make_ranker, online_names

from ..streams import KERNEL, LINEAR, stream

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc"
)

# For each of (name, queries, whether to leak): learns some queries to warm up, then as many as
# asked for, twice, and tells by how many kB the most memory it ever held grew in the calmer of
# the two: a heap that settles grows once, a leak always. VmHWM, as ru_maxrss of a new process
# begins with that of its parent.
SCRIPT = """
import ctypes, gc, json, sys
import numpy as np
from rankloop.rankers.registry import make_ranker

rng = np.random.default_rng(0)
stream = [
    (rng.normal(size=(12, 24)).astype(np.float32), rng.integers(0, 3, 12).astype(float))
    for _ in range(500)
]

give_back = getattr(ctypes.CDLL(None), "malloc_trim", int)

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def growth(name, queries, leak):
    ranker, kept = make_ranker(name), []
    def run(n):
        for i in range(n):
            X, y = stream[i % 500]
            ranker.learn(X, y)
            if leak:
                kept.append(X.copy())
    def stretch():
        gc.collect()
        give_back(0)  # what others left would hide what this one takes
        run(100)
        open("/proc/self/clear_refs", "w").write("5")  # from here on
        before = peak()
        run(queries)
        return peak() - before
    run(queries // 2)
    return min(stretch(), stretch())

print(json.dumps([growth(*one) for one in json.loads(sys.argv[1])]))
"""

BUDGETED = [
    *(f"{name}:budget=100" for name in KERNEL),
    *(f"kernel-slam:budget=100,removal={how}" for how in ("forgetron", "random", "least-loss")),
    "kernel-slam:budget=100,removal=merging",
    "prepared:maps=['nystrom(rbf(10),50)']",
]
# Mixes measure every query, duels try many rankers on it, kernels compare it with all they hold:
# fewer queries, and a tighter limit.
SLOW = ("mix", "auto", "mgd", "dbgd", "predtron", *BUDGETED)
SLOWER = [(name, 500, False) for name in SLOW]
FAST = [(name, 5_000, False) for name in [*LINEAR, "prepared"] if name not in SLOW]
LEAKS = [("pairwise", 5_000, True), ("pairwise", 500, True)]
LIMITS = {5_000: 1000, 500: 300}


@pytest.mark.slow
def test_memory_stays():
    asked = [*SLOWER, *FAST, *LEAKS]  # the leaks come last, so that all others could hide them
    command = [sys.executable, "-c", SCRIPT, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    growth = dict(zip(asked, json.loads(done.stdout), strict=True))
    grown = {one: kB for one, kB in growth.items() if kB > LIMITS[one[1]]}
    assert list(grown) == LEAKS, grown


@pytest.mark.matrix
@pytest.mark.parametrize("name", online_names())
def test_what_is_learnt_has_one_size(name):
    def size(value):
        if hasattr(value, "_state"):
            return sum(map(size, value._state().values()))
        if isinstance(value, list):
            return sum(map(size, value))
        return value.nbytes if isinstance(value, np.ndarray) else 0

    ranker = make_ranker(name)
    for seed in range(4):  # until those that adapt have as many parts as they ever have
        ranker.partial_fit(stream("short", seed=seed))
    before = size(ranker)
    for seed in range(4, 7):
        ranker.partial_fit(stream("short", seed=seed))
    changes = 16 * 8 if name in ("auto", "adaptive") else 0  # the latest changes, as they come
    assert before <= size(ranker) <= before + changes
