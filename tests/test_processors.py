"""How many threads we take."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rankloop._utils.processors import processors, threads


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


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system knows no affinity")
def test_only_processors_that_we_may_use_count():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from rankloop._utils.processors import processors; print(processors())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
