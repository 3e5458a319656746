"""A journal in one SQLite file: embedded, durable, for any number of processes on one machine."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rankloop.serving.journal.base import (
    ACTIONS,
    EMPTIED,
    SCHEMA,
    AppendResult,
    Journal,
    JournalError,
    Record,
    Row,
    SavedState,
    StoredKey,
    UnreachableError,
    bounded_key,
    find_destroyed_keys,
    join_parts,
    place_rows,
    split_parts,
)
from rankloop.serving.journal.lease import Holder, Lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


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
    """
CREATE TABLE folds (
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (position, number)
) STRICT;
""",
)
# Of new files. A ranking takes a fifth less of the processor's time than with pages of 4 kB.
_PAGE = 16_384
# The follower copies pages from the write-ahead log by `tend`. Only if it is too slow, and the log
# has this many bytes, an append has to do it, which takes longer.
_LONGEST_WAL = 64_000_000
_KNOWN = (  # the last position, and the rows of those keys that are stored
    "SELECT NULL, ifnull(max(position), 0), NULL FROM entries UNION ALL "
    "SELECT key, position, fingerprint FROM entries WHERE key IN (SELECT value FROM json_each(?))"
)
_ROW = "(?,?,?,?,?,?)"
# Rows of one INSERT: any number up to the first, then powers of 2 up to the second, so that there
# are few different statements, and SQLite can reuse those that it has prepared.
_FEW, _AT_ONCE = 32, 256
_LEASE_BYTES = 64
_EMPTIED_AT_ONCE = 5_000  # entries


class SqliteJournal(Journal):
    """Entries in the tables of one file.

    The file is in WAL mode with `synchronous=FULL`: a transaction is on the disk before
    :meth:`append` returns. Writers take turns, so that positions follow the order of commits.

    Parameters
    ----------
    path : the file; it is created if it does not exist. SQLite keeps files with the endings `-wal`
        and `-shm` beside it, and `-lease` says which
        process leads
    busy : seconds to wait for other writers before giving up
    """

    def __init__(self, path: str | os.PathLike[str], busy: float = 30.0) -> None:
        self._path, self._busy = Path(path), busy
        self.where = str(path)
        self._lease = Lease()
        self._lease_file: int | None = None
        self._last = 0  # the last position that this object knows
        with self._faults():
            self._db = sqlite3.connect(
                self._path, timeout=busy, isolation_level=None, check_same_thread=False
            )
            try:
                # WAL: readers and the writer do not wait for each other. FULL: a commit is synced
                # to the disk, otherwise a power failure loses entries that were acknowledged.
                # secure_delete: destroyed keys are overwritten, not only marked as free.
                self._db.execute(f"PRAGMA page_size={_PAGE}")
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=FULL")
                self._db.execute("PRAGMA secure_delete=ON")
                (page,) = self._db.execute("PRAGMA page_size").fetchone()
                self._db.execute(f"PRAGMA wal_autocheckpoint={_LONGEST_WAL // page}")
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

    def append(self, rows: Sequence[Row], keys: Sequence[StoredKey] = ()) -> list[AppendResult]:
        """Append rows in one transaction; see :meth:`Journal.append`.

        Almost always all keys are new, and nobody else has appended. So entries are first inserted
        as if this were true; stored keys are read only if this fails.
        """
        with self._faults():
            try:
                results, new = place_rows(rows, {}, self._last)
                gone = find_destroyed_keys(new)
                if len(new) <= _FEW and not keys and not gone:
                    self._insert(new)  # one statement is a transaction of its own
                else:
                    with self._writing():
                        self._store(new, keys, gone)
            except sqlite3.IntegrityError:
                # A key or a position is taken, and nothing was stored. Under the write lock, nobody
                # else can append between reading the stored keys and inserting.
                with self._writing():
                    results, new = place_rows(rows, *self._find_stored(rows))
                    self._store(new, keys, find_destroyed_keys(new))
        self._last = new[-1].position if new else self._last
        return results

    def _find_stored(self, rows: Sequence[Row]) -> tuple[dict[str, tuple[int, bytes]], int]:
        """Return position and fingerprint of each key that is stored, and the last position."""
        names = [row.key for row in rows if row.key is not None]
        stored = self._db.execute(_KNOWN, (json.dumps(names),))
        known = {key: (position, fingerprint) for key, position, fingerprint in stored}
        last, _ = known.pop(None)
        return known, last

    def _store(self, rows: list[Row], keys: Sequence[StoredKey], gone: Sequence[bytes]) -> None:
        """Insert rows, keep new keys, and destroy those that are gone."""
        self._insert(rows)
        if keys:
            self._db.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", keys)
        if gone:
            wipe = "UPDATE keys SET name = x'', wrapped = x'' WHERE id = ?"
            self._db.executemany(wipe, [(key,) for key in gone])

    def _insert(self, rows: list[Row]) -> None:
        """Insert many rows by few statements.

        For each statement, sqlite3 releases the interpreter lock, and if other threads are busy, it
        gets the lock back late. A bytearray is bound directly; for bytes, sqlite3 would first
        search for an adapter.
        """
        first = 0
        while first < len(rows):
            left = len(rows) - first
            n = left if left <= _FEW else min(1 << (left.bit_length() - 1), _AT_ONCE)
            values = ",".join([_ROW] * n)
            bound = [
                value
                for row in rows[first : first + n]
                for value in (
                    row.position,
                    row.at,
                    row.key,
                    bytearray(row.fingerprint),
                    bytearray(row.body),
                    row.check,
                )
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
            query = "SELECT * FROM entries WHERE key = ?"
            row = self._db.execute(query, (bounded_key(key),)).fetchone()
        return None if row is None else self._record(Row(*row))

    def head(self) -> int:
        """Return the last position; 0 if there is none."""
        with self._faults():
            return int(
                self._db.execute("SELECT ifnull(max(position), 0) FROM entries").fetchone()[0]
            )

    def lead(self) -> bool:
        """Take, or keep, the lease, which is a line in a file."""
        try:
            with self._leasing() as handle:
                held = self._lease.turn(_read_holder(handle))
                if held is not None:
                    _write_holder(handle, held)
        except OSError:  # too many open files, for example; others may have it then
            return False
        return held is not None

    def release(self) -> None:
        """Give the lease up, so that another process can take it at once."""
        with suppress(OSError), self._leasing() as handle:
            held = _read_holder(handle)
            if held.name == self._lease.name:
                _write_holder(handle, Holder("", held.turn + 1))

    @contextmanager
    def _leasing(self) -> Iterator[int]:
        """Yield the open file of the lease, which no other process changes meanwhile."""
        import fcntl

        if self._lease_file is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._lease_file = os.open(f"{self._path}-lease", flags, 0o644)
        # Others hold it for microseconds, unless they are paused just then; so nobody waits for it.
        fcntl.flock(self._lease_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield self._lease_file
        finally:
            fcntl.flock(self._lease_file, fcntl.LOCK_UN)

    def wait(self, seconds: float) -> None:
        """Wait; SQLite cannot notify readers about new entries, so they look regularly."""
        time.sleep(min(seconds, 0.05))

    def save(self, state: SavedState, keep: int = 3) -> None:
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

    def states(self, until: int | None = None) -> list[SavedState]:
        """Return the saved states up to a position, newest first."""
        query = "SELECT * FROM states WHERE position <= ? ORDER BY 1 DESC"
        with self._faults():
            return [SavedState(*row) for row in self._db.execute(query, (until or 2**62,))]

    def save_fold(self, position: int, parts: Sequence[tuple[str, bytes]], keep: int = 2) -> None:
        """Save the features after an entry, in parts, and keep only the newest few."""
        old = (
            "DELETE FROM folds WHERE position NOT IN "
            "(SELECT DISTINCT position FROM folds ORDER BY position DESC LIMIT ?)"
        )
        with self._faults():
            # Others may write between two parts. Until the last part is there, nobody sees any.
            for row in split_parts(-position, parts):
                self._db.execute("INSERT OR REPLACE INTO folds VALUES (?, ?, ?, ?)", row)
            with self._writing():
                self._db.execute("DELETE FROM folds WHERE position = ?", (position,))
                change = "UPDATE folds SET position = ? WHERE position = ?"
                self._db.execute(change, (position, -position))
                self._db.execute(old, (keep,))

    def fold_positions(self, until: int | None = None) -> list[int]:
        """Return the positions of saved features up to a position, newest first."""
        query = (
            "SELECT DISTINCT position FROM folds WHERE position > 0 AND position <= ? "
            "ORDER BY 1 DESC"
        )
        with self._faults():
            return [position for (position,) in self._db.execute(query, (until or 2**62,))]

    def fold_parts(self, position: int) -> Iterator[tuple[str, bytes]]:
        """Yield the parts of saved features, in order."""
        query = "SELECT name, body FROM folds WHERE position = ? ORDER BY number"
        with self._faults():
            yield from join_parts(self._db.execute(query, (position,)))

    def empty(self, until: int, state: int) -> None:
        """Drop the bytes of all entries up to a position; the file's space is used again."""
        change = "UPDATE entries SET body = x'', checksum = ? WHERE position > ? AND position <= ?"
        # Some entries at a time, so that the write-ahead log stays small: a disk may be full.
        for first in range(self.base(), until, _EMPTIED_AT_ONCE):
            with self._faults(), self._writing():
                self._db.execute(change, (EMPTIED, first, min(first + _EMPTIED_AT_ONCE, until)))
            self.tend()
        with self._faults(), self._writing():
            self._db.execute("DELETE FROM states WHERE position < ?", (state,))

    def base(self) -> int:
        """Return the last position whose bytes were dropped; 0 if all are there."""
        # Entries are dropped from the first one on. In a journal that was never compacted, the
        # first row answers, without the scan.
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

    def actions(self, limit: int) -> list[Record]:
        """Return the last actions and changes of settings, oldest first."""
        # All keys that begin with `kind:`, as a range that can use the index: `;` follows `:`.
        kinds = " OR ".join(f"key >= '{kind}:' AND key < '{kind};'" for kind in ACTIONS)
        query = (
            f"SELECT * FROM entries WHERE (key IS NULL OR {kinds}) AND checksum <> {EMPTIED} "
            "ORDER BY position DESC LIMIT ?"
        )
        with self._faults():
            rows = self._db.execute(query, (limit,)).fetchall()
        return [self._record(Row(*row)) for row in reversed(rows)]

    def find_kind(self, prefix: str) -> list[Record]:
        """Return the entries whose keys begin with `prefix:`, in order."""
        query = "SELECT * FROM entries WHERE key >= ? AND key < ? AND checksum <> ? ORDER BY 1"
        with self._faults():
            rows = self._db.execute(query, (f"{prefix}:", f"{prefix};", EMPTIED)).fetchall()
        return [self._record(Row(*row)) for row in rows]

    def find_faults(self) -> list[str]:
        """Return what is wrong with the file, its entries and states; empty if all is well."""
        with self._faults():
            found = [row[0] for row in self._db.execute("PRAGMA integrity_check(10)")]
        faults = [f"{self.where}: {fault}" for fault in found if fault != "ok"]
        return faults or super().find_faults()

    def scrub(self) -> bool:
        """Copy the write-ahead log into the database and truncate it; deleted rows become zeros.

        It waits for nobody: while another process reads, nothing is truncated.
        """
        with self._faults():
            self._db.execute("PRAGMA busy_timeout=0")
            try:
                busy, *_ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._db.execute(f"PRAGMA busy_timeout={int(1000 * self._busy)}")
        return not busy

    def tend(self) -> None:
        """Copy pages from the write-ahead log into the database, while others append to it."""
        with self._faults():
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def another(self) -> Self:
        """Open the same journal again, for another thread."""
        return type(self)(self._path, self._busy)

    def close(self) -> None:
        """Release all resources, including the lease."""
        if self._lease_file is not None:
            self.release()
            os.close(self._lease_file)
            self._lease_file = None
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the file's write lock; commit at the end, or take everything back."""
        # IMMEDIATE takes the lock before the first read. A transaction that reads first and then
        # writes fails at once if another process has written in between, however long `busy` is.
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


def is_led(path: Path, pause: Callable[[float], None] = time.sleep) -> bool:
    """Return whether a service leads the journal of a file now: whether its lease moves."""
    try:
        handle = os.open(f"{path}-lease", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        before = _read_holder(handle)
        pause(1.5)  # three times the pause between two signs of a leader
        return _read_holder(handle) != before
    finally:
        os.close(handle)


def _read_holder(handle: int) -> Holder:
    """Return who leads by the file of the lease; whatever else it contains means nobody."""
    try:
        name, turn = os.pread(handle, _LEASE_BYTES, 0).decode("ascii").split()
        return Holder(name, int(turn)) if name != "-" else Holder("", int(turn))
    except ValueError:
        return Holder()


def _write_holder(handle: int, held: Holder) -> None:
    os.pwrite(handle, f"{held.name or '-'} {held.turn}".ljust(_LEASE_BYTES).encode("ascii"), 0)
