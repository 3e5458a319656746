"""Backups of a running loop, the way back, and damage that a verification finds."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rankloop.exceptions import DataError
from rankloop.serving import operations as do
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.base import UnreachableError
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed
from rankloop.serving.loop import Loop
from rankloop.serving.service import Service
from rankloop.serving.settings.service import Settings

from .tools import click, ranked, running, small


def live(loop, rng, names):
    for name in names:
        entry = ranked(loop, name, rng)
        loop.append(entry, click(f"e{name}", entry), Closed(name))
        loop.settle()


@pytest.mark.slow
def test_a_backup_of_a_running_loop_comes_back_without_what_followed(tmp_path, rng):
    place, copy = str(tmp_path / "j"), tmp_path / "copy"
    loop = Loop("loop", small(), open_journal(place, "loop"))
    live(loop, rng, "abc")
    head = do.backup(place, copy)
    with open_journal(place, "loop") as journal:
        digest = load_engine(journal, until=head).digest()
    assert list(tmp_path.glob("copy*")) == [copy]
    with pytest.raises(DataError, match="already exists"):
        do.backup(place, copy)
    with pytest.raises(DataError, match="stop all services first"):
        do.restore(copy, place, 0.0)
    live(loop, rng, "de")
    loop.stop()
    wal = Path(f"{place}-wal")
    wal.write_bytes(b"a log that was left behind")
    assert do.restore(copy, place, 0.0, lambda _: None) == (head, tmp_path / "j.19700101-000000")
    assert not wal.exists()
    with Loop("loop", small(), open_journal(place, "loop")) as loop:
        assert loop.inspect(Engine.digest) == digest
        live(loop, rng, "d")
    with open_journal(place, "loop") as journal:
        assert do.verify(journal).faults == []


def test_a_damaged_copy_replaces_nothing(tmp_path, rng):
    place, copy = tmp_path / "j", tmp_path / "copy"
    with Loop("loop", small(), open_journal(str(place), "loop")) as loop:
        live(loop, rng, "ab")
    do.backup(str(place), copy)
    before = place.read_bytes()
    with closing(sqlite3.connect(copy)) as db:
        db.execute("UPDATE entries SET fingerprint = x'00' WHERE position = 3")
        db.commit()
    with pytest.raises(DataError, match="entry 3 is damaged: its key or its fingerprint"):
        do.restore(copy, str(place), 0.0, lambda _: None)
    assert place.read_bytes() == before
    with pytest.raises(DataError, match="there is no such journal"):
        do.backup(str(tmp_path / "none"), tmp_path / "x")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET key = 'event:other' WHERE position = 3",
        "UPDATE entries SET fingerprint = x'00' WHERE position = 4",
        "UPDATE entries SET body = CAST(x'00' || substr(body, 2) AS BLOB) WHERE position = 2",
        "UPDATE entries SET checksum = checksum + 1 WHERE position = 5",
        "UPDATE states SET body = CAST(x'00' || substr(body, 2) AS BLOB)",
        "UPDATE states SET digest = 'x'",
    ],
)
def test_a_verification_covers_entries_and_states(tmp_path, rng, damage):
    place = str(tmp_path / "j")
    with Loop("loop", small(), open_journal(place, "loop")) as loop:
        live(loop, rng, "ab")
    with open_journal(place, "loop") as journal:
        assert do.verify(journal).faults == []
    with closing(sqlite3.connect(place)) as db:
        db.execute(damage)
        db.commit()
    with open_journal(place, "loop") as journal:
        assert "damaged" in do.verify(journal).faults[0]


def test_a_state_from_after_the_last_entry_is_not_used(tmp_path, rng):
    """As after somebody removed the last entries: what follows must be learnt again."""
    place = str(tmp_path / "j")
    with Loop("loop", small(), open_journal(place, "loop")) as loop:
        live(loop, rng, "abc")
    with closing(sqlite3.connect(place)) as db:
        db.execute("DELETE FROM entries WHERE position > 7")
        db.commit()
    with open_journal(place, "loop") as journal:
        assert load_engine(journal).position == 7
    with Loop("loop", small(), open_journal(place, "loop")) as loop:
        live(loop, rng, "xy")
        assert loop.published.totals.examples == 4


def test_readiness_says_that_nothing_can_be_stored(tmp_path, rng):
    service = Service.start(Settings({"shop": small(journal=str(tmp_path / "j"))}))
    loop = service.loops["shop"]
    store = loop._writer._journal
    append = store.append

    def fail(rows, keys=()):
        raise UnreachableError(errno.ENOSPC, "database or disk is full")

    with running(service) as client:
        store.append = fail
        with pytest.raises(UnreachableError):
            loop.append(ranked(loop, "r", rng))
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "disk is full" in answer.json()["loops"]["shop"]
        store.append = append
        loop.append(ranked(loop, "r", rng))
        assert client.get("/readyz").status_code == 200
    service.stop()
