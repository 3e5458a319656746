"""A stream may last for ever: what a learner knows does not grow with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankloop.learners.registry import make_learner, online_names

from ..streams import KERNEL, LINEAR, stream

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc"
)

# Learns some queries to warm up, then as many as asked for, and prints by how many kB the most
# memory it ever held grew. VmHWM, as ru_maxrss of a new process begins with that of its parent.
SCRIPT = """
import sys
import numpy as np
from rankloop.learners.registry import make_learner

name, queries, leak = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "leak"
rng, kept = np.random.default_rng(0), []
stream = [
    (rng.normal(size=(12, 24)).astype(np.float32), rng.integers(0, 3, 12).astype(float))
    for _ in range(500)
]

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def run(n):
    for i in range(n):
        X, y = stream[i % 500]
        learner.learn(X, y)
        if leak:
            kept.append(X.copy())

learner = make_learner(name)
run(queries // 4)
open("/proc/self/clear_refs", "w").write("5")  # from here on; imports held more for a while
before = peak()
run(queries)
print(peak() - before)
"""


def growth(name, queries, *, leak=False):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, str(queries), "leak" if leak else ""],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return int(done.stdout)


@pytest.mark.parametrize("name", [*LINEAR, "mapped"])
def test_memory_stays(name):
    assert growth(name, 10_000) < 1000


BUDGETED = [
    *(f"{name}:budget=100" for name in KERNEL),
    *(f"kernel-slam:budget=100,removal={how}" for how in ("forgetron", "random", "least-loss")),
    "kernel-slam:budget=100,removal=merging",
    "mapped:maps=['nystrom(rbf(10),50)']",
]


@pytest.mark.parametrize("name", ["mix", "auto", *BUDGETED])
def test_memory_of_slower_ones_stays(name):
    """Mixes measure every query, kernels compare it with all they hold: fewer queries, and a
    tighter limit."""
    assert growth(name, 1_000) < 300


@pytest.mark.parametrize(("queries", "limit"), [(10_000, 1000), (1_000, 300)])
def test_a_learner_that_keeps_its_queries_would_be_found(queries, limit):
    assert growth("pairwise", queries, leak=True) > limit


@pytest.mark.parametrize("name", online_names())
def test_what_is_learnt_has_one_size(name):
    def size(value):
        if hasattr(value, "state"):
            return sum(map(size, value.state().values()))
        if isinstance(value, list):
            return sum(map(size, value))
        return value.nbytes if isinstance(value, np.ndarray) else 0

    learner = make_learner(name).partial_fit(stream("short", seed=0))
    before = size(learner)
    for seed in range(1, 4):
        learner.partial_fit(stream("short", seed=seed))
    assert size(learner) == before > 0
