"""A journal in one SQLite file: embedded, durable, for any number of processes on one machine."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rankloop.serving.journal.base import (
    ACTS,
    EMPTIED,
    SCHEMA,
    Journal,
    JournalError,
    Outcome,
    Record,
    Row,
    Saved,
    Sealed,
    Stored,
    StoredKey,
    UnreachableError,
    destroyed,
    new_rows,
    sealed,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from rankloop.serving.journal.base import Draft

_STEPS = (  # what each version of the schema adds to the one before
    """
CREATE TABLE entries (
    position INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    key TEXT UNIQUE,
    fingerprint BLOB NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE states (position INTEGER PRIMARY KEY, digest TEXT NOT NULL, body BLOB NOT NULL) STRICT;
""",
    """
CREATE TABLE keys (id BLOB PRIMARY KEY, name BLOB NOT NULL, wrapped BLOB NOT NULL) STRICT;
CREATE INDEX keys_by_name ON keys (name);
""",
)
_LONGEST_WAL = 16_384  # pages, 64 MB: then whoever appends copies them; before, :meth:`tend` does
_KNOWN = (  # those of known keys, and the last position
    "SELECT NULL, ifnull(max(position), 0), NULL FROM entries UNION ALL "
    "SELECT key, position, fingerprint FROM entries WHERE key IN (SELECT value FROM json_each(?))"
)
_ROW = "(?,?,?,?,?,?)"
_FEW, _AT_ONCE = 32, 256  # rows that one statement inserts: as many as there are, or a power of 2


class SqliteJournal(Journal):
    """Entries in the tables of one file.

    The file is in WAL mode with `synchronous=FULL`: a transaction is on the disk before
    :meth:`append` returns. Writers take turns, so that positions follow the order of commits.

    Parameters
    ----------
    path : the file; it is created if it does not exist. SQLite keeps files with the endings `-wal`
        and `-shm` beside it, and the process with the lease locks `-lease`
    busy : seconds to wait for other writers before giving up
    """

    def __init__(self, path: str | os.PathLike[str], busy: float = 30.0) -> None:
        self._path, self._busy = Path(path), busy
        self.where = str(path)
        self._lease: int | None = None
        self._last = 0  # the last position that this object knows
        with self._faults():
            self._db = sqlite3.connect(
                self._path, timeout=busy, isolation_level=None, check_same_thread=False
            )
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=FULL")
                self._db.execute("PRAGMA secure_delete=ON")
                self._db.execute(f"PRAGMA wal_autocheckpoint={_LONGEST_WAL}")
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        with self._writing():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA:
                raise JournalError(
                    f"{self.where}: its schema is version {version}, but this Rankloop reads up to "
                    f"{SCHEMA}; use a newer Rankloop"
                )
            tables = "SELECT count(*) FROM sqlite_master"
            if version == 0 and self._db.execute(tables).fetchone()[0]:
                raise JournalError(
                    f"{self.where}: this is an SQLite database, but not a journal; "
                    "give another file"
                )
            for step in _STEPS[version:]:
                for statement in filter(str.strip, step.split(";")):
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={SCHEMA}")

    def append(self, drafts: Sequence[Draft], keys: Sequence[StoredKey] = ()) -> list[Outcome]:
        """Append entries in one transaction; see :meth:`Journal.append`.

        Almost always all keys are new, and nobody else has appended. So entries are first inserted
        as if this were true; stored keys are read only if this fails.
        """
        new = sealed(drafts)
        with self._faults():
            try:
                outcomes, rows = new_rows(new, {}, self._last)
                gone = destroyed(drafts, outcomes)
                if len(rows) <= _FEW and not keys and not gone:
                    self._insert(rows)  # one statement is a transaction of its own
                else:
                    with self._writing():
                        self._store(rows, keys, gone)
            except sqlite3.IntegrityError:
                with self._writing():
                    outcomes, rows = new_rows(new, *self._known(new))
                    self._store(rows, keys, destroyed(drafts, outcomes))
        self._last = rows[-1][0] if rows else self._last
        return outcomes

    def _known(self, new: Sequence[Sealed]) -> tuple[dict[str, tuple[int, bytes]], int]:
        """Return position and fingerprint of each key that is stored, and the last position."""
        names = [key for _, key, _, _ in new if key is not None]
        found = self._db.execute(_KNOWN, (json.dumps(names),))
        known = {key: (position, fingerprint) for key, position, fingerprint in found}
        last, _ = known.pop(None)
        return known, last

    def _store(self, rows: list[Stored], keys: Sequence[StoredKey], gone: Sequence[bytes]) -> None:
        """Insert rows, keep new keys, and destroy those that are gone."""
        self._insert(rows)
        if keys:
            self._db.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", keys)
        if gone:
            wipe = "UPDATE keys SET name = x'', wrapped = x'' WHERE id = ?"
            self._db.executemany(wipe, [(key,) for key in gone])

    def _insert(self, rows: list[Stored]) -> None:
        """Insert many rows by few statements.

        Each step of a statement gives the interpreter away, and a busy thread gives it back late.
        A bytearray is bound as it is, while sqlite3 looks for an adapter of bytes.
        """
        first = 0
        while first < len(rows):
            left = len(rows) - first  # few texts to prepare
            n = left if left <= _FEW else min(1 << (left.bit_length() - 1), _AT_ONCE)
            values = ",".join([_ROW] * n)
            bound = [
                value
                for position, at, key, fingerprint, body, check in rows[first : first + n]
                for value in (position, at, key, bytearray(fingerprint), bytearray(body), check)
            ]
            self._db.execute(f"INSERT INTO entries VALUES {values}", bound)
            first += n

    def rows(self, after: int = 0, until: int | None = None, limit: int = 1000) -> list[Row]:
        """Return rows in order; see :meth:`Journal.rows`."""
        query = "SELECT * FROM entries WHERE position > ? AND position <= ? ORDER BY 1 LIMIT ?"
        last = 2**62 if until is None else until
        with self._faults():
            return [Row(*row) for row in self._db.execute(query, (after, last, limit))]

    def find(self, key: str) -> Record | None:
        """Return the entry of a key, or None."""
        with self._faults():
            row = self._db.execute("SELECT * FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._record(Row(*row))

    def head(self) -> int:
        """Return the last position; 0 if there is none."""
        with self._faults():
            return int(
                self._db.execute("SELECT ifnull(max(position), 0) FROM entries").fetchone()[0]
            )

    def lead(self) -> bool:
        """Take, or keep, the lease: a lock on a file, which ends with the process."""
        import fcntl
        import os

        if self._lease is None:
            handle = os.open(f"{self._path}-lease", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(handle)
                return False
            self._lease = handle
        return True

    def wait(self, seconds: float) -> None:
        """Wait; SQLite cannot notify readers about new entries, so they look regularly."""
        time.sleep(min(seconds, 0.05))

    def save(self, state: Saved, keep: int = 3) -> None:
        """Save a state with the entries, and keep only the newest few states."""
        old = (
            "DELETE FROM states WHERE position NOT IN "
            "(SELECT position FROM states ORDER BY position DESC LIMIT ?) "
            "AND (? = 0 OR position > (SELECT min(position) FROM states))"
        )
        base = self.base()
        with self._faults(), self._writing():
            self._db.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?)", state)
            self._db.execute(old, (keep, base))

    def saved(self, until: int | None = None) -> list[Saved]:
        """Return the saved states, newest first, none after a position."""
        query = "SELECT * FROM states WHERE position <= ? ORDER BY 1 DESC"
        with self._faults():
            return [Saved(*row) for row in self._db.execute(query, (until or 2**62,))]

    def empty(self, until: int, state: int) -> None:
        """Drop the bytes of all entries up to a position; the file's space is used again."""
        change = "UPDATE entries SET body = x'', checksum = ? WHERE position > ? AND position <= ?"
        base = self.base()
        with self._faults(), self._writing():
            self._db.execute(change, (EMPTIED, base, until))
            self._db.execute("DELETE FROM states WHERE position < ?", (state,))

    def base(self) -> int:
        """Return the last position whose bytes were dropped; 0 if all are there."""
        query = "SELECT position FROM entries WHERE checksum = ? ORDER BY position DESC LIMIT 1"
        with self._faults():
            first = self._db.execute("SELECT checksum FROM entries WHERE position = 1").fetchone()
            if first is None or first[0] != EMPTIED:
                return 0
            return int(self._db.execute(query, (EMPTIED,)).fetchone()[0])

    def key(self, key_id: bytes | None = None) -> StoredKey | None:
        """Return a key, or any key that is not destroyed; None if there is none."""
        query = "SELECT * FROM keys WHERE iif(?1 IS NULL, wrapped <> x'', id = ?1) LIMIT 1"
        with self._faults():
            row = self._db.execute(query, (key_id,)).fetchone()
        return None if row is None else StoredKey(*row)

    def keys_of(self, names: Sequence[bytes]) -> list[StoredKey]:
        """Return all keys under any of these names."""
        marks = ",".join("?" * len(names))
        query = f"SELECT * FROM keys WHERE name IN ({marks}) ORDER BY rowid"
        with self._faults():
            return [StoredKey(*row) for row in self._db.execute(query, names)]

    def acts(self, limit: int) -> list[Record]:
        """Return the last actions and changes of settings, oldest first."""
        kinds = " OR ".join(f"key >= '{kind}:' AND key < '{kind};'" for kind in ACTS)
        query = (
            f"SELECT * FROM entries WHERE (key IS NULL OR {kinds}) AND checksum <> {EMPTIED} "
            "ORDER BY position DESC LIMIT ?"
        )
        with self._faults():
            rows = self._db.execute(query, (limit,)).fetchall()
        return [self._record(Row(*row)) for row in reversed(rows)]

    def scrub(self) -> None:
        """Copy the write-ahead log into the database and truncate it; deleted rows become zeros."""
        with self._faults():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def tend(self) -> None:
        """Copy pages from the write-ahead log into the database, while others append to it."""
        with self._faults():
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def another(self) -> Self:
        """Open the same journal again, for another thread."""
        return type(self)(self._path, self._busy)

    def close(self) -> None:
        """Release all resources, including the lease."""
        import os

        self._db.close()
        if self._lease is not None:
            os.close(self._lease)
            self._lease = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the file's write lock; commit at the end, or take everything back."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            passing = isinstance(error, sqlite3.OperationalError)
            kind = UnreachableError if passing else JournalError
            raise kind(f"{self.where}: {error}") from error
