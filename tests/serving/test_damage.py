"""Journals cut, flipped or of something else: errors that name the place, never a wrong state."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from zlib import crc32

import msgspec
import pytest

from rankloop.serving.engine.history import audit_ranking
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.base import JournalError, checksum
from rankloop.serving.journal.entries import encode
from rankloop.serving.journal.ranking_entries import Closed, Observed
from rankloop.serving.journal.sqlite import SqliteJournal
from rankloop.serving.learning.failures import DivergedError
from rankloop.serving.loop import Loop
from rankloop.serving.operations import verify
from rankloop.serving.security.vault import Personal, Vault
from rankloop.serving.threads.queue import Submission

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
    check = checksum(event.position, event.at, body)
    change = "UPDATE entries SET body = ?, checksum = ? WHERE position = ?"
    changed(path, change, body, check, event.position)

    with SqliteJournal(path) as journal, pytest.raises(DivergedError, match="has the digest"):
        replay(journal)


def test_a_missing_entry_is_found(path):
    changed(path, "DELETE FROM entries WHERE position = 12")
    missing = pytest.raises(JournalError, match="entry 12 is missing, the next one is 13")
    with SqliteJournal(path) as journal, missing:
        replay(journal)


def test_a_changed_time_is_found(path):
    changed(path, "UPDATE entries SET at = at + 64 WHERE position = 12")
    with SqliteJournal(path) as journal:
        assert "entry 12 is damaged" in verify(journal, 0).faults[0]


def test_rows_of_older_journals_are_read(path):
    with SqliteJournal(path) as journal:
        rows = journal.rows()
    for row in rows:
        older = crc32(row.body, crc32(row.position.to_bytes(8, "little")))
        changed(path, "UPDATE entries SET checksum = ? WHERE position = ?", older, row.position)
    with SqliteJournal(path) as journal:
        assert verify(journal, 1).faults == []


@pytest.mark.parametrize(
    ("column", "with_key", "words"),
    [
        ("id", False, "the key of its personal fields is missing"),
        ("wrapped", True, "are damaged"),
        ("name", True, "are damaged"),
    ],
)
def test_a_damaged_key_is_found(tmp_path, rng, column, with_key, words):
    vault = Vault([b"m" * 32])
    with Loop("loop", small(), SqliteJournal(tmp_path / "j"), vault=vault) as loop:
        key = vault.key_of("user ada", loop._journal)
        secret = key.encrypt("r", Personal(user="ada"))
        entry = msgspec.structs.replace(ranked(loop, "r", rng), encrypted=secret)
        loop._queue.put(Submission([entry], future := Future(), None, [key.row]))
        future.result(60)
    with SqliteJournal(tmp_path / "j") as journal:
        assert verify(journal, 1, vault if with_key else None).faults == []
    changed(tmp_path / "j", f"UPDATE keys SET {column} = CAST('x' || substr({column}, 2) AS BLOB)")
    with SqliteJournal(tmp_path / "j") as journal:
        (fault,) = verify(journal, 1, vault if with_key else None).faults
    assert fault.startswith("ranking r: ")
    assert words in fault


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
