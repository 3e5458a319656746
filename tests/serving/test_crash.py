"""A service that is killed under load, and a disk that forgets what was not synced."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.crash import crash

from rankloop.serving.journal.sqlite import SqliteJournal

HERE = Path(__file__).parent

WRITER = """
import sys
from rankloop.serving.journal.ranking_entries import Observed
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.sqlite import SqliteJournal

journal = SqliteJournal(sys.argv[1])
if sys.argv[2] == "OFF":
    journal._db.execute("PRAGMA synchronous=OFF")
for n in range(100_000):
    journal.append([make_row(Observed(f"e{n}", "r", "a" * 50), n)])
    print(n, flush=True)
"""


def test_kill_under_load(address, tmp_path):
    found = crash(address[0], tmp_path, times=1, clients=3, seconds=0.6, least=20)
    assert found["acknowledged"] > 20
    assert found["examples"] > 0
    assert (found["lost"], found["doubled"], found["diverged"]) == (0, 0, 0)


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """A library that takes back, at SIGUSR1, all that was written and not synced."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and Linux")
    library = tmp_path_factory.mktemp("shim") / "unsynced.so"
    source = str(HERE / "unsynced.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("synchronous", ["FULL", "OFF"])
def test_what_was_acknowledged_is_synced(tmp_path, shim, synchronous):
    """Power fails: with synchronous=FULL nothing acknowledged is lost, without it much is."""
    path = tmp_path / "j"
    SqliteJournal(path).close()
    environment = os.environ | {"LD_PRELOAD": str(shim), "UNSYNCED": str(path)}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), synchronous],
        stdout=subprocess.PIPE,
        env=environment,
        encoding="utf-8",
    )
    acknowledged = -1
    for line in writer.stdout:
        acknowledged = int(line)
        if acknowledged == 150:
            writer.send_signal(signal.SIGUSR1)
            break
    acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])
    writer.stdout.close()
    assert writer.wait(120) == 9
    with SqliteJournal(path) as journal:
        kept = journal.head()
        assert len(journal.read(limit=10**6)) == kept
    if synchronous == "FULL":
        assert kept >= acknowledged + 1
    else:
        assert kept < acknowledged + 1  # else this test would prove nothing
