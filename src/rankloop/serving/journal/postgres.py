"""A journal in PostgreSQL: for services of several processes and machines."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from rankloop.serving.journal import session
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
from rankloop.serving.journal.entries import digest_of
from rankloop.serving.journal.lease import Holder, Lease
from rankloop.serving.journal.session import LONG, PatientConnection

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# What each version of the schema adds to the one before. EXTERNAL: large features are compressed
# already, so that PostgreSQL need not try.
_STEPS = (
    """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE {schema}.about (version integer NOT NULL);
CREATE TABLE {schema}.entries (
    position bigint PRIMARY KEY,
    at bigint NOT NULL,
    key text UNIQUE,
    fingerprint bytea NOT NULL,
    body bytea NOT NULL,
    checksum bigint NOT NULL
);
ALTER TABLE {schema}.entries ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE {schema}.states (
    position bigint PRIMARY KEY, digest text NOT NULL, body bytea NOT NULL
);
INSERT INTO {schema}.about VALUES (1);
""",
    """
CREATE TABLE {schema}.keys (
    number bigint GENERATED ALWAYS AS IDENTITY,
    id bytea PRIMARY KEY,
    name bytea NOT NULL,
    wrapped bytea NOT NULL
);
CREATE INDEX ON {schema}.keys (name);
UPDATE {schema}.about SET version = 2;
""",
    """
