"""How many threads we take."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rankloop._utils.processors import (
    container_limit,
    passive_waiting,
    processors,
    threads,
)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        *[("3", 3), ("4,2", 4), ("007", 7), ("100000", 256), ("9" * 5000, 256)],
        *[("0", None), ("", None), ("many", None), ("-1", None)],
    ],
)
def test_omp_num_threads_is_followed(monkeypatch, asked, found):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert threads() == (min(processors(), 8) if found is None else found)


@pytest.mark.parametrize("asked", ["1", "5"])
def test_rankers_learn_on_as_many_threads_as_asked(asked):
    code = (
        "import rankloop as rl; from rankloop import _core; rl.Auto();"
        "print(_core.limit_threads(0), _core.limit_threads(3))"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": asked}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == f"{asked} 1\n"  # 0 threads cannot learn: one can


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system knows no affinity")
def test_only_processors_that_we_may_use_count():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from rankloop._utils.processors import processors; print(processors())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("own", "files", "found"),
    [
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),  # version 2, from inside a container
        ("0::/\n", {"cpu.max": "max 100000\n"}, 2**31),
        ("0::/a/b\n", {"a/cpu.max": "50000 100000\n", "a/b/cpu.max": "max 100000\n"}, 1),
        (
            "4:cpu,cpuacct:/docker/x\n3:memory:/y\n",
            {"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"},
            4,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2**31),
        ("0::/\n", {"cpu.max": "nonsense"}, 2**31),
        (None, {}, 2**31),
    ],
)
def test_the_limit_of_a_container(tmp_path, own, files, found):
    groups, of_process = tmp_path / "groups", tmp_path / "own"
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    if own is not None:
        of_process.write_text(own)
    assert container_limit(groups, of_process) == found


def test_threads_wait_passively_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    with passive_waiting():
        assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert "OMP_WAIT_POLICY" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    with passive_waiting():
        assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
