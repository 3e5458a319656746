"""Where no thread can be started, or absurdly many are asked for, all is done as ever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rankloop import _core
from rankloop._utils.processors import threads

WORK = """
import hashlib, resource, sys, threading
import numpy as np
import rankloop as rl

if "limited" in sys.argv:
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        pass
    else:
        sys.exit(77)

rng = np.random.default_rng(0)
n = 24_000
X = rng.normal(size=(n, 20)).astype(np.float32)
y = np.clip(np.round(X[:, 0] + rng.normal(size=n)), 0, 3)
data = rl.QueryDataset.from_arrays(X, y, group=[40] * (n // 40))
few = data.select(slice(0, 100))

def told(name, values):
    print(name, hashlib.sha256(np.ascontiguousarray(values)).hexdigest())

for ranker in (rl.SolarI(), rl.rankers.PairwisePerceptron(), rl.NewtonXENDCG()):
    told(type(ranker).__name__, ranker.fit(few).predict(data))
for ranker in (rl.RankSVM(), rl.rankers.RankBoost(rounds=3), rl.LambdaMART(trees=3)):
    told(type(ranker).__name__, ranker.fit(data).predict(data))
told("measures", [result.values for result in rl.evaluate(data, X[:, 1], ["nDCG@10", "AP"])])
ranker.save(sys.argv[1])
told("trees from a file", rl.load(sys.argv[1]).predict(data))
rl.write_letor(few, sys.argv[2])
told("LETOR", rl.read_letor(sys.argv[2]).X)
"""


def run(tmp_path, number, *arguments, before=()):
    """What the work comes to, told to use so many threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": number, "OPENBLAS_NUM_THREADS": "1"}
    files = [tmp_path / "model.rlm", tmp_path / "rows.txt"]
    command = [*before, sys.executable, "-c", WORK, *map(str, files), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode == 77:
        pytest.skip("threads cannot be forbidden here")
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return run(tmp_path_factory.mktemp("usual"), "2")


@pytest.mark.slow
def test_no_thread_can_be_started(tmp_path, usual):
    before = []
    if os.getuid() == 0:  # no limit holds for root: be nobody, who may read all files
        if shutil.which("setpriv") is None:
            pytest.skip("there is no setpriv here")
        caps = "+dac_override,+dac_read_search"
        before = ["setpriv", "--reuid=65534", f"--inh-caps={caps}", f"--ambient-caps={caps}"]
    assert run(tmp_path, "4", "limited", before=before) == usual


@pytest.mark.slow
def test_a_hundred_thousand_threads_are_asked_for(tmp_path, usual):
    assert run(tmp_path, "100000") == usual


@pytest.mark.parametrize(
    ("asked", "found"), [("100000", 256), ("1" * 5000, 256), ("0", None), ("-3", None)]
)
def test_odd_numbers_of_threads(monkeypatch, asked, found):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    usual = threads()
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert threads() == (usual if found is None else found)


def test_threads_that_can_be_started():
    assert _core.startable_threads(1) == 1
    assert 1 <= _core.startable_threads(9) <= 9
    for wrong in (0, 1025):
        with pytest.raises(ValueError, match="1 to 1024"):
            _core.startable_threads(wrong)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_loops_where_threads_run_out_or_fail(tmp_path):
    """Of the headers alone, with a system that gives so many threads and no more."""
    program, sources = tmp_path / "threads", Path(__file__).parents[2] / "cpp"
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{sources}"]
    subprocess.run(
        ["g++", *flags, str(sources / "check/threads.cpp"), "-o", str(program)], check=True
    )
    for _ in range(5):
        done = subprocess.run([str(program)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")
