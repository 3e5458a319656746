"""What is learnt does not depend on what memory held before."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from rankloop.data.dataset import QueryDataset
from rankloop.rankers.registry import make_ranker, online_names

rng = np.random.default_rng(3)
sizes = [700, 9, 130, 1, 837]  # tiles of pairs that are not full, short lists, and some between
X = rng.normal(size=(sum(sizes), 21)).astype(np.float32)
data = QueryDataset.from_arrays(X, rng.integers(-1, 4, len(X)), group=sizes)
np.ones(1 << 22)  # freed at once: later arrays take its place
for name in (*online_names(), "solar-ii:covariance=diagonal"):
    ranker = make_ranker(name)
    for rows in (data, data.to_sparse()):
        if rows is data or ranker._is_sparse_taken():
            print(name, ranker.fit(rows).digest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="MALLOC_PERTURB_ is glibc's")
def test_new_memory_may_hold_anything():
    def learn(perturb):
        # glibc fills freed memory with this byte: 255 makes every float in it a NaN. It keeps such
        # memory, and takes large arrays from it, too.
        env = {
            **os.environ,
            "MALLOC_PERTURB_": perturb,
            "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
            "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
        }
        return subprocess.check_output([sys.executable, "-c", PROGRAM], env=env, text=True)

    digests = learn("0")
    assert len(digests.splitlines()) > 30
    assert learn("255") == digests
