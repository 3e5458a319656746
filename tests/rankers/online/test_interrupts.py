"""Ctrl-C ends a long call, and the ranker is as it was before it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import rankloop as rl

SCRIPT = """
import numpy as np, rankloop as rl
rng = np.random.default_rng(0)
X, y = rng.random((400 * 500, 30), np.float32), rng.integers(0, 3, 400 * 500)
data = rl.QueryDataset.from_arrays(X, y, group=[500] * 400)
ranker = rl.SolarII().fit(data.select(slice(0, 1)))
before = ranker.digest()
print("ready", flush=True)
try:
    ranker.partial_fit(data)
except KeyboardInterrupt:
    print("unchanged" if ranker.digest() == before else "changed")
else:
    print("done")
"""


@pytest.mark.slow
def test_an_interrupt_ends_a_long_call():
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate()[0] == "unchanged\n"


@pytest.mark.parametrize("name", ["solar-ii", "mix"])
def test_signals_are_seen_inside_one_long_list(name, rng):
    """A signal that nobody looks for is handled once, after the call; its repeats are lost."""
    X, y = rng.random((2000, 20), np.float32), rng.integers(0, 3, 2000)
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(None))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        ranker = rl.make_ranker(name)
        start = len(seen)
        ranker.learn(X, y)
        found = len(seen) - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert found > 2