CREATE TABLE {schema}.lease (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), holder text NOT NULL, turn bigint NOT NULL
);
INSERT INTO {schema}.lease (holder, turn) VALUES ('', 0);
CREATE INDEX ON {schema}.entries (position) WHERE starts_with(key, 'quarantined:');
CREATE TABLE {schema}.folds (
    position bigint NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (position, number)
);
UPDATE {schema}.about SET version = 3;
""",
)


class PostgresJournal(Journal):
    """Entries in the tables of one schema.

    An appending transaction first takes an advisory lock, then finds the last position, so that
    positions follow the order of commits without a gap. Followers are woken by `NOTIFY`, and
    also look regularly. If a connection breaks, the next call opens a new one; the entries of the
    broken call are then stored completely or not at all, and appending them again is safe.

    Parameters
    ----------
    address : such as `postgresql://user@host/database`; give passwords in the environment
    name : the name of the loop; the schema is called `rankloop_NAME`
    """

    def __init__(self, address: str, name: str = "loop") -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
            raise JournalError(
                f"the loop's name {name!r} cannot be the name of a schema in PostgreSQL; use at "
                "most 41 lower case letters, digits and _, beginning with a letter"
            )
        self._address, self._name = address, name
        self._schema = sql.Identifier(f"rankloop_{name}")
        known = _parts(address)
        place = "/".join(str(known[part]) for part in ("host", "dbname") if known.get(part))
        self.where = f"postgresql://{place} loop {name}"
        self._lock = int.from_bytes(digest_of(b"rankloop", name.encode())[:7], "little")
        self._db: PatientConnection | None = None
        self._lease = Lease()
        self._leader: PatientConnection | None = None
        self._listener: PatientConnection | None = None
        self._prepare()

    def _connect(self) -> PatientConnection:
        return PatientConnection.open(self._address, f"rankloop {self._name}")

    def _prepare(self) -> None:
        with self._running(LONG) as db:
            setting = db.execute("SHOW synchronous_commit").fetchone()
            if setting is not None and setting[0] == "off":
                raise JournalError(
                    f"{self.where}: synchronous_commit is off, so acknowledged entries may be "
                    "lost; set it to on, for the role or in the address: "
                    "?options=-csynchronous_commit%3Don"
                )
            with db.transaction():
                # Of several services that start at once, one creates the tables, the others wait.
                self._lock_writers(db)
                version = self._version(db)
                if version > SCHEMA:
                    raise JournalError(
                        f"{self.where}: its schema is version {version}, but this Rankloop reads "
                        "up to "
                        f"{SCHEMA}; use a newer Rankloop"
                    )
                for step in _STEPS[version:]:
                    db.execute(self._sql(step))

    def _version(self, db: PatientConnection) -> int:
        table = db.execute("SELECT to_regclass(%s)", (f"rankloop_{self._name}.about",)).fetchone()
        if table is None or table[0] is None:
            return 0
        row = db.execute(self._sql("SELECT version FROM {schema}.about")).fetchone()
        return 0 if row is None else int(row[0])

    def append(self, rows: Sequence[Row], keys: Sequence[StoredKey] = ()) -> list[AppendResult]:
        """Append rows in one transaction; see :meth:`Journal.append`."""
        names = [row.key for row in rows if row.key is not None]
        known_keys = "SELECT key, position, fingerprint FROM {schema}.entries WHERE key = ANY(%s)"
        insert = "INSERT INTO {schema}.entries VALUES (%s, %s, %s, %s, %s, %s)"
        new_key = (
            "INSERT INTO {schema}.keys (id, name, wrapped) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING"
        )
        with self._running() as db, db.transaction():
            # A statement sees what was committed before it began. So the lock has a statement of
            # its own, and the next one sees all entries of whoever had the lock before.
            self._lock_writers(db)
            stored = db.execute(self._sql(known_keys), (names,), binary=True)
            known = {key: (position, bytes(print_)) for key, position, print_ in stored}
            results, new = place_rows(rows, known, self._last(db))
            if new:
                with db.cursor() as cursor:
                    cursor.executemany(
                        self._sql(insert), [msgspec.structs.astuple(row) for row in new]
                    )
                # It is sent at the commit, so that whoever it wakes finds the entries.
                db.execute(self._sql("NOTIFY {schema}"))
            if keys:
                with db.cursor() as cursor:
                    cursor.executemany(self._sql(new_key), keys)
            if gone := find_destroyed_keys(new):
                wipe = "UPDATE {schema}.keys SET name = '', wrapped = '' WHERE id = ANY(%s)"
                db.execute(self._sql(wipe), (gone,))
        return results

    def rows(self, after: int = 0, until: int | None = None, limit: int = 1000) -> list[Row]:
        """Return rows in order; see :meth:`Journal.rows`."""
        query = (
            "SELECT position, at, key, fingerprint, body, checksum FROM {schema}.entries "
            "WHERE position > %s AND position <= %s ORDER BY position LIMIT %s"
        )
        last = 2**62 if until is None else until
        with self._running() as db:
            rows = db.execute(self._sql(query), (after, last, limit), binary=True)
            return [Row(*row) for row in rows]

    def find(self, key: str) -> Record | None:
        """Return the entry of a key, or None."""
        query = (
            "SELECT position, at, key, fingerprint, body, checksum FROM {schema}.entries "
            "WHERE key = %s"
        )
        with self._running() as db:
            row = db.execute(self._sql(query), (bounded_key(key),), binary=True).fetchone()
        return None if row is None else self._record(Row(*row))

    def head(self) -> int:
        """Return the last position; 0 if there is none."""
        with self._running() as db:
            return self._last(db)

    def _last(self, db: PatientConnection) -> int:
        query = self._sql("SELECT coalesce(max(position), 0) FROM {schema}.entries")
        row = db.execute(query).fetchone()
        return 0 if row is None else int(row[0])

    def lead(self) -> bool:
        """Take, or keep, the lease, which is the row of a table."""
        read = "SELECT holder, turn FROM {schema}.lease FOR UPDATE"
        try:
            with self._leasing() as db:
                row = db.execute(self._sql(read)).fetchone()
                held = self._lease.turn(Holder(*row) if row is not None else Holder())
                if held is not None:
                    write = "UPDATE {schema}.lease SET holder = %s, turn = %s"
                    db.execute(self._sql(write), held)
        except (psycopg.Error, OSError):
            self._leader = None
            return False
        return held is not None

    def release(self) -> None:
        """Give the lease up, so that another process can take it at once."""
        write = "UPDATE {schema}.lease SET holder = '', turn = turn + 1 WHERE holder = %s"
        with suppress(psycopg.Error, OSError), self._leasing() as db:
            db.execute(self._sql(write), (self._lease.name,))

    @contextmanager
    def _leasing(self) -> Iterator[PatientConnection]:
        """Yield a session in a transaction that need not be durable: a lease outlives no crash."""
        if self._leader is None:
            self._leader = self._connect()
        with self._leader.transaction():
            self._leader.execute("SET LOCAL synchronous_commit = off")
            yield self._leader

    def wait(self, seconds: float) -> None:
        """Wait until others have appended, at most this many seconds."""
        with self._faults():
            if self._listener is None:
                self._listener = self._connect()
                self._listener.execute(self._sql("LISTEN {schema}"))
            try:
                for _ in self._listener.notifies(timeout=seconds, stop_after=1):
                    pass
            except psycopg.Error:
                self._listener = None
                raise

    def save(self, state: SavedState, keep: int = 3) -> None:
        """Save a state with the entries, and keep only the newest few states."""
        insert = (
            "INSERT INTO {schema}.states VALUES (%s, %s, %s) ON CONFLICT (position) "
            "DO UPDATE SET digest = excluded.digest, body = excluded.body"
        )
        old = (
            "DELETE FROM {schema}.states WHERE position NOT IN "
            "(SELECT position FROM {schema}.states ORDER BY position DESC LIMIT %s) "
            "AND (%s = 0 OR position > (SELECT min(position) FROM {schema}.states))"
        )
        base = self.base()
        with self._running(LONG) as db, db.transaction():
            db.execute(self._sql(insert), state)
            db.execute(self._sql(old), (keep, base))

    def states(self, until: int | None = None) -> list[SavedState]:
        """Return the saved states up to a position, newest first."""
        query = (
            "SELECT position, digest, body FROM {schema}.states WHERE position <= %s "
            "ORDER BY position DESC"
        )
        with self._running(LONG) as db:
            rows = db.execute(self._sql(query), (until or 2**62,), binary=True)
            return [SavedState(*row) for row in rows]

    def save_fold(self, position: int, parts: Sequence[tuple[str, bytes]], keep: int = 2) -> None:
        """Save the features after an entry, in parts, and keep only the newest few."""
        insert = "INSERT INTO {schema}.folds VALUES (%s, %s, %s, %s)"
        old = (
            "DELETE FROM {schema}.folds WHERE position NOT IN "
            "(SELECT DISTINCT position FROM {schema}.folds ORDER BY position DESC LIMIT %s)"
        )
        with self._running(LONG) as db, db.transaction():
            db.execute(self._sql("DELETE FROM {schema}.folds WHERE position = %s"), (position,))
            for row in split_parts(position, parts):
                db.execute(self._sql(insert), row)
            db.execute(self._sql(old), (keep,))

    def fold_positions(self, until: int | None = None) -> list[int]:
        """Return the positions of saved features up to a position, newest first."""
        query = (
            "SELECT DISTINCT position FROM {schema}.folds WHERE position <= %s "
            "ORDER BY position DESC"
        )
        with self._running() as db:
            return [int(row[0]) for row in db.execute(self._sql(query), (until or 2**62,))]

    def fold_parts(self, position: int) -> Iterator[tuple[str, bytes]]:
        """Yield the parts of saved features, in order."""
        query = "SELECT name, body FROM {schema}.folds WHERE position = %s ORDER BY number"
        with self._running(LONG) as db:
            rows = db.execute(self._sql(query), (position,), binary=True).fetchall()
        yield from join_parts(rows)

    def empty(self, until: int, state: int) -> None:
        """Drop the bytes of all entries up to a position; their keys stay."""
        change = (
            "UPDATE {schema}.entries SET body = '', checksum = %s "
            "WHERE position <= %s AND checksum <> %s"
        )
        with self._running(LONG) as db, db.transaction():
            db.execute(self._sql(change), (EMPTIED, until, EMPTIED))
            older = "DELETE FROM {schema}.states WHERE position < %s"
            db.execute(self._sql(older), (state,))

    def base(self) -> int:
        """Return the last position whose bytes were dropped; 0 if all are there."""
        # As in SQLite, the first row answers for a journal that was never compacted.
        first = "SELECT checksum FROM {schema}.entries WHERE position = 1"
        query = "SELECT max(position) FROM {schema}.entries WHERE checksum = %s"
        with self._running() as db:
            row = db.execute(self._sql(first)).fetchone()
            if row is None or row[0] != EMPTIED:
                return 0
            last = db.execute(self._sql(query), (EMPTIED,)).fetchone()
        return 0 if last is None else int(last[0])

    def key(self, key_id: bytes | None = None) -> StoredKey | None:
        """Return a key, or any key that is not destroyed; None if there is none."""
        query = (
            "SELECT id, name, wrapped FROM {schema}.keys "
            "WHERE CASE WHEN %(id)s::bytea IS NULL THEN wrapped <> '' ELSE id = %(id)s END LIMIT 1"
        )
        with self._running() as db:
            row = db.execute(self._sql(query), {"id": key_id}, binary=True).fetchone()
        return None if row is None else StoredKey(*row)

    def keys_of(self, names: Sequence[bytes]) -> list[StoredKey]:
        """Return all keys under any of these names."""
        query = "SELECT id, name, wrapped FROM {schema}.keys WHERE name = ANY(%s) ORDER BY number"
        with self._running() as db:
            rows = db.execute(self._sql(query), (list(names),), binary=True)
            return [StoredKey(*row) for row in rows]

    def actions(self, limit: int) -> list[Record]:
        """Return the last actions and changes of settings, oldest first."""
        kinds = " OR ".join(f"starts_with(key, '{kind}:')" for kind in ACTIONS)
        query = (
            "SELECT position, at, key, fingerprint, body, checksum FROM {schema}.entries "
            f"WHERE (key IS NULL OR {kinds}) AND checksum <> {EMPTIED} "
            "ORDER BY position DESC LIMIT %s"
        )
        with self._running() as db:
            rows = db.execute(self._sql(query), (limit,), binary=True).fetchall()
        return [self._record(Row(*row)) for row in reversed(rows)]

    def find_kind(self, prefix: str) -> list[Record]:
        """Return the entries whose keys begin with `prefix:`, in order."""
        query = (
            "SELECT position, at, key, fingerprint, body, checksum FROM {schema}.entries "
            "WHERE starts_with(key, {prefix}) AND checksum <> %s ORDER BY position"
        )
        with self._running() as db:  # the prefix as it is in the index
            filled = self._sql(query, prefix=sql.Literal(f"{prefix}:"))
            rows = db.execute(filled, (EMPTIED,), binary=True).fetchall()
        return [self._record(Row(*row)) for row in rows]

    def scrub(self) -> bool:
        """Free the pages of destroyed keys; the log of PostgreSQL may keep them for a while."""
        with self._running(LONG) as db:
            db.execute(self._sql("VACUUM {schema}.keys"))
        return True

    def tend(self) -> None:
        """Do nothing: PostgreSQL does its own maintenance."""

    def another(self) -> Self:
        """Open the same journal again, for another thread."""
        return type(self)(self._address, self._name)

    def close(self) -> None:
        """Release all resources, including the lease."""
        if self._leader is not None:
            self.release()
        for one in (self._db, self._leader, self._listener):
            if one is not None:
                one.close()
        self._db = self._leader = self._listener = None

    def _lock_writers(self, db: PatientConnection) -> None:
        db.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock,))

    def _sql(self, text: str, **parts: sql.Composable) -> sql.Composed:
        return sql.SQL(text).format(schema=self._schema, **parts)

    @contextmanager
    def _running(self, patience: float | None = None) -> Iterator[PatientConnection]:
        """Yield a connection; if it fails, it is dropped, and the next call opens another.

        patience : seconds to wait for each answer, if it may take long
        """
        with self._faults():
            if self._db is None or self._db.closed:
                self._db = self._connect()
            self._db.patience = session.ANSWER if patience is None else patience
            try:
                yield self._db
            except psycopg.OperationalError:
                self._db.close()
                self._db = None
                raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            reason = str(error).strip().splitlines() or [type(error).__name__]
            passing = isinstance(error, psycopg.OperationalError)
            kind = UnreachableError if passing else JournalError
            raise kind(f"{self.where}: {reason[0]}") from error


def find_names(address: str) -> list[str]:
    """Return the names of the loops that have a journal in a database."""
    query = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY nspname"
    prefix = "rankloop_"
    try:
        with psycopg.connect(address, connect_timeout=10) as db:
            return [name.removeprefix(prefix) for (name,) in db.execute(query, (prefix,))]
    except psycopg.Error as error:
        raise UnreachableError(f"{address.rpartition('@')[2]}: {str(error).strip()}") from None


def _parts(address: str) -> Mapping[str, object]:
    try:
        return conninfo_to_dict(address)
    except psycopg.Error as error:
        raise JournalError(
            f"the journal's address is not an address of PostgreSQL: {str(error).strip()}; "
            "write postgresql://user@host/database"
        ) from None
