"""What a stream teaches is the same bits on every processor, with any threads and libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__

from .golden import digests

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden.json").read_text())
NO_VECTORS = " ".join(__cpu_dispatch__)  # their names differ from one NumPy to the next


def elsewhere(*command, queries=(), **environment):
    """Compute the digests in another process."""
    # What this machine was told of its processor does not hold for another one.
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    run = subprocess.run(
        [*command, sys.executable, "-W", "ignore", str(HERE / "golden.py"), *map(str, queries)],
        env={**plain, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
def test_digests_are_those_expected():
    assert digests() == GOLDEN


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"OMP_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"},
        {"OMP_NUM_THREADS": "3", "NPY_DISABLE_CPU_FEATURES": NO_VECTORS},
    ],
    ids=["one thread", "plain NumPy"],
)
def test_threads_and_libraries_change_nothing(environment):
    assert elsewhere(**environment) == GOLDEN


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["Nehalem", "Haswell"])
def test_another_processor_changes_nothing(processor):
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-x86_64 is not installed (Debian: qemu-user)")
    if os.uname().machine != "x86_64":
        pytest.skip("the emulator runs this Python on x86-64 only")
    few = 8  # an emulator is slow: as many as every ranker needs to drop what it no longer holds
    assert elsewhere(emulator, "-cpu", processor, queries=[few]) == digests(few)
