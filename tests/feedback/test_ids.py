"""Ids are new in every process, also after a fork."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rankloop.feedback.ids import new_id

FORK = """
import os
from rankloop.feedback.ids import new_id
new_id()  # random numbers for many ids are fetched together
child = os.fork()
if child:
    os.waitpid(child, 0)  # one line after the other
print(new_id()[19:], flush=True)
"""


def test_ids_are_all_different():
    ids = [new_id() for _ in range(3000)]
    assert len(set(ids)) == len(ids)
    assert len({name[19:] for name in ids}) == len(ids)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_fork_has_other_random_numbers():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, check=True, text=True)
    first, second = done.stdout.split()
    assert first != second
