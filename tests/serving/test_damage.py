"""Journals cut, flipped or of something else: errors that name the place, never a wrong state."""

from __future__ import annotations

import sqlite3

import msgspec
import pytest

from rankloop.serving.engine.history import audit_ranking
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.base import JournalError, checksum
from rankloop.serving.journal.entries import Closed, Observed, encode
from rankloop.serving.journal.sqlite import SqliteJournal
from rankloop.serving.learning.failures import DivergedError
from rankloop.serving.loop import Loop

from .tools import click, ranked, small


@pytest.fixture
def path(tmp_path, rng):
    where = tmp_path / "j"
    with Loop("loop", small(check_every=5), SqliteJournal(where)) as loop:
        for n in range(20):
            entry = ranked(loop, f"r{n}", rng)
            loop.append(entry, click(f"e{n}", entry), Closed(entry.id))
            loop.settle()
    return where


def changed(path, statement, *values):
    database = sqlite3.connect(path)
    with database:
        database.execute(statement, values)
    database.close()


def test_a_whole_journal_replays(path):
    with SqliteJournal(path) as journal:
        assert replay(journal).totals.examples > 10
        assert audit_ranking(journal, "r7") == []


@pytest.mark.slow
@pytest.mark.parametrize("position", [1, 2, 17, 40])
def test_a_flipped_bit_is_found(path, position):
    with SqliteJournal(path) as journal:
        body = bytearray(journal.rows(position - 1, limit=1)[0].body)
    body[len(body) // 2] ^= 4
    changed(path, "UPDATE entries SET body = ? WHERE position = ?", bytes(body), position)
    damaged = pytest.raises(JournalError, match=f"entry {position} is damaged")
    with SqliteJournal(path) as journal, damaged:
        replay(journal)


def test_a_changed_entry_is_found_by_the_digests(path):
    """Somebody who changes an entry and its checksum too is found out by what was learnt."""
    with SqliteJournal(path) as journal:
        event = next(r for r in journal.scan() if r.entry.key == "event:e2")
        ranking = journal.find("ranking:r2").entry
    other = next(item for item in ranking.items if item != event.entry.item)
    body = encode(Observed("e2", "r2", other))
    changed(
        path,
        "UPDATE entries SET body = ?, checksum = ? WHERE position = ?",
        body,
        checksum(event.position, body),
        event.position,
    )

    with SqliteJournal(path) as journal, pytest.raises(DivergedError, match="has the digest"):
        replay(journal)


def test_a_missing_entry_is_found(path):
    changed(path, "DELETE FROM entries WHERE position = 12")
    missing = pytest.raises(JournalError, match="entry 12 is missing, the next one is 13")
    with SqliteJournal(path) as journal, missing:
        replay(journal)


def test_a_truncated_file_is_found(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(JournalError, match=r"j: .*malformed"), SqliteJournal(path) as journal:
        replay(journal)


@pytest.mark.parametrize("content", [b"hello, I am a text file" * 100, b"\0" * 5000])
def test_a_file_of_something_else(tmp_path, content):
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="not a database"):
        SqliteJournal(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else(tmp_path):
    changed(tmp_path / "j", "CREATE TABLE cats (name)")
    with pytest.raises(JournalError, match="but not a journal"):
        SqliteJournal(tmp_path / "j")


def test_a_newer_journal_is_refused(path):
    changed(path, "PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="version 99, but this Rankloop reads up to 3"):
        SqliteJournal(path)


def test_an_audit_finds_what_was_not_shown_by_the_model(path, rng):
    with Loop("loop", small(check_every=5), SqliteJournal(path)) as loop:
        entry = ranked(loop, "new", rng)
        loop.append(msgspec.structs.replace(entry, order=entry.order[::-1]))
        with loop.reader() as journal:
            assert "was shown" in audit_ranking(journal, "new")[0]
