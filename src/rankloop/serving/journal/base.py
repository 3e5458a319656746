"""The interface of journals: ordered, durable lists of entries, to which any process may append."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self
from zlib import crc32

import msgspec

from rankloop import _core
from rankloop.exceptions import RankloopError
from rankloop.serving.journal.action_entries import Forgotten
from rankloop.serving.journal.entries import decode, digest_of, encode
from rankloop.serving.journal.ranking_entries import Ranked, RankedId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rankloop.serving.journal.entries import Entry

SCHEMA = 3
"""The version of the stored form; newer ones are refused, older ones are migrated."""


ACTIONS = ("action", "model", "experiment", "ended", "forgotten", "quarantined", "compacted")
"""Prefixes of the keys of actions, of operators and of the loop itself."""

MAX_PART = 8_000_000
"""Bytes of a row of saved features; stores are slow with larger ones, or refuse them."""

_MAX_KEY = 1_500  # bytes; PostgreSQL can index some 2,700

EMPTIED = -1
"""Stands for the checksum of an entry that was compacted."""


class JournalError(RankloopError):
    """A journal that cannot be reached, is damaged, or was written by a newer version."""


class CompactedError(JournalError):
    """An entry that is only in the archive, because it was compacted."""


class BusyError(RankloopError):
    """Too many entries wait for the disk; try again in a moment."""


class UnreachableError(JournalError):
    """The store does not answer or cannot write at the moment; it may work again later."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """An entry with its position, counted from 1 without gaps."""

    position: int
    at: int
    entry: Entry


def with_id_alone(record: Record) -> Record:
    """Return a record with only the id of its ranking, as :func:`decode_ids`; others unchanged."""
    entry: Any = record.entry
    if isinstance(entry, Ranked):
        entry = RankedId(entry.id)
        return Record(record.position, record.at, entry)
    return record


class AppendResult(msgspec.Struct, frozen=True, gc=False):
    """The status of a row, and its position or that of the stored entry with its key."""

    status: Literal["new", "duplicate", "conflict"]
    position: int


class SavedState(NamedTuple):
    """The state after the entry at `position`, as bytes."""

    position: int
    digest: str
    body: bytes


class Row(msgspec.Struct, frozen=True, gc=False):
    """An entry as stores keep it: its bytes, with what is needed to find and to check them.

    position : counted from 1 without gaps; 0 in a row that is not stored yet
    at : when it came, in milliseconds since 1970
    key : identifies the entry, so that an entry that is sent twice is stored once
    fingerprint : equal exactly if the same was sent under the key
    body : the bytes of the entry
    check : a checksum of position, time and body, or :data:`EMPTIED`
    """

    position: int
    at: int
    key: str | None
    fingerprint: bytes
    body: bytes
    check: int


def make_row(entry: Entry, at: int) -> Row:
    """Return an entry as a row without a position, for :meth:`Journal.append`."""
    (row,) = make_rows([entry], at)
    return row


def make_rows(entries: Sequence[Entry], at: int) -> list[Row]:
    """Return entries as rows of one time; digests of many together take less time."""
    bodies = [encode(entry) for entry in entries]
    digests = _core.digests(list(map(_identity, entries, bodies)))
    keys = [entry.key for entry in entries]
    return [
        Row(0, at, None if key is None else bounded_key(key), digest, body, EMPTIED)
        for key, digest, body in zip(keys, digests, bodies, strict=True)
    ]


def _identity(entry: Entry, body: bytes) -> bytes:
    return entry.identity(body)


def bounded_key(key: str) -> str:
    """Return a key as stores keep it: a long one by its digest, since an index takes no long text.

    >>> bounded_key("event:e1"), len(bounded_key("event:" + 2000 * "é"))
    ('event:e1', 45)
    """
    if 4 * len(key) <= _MAX_KEY:  # a character has at most four bytes
        return key
    text = key.encode()
    if len(text) <= _MAX_KEY:
        return key
    return f"{key.partition(':')[0]}:digest {digest_of(text).hex()}"


class StoredKey(NamedTuple):
    """A person's key as stores keep it, wrapped by a master key that they do not know.

    id : random; data that is encrypted with the key begins with it
    name : of the person, unreadable without the master key; a person may have several keys
    wrapped : empty if it was destroyed; the row stays, so that nobody stores the key again
    """

    id: bytes
    name: bytes
    wrapped: bytes


class Journal(ABC):
    """An ordered list of entries that survives crashes.

    Positions count from 1 without a gap, in the order of commits. When :meth:`append` returns, its
    entries are durable. Threads do not share an object: :meth:`another` opens the same journal
    again.
    """

    where: str
    """The name of this journal for people: its file, or its address without a password."""

    @abstractmethod
    def append(self, rows: Sequence[Row], keys: Sequence[StoredKey] = ()) -> list[AppendResult]:
        """Append rows of :func:`make_row` in one transaction: all or none, durable on return.

        `keys` are stored together with the entries that they encrypt, and those that a
        `Forgotten` names are destroyed, all in the same transaction.

        A row whose key is known is not stored again. It is a `duplicate` if its fingerprint is
        the same, otherwise a `conflict`.
        """

    @abstractmethod
    def rows(self, after: int = 0, until: int | None = None, limit: int = 1000) -> list[Row]:
        """Return up to `limit` rows that follow a position, up to and including another one."""

    @abstractmethod
    def find(self, key: str) -> Record | None:
        """Return the entry of a key, or None."""

    @abstractmethod
    def head(self) -> int:
        """Return the last position; 0 if there is none."""

    @abstractmethod
    def lead(self) -> bool:
        """Take or keep the lease of this journal; return whether this process has it.

        Call it regularly to keep the lease (`journal/lease.py`). A store that does not answer, and
        a process that cannot open a file, do not have it.
        """

    @abstractmethod
    def release(self) -> None:
        """Give the lease up, so that another process can take it at once."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Wait until others may have appended, at most this many seconds."""

    @abstractmethod
    def save(self, state: SavedState, keep: int = 3) -> None:
        """Save a state with the entries, and keep only the newest few states.

        If entries were dropped, the oldest state is kept too: a replay starts from it.
        """

    @abstractmethod
    def states(self, until: int | None = None) -> list[SavedState]:
        """Return the saved states up to a position, newest first."""

    @abstractmethod
    def save_fold(self, position: int, parts: Sequence[tuple[str, bytes]], keep: int = 2) -> None:
        """Save the features after an entry, in parts, and keep only the newest few."""

    @abstractmethod
    def fold_positions(self, until: int | None = None) -> list[int]:
        """Return the positions of saved features up to a position, newest first."""

    @abstractmethod
    def fold_parts(self, position: int) -> Iterator[tuple[str, bytes]]:
        """Yield the parts of saved features, in order."""

    @abstractmethod
    def empty(self, until: int, state: int) -> None:
        """Drop the bytes of all entries up to a position; their keys stay.

        States before the one at the position `state`, which replaces them, are dropped too.
        """

    @abstractmethod
    def base(self) -> int:
        """Return the last position whose bytes were dropped; 0 if all are there."""

    @abstractmethod
    def key(self, key_id: bytes | None = None) -> StoredKey | None:
        """Return a key, or any key that is not destroyed; None if there is none."""

    @abstractmethod
    def keys_of(self, names: Sequence[bytes]) -> list[StoredKey]:
        """Return all keys under any of these names."""

    @abstractmethod
    def actions(self, limit: int) -> list[Record]:
        """Return the last actions and changes of settings that were not compacted, oldest first."""

    @abstractmethod
    def find_kind(self, prefix: str) -> list[Record]:
        """Return the entries whose keys begin with `prefix:`, in order, without compacted ones."""

    @abstractmethod
    def scrub(self) -> bool:
        """Overwrite what was deleted, as far as the store can, so that no file shows it.

        Returns at once: True if it is done, False to try again when others no longer read.
        """

    @abstractmethod
    def tend(self) -> None:
        """Do regular maintenance that keeps the store fast, while others append."""

    @abstractmethod
    def another(self) -> Self:
        """Open the same journal again, for another thread."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources, including the lease."""

    def read(self, after: int = 0, until: int | None = None, limit: int = 1000) -> list[Record]:
        """Return up to `limit` entries that follow a position; raise if one is damaged."""
        return self.records(after, self.rows(after, until, limit))

    def records(
        self, after: int, rows: Sequence[Row], decode: Callable[[bytes], Entry] = decode
    ) -> list[Record]:
        """Return rows that follow a position as entries; raise if one is missing or damaged."""
        for expected, row in enumerate(rows, start=after + 1):
            if row.position != expected:
                raise JournalError(
                    f"{self.where}: entry {expected} is missing, the next one is {row.position}; "
                    "restore the journal from a backup"
                )
        return [self._record(row, decode) for row in rows]

    def record(self, position: int) -> Record:
        """Return the entry at a position, with its time."""
        records = self.read(position - 1, position, 1)
        if not records:
            raise JournalError(f"{self.where}: there is no entry {position}")
        return records[0]

    def at(self, position: int) -> Entry:
        """Return the entry at a position."""
        return self.record(position).entry

    def scan(self, after: int = 0, until: int | None = None, batch: int = 1000) -> Iterator[Record]:
        """Yield all entries that follow a position."""
        while records := self.read(after, until, batch):
            yield from records
            after = records[-1].position

    def _record(self, row: Row, decode: Callable[[bytes], Entry] = decode) -> Record:
        known = checksum(row.position, row.at, row.body)
        if row.check == known or row.check == _checksum_without_time(row):
            return Record(row.position, row.at, decode(row.body))
        if row.check == EMPTIED:
            raise CompactedError(
                f"{self.where}: entry {row.position} was compacted and is only in the archive; "
                "earlier states can no longer be replayed or restored"
            )
        raise JournalError(
            f"{self.where}: entry {row.position} is damaged: its checksum is wrong; "
            "restore the journal from a backup"
        )

    def find_faults(self) -> list[str]:
        """Return what is wrong with the stored form of entries and states; empty if all is well.

        It reads everything: the checksum of each entry, and whether its key and its fingerprint
        are those of its contents.
        """
        faults: list[str] = []
        after = 0
        while rows := self.rows(after):
            found = (self._fault_of(row) for row in rows if row.check != EMPTIED)
            faults += [fault for fault in found if fault]
            after = rows[-1].position
        damaged = (s for s in self.states() if digest_of(s.body).hex() != s.digest)
        return faults + [f"the state saved after entry {s.position} is damaged" for s in damaged]

    def _fault_of(self, row: Row) -> str:
        try:
            expected = make_row(self._record(row).entry, row.at)
        except RankloopError as error:
            return str(error)
        if expected.key != row.key or not _is_same(expected, row.fingerprint):
            return f"entry {row.position} is damaged: its key or its fingerprint is wrong"
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def split_parts(
    position: int, parts: Sequence[tuple[str, bytes]]
) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield parts as rows of at most :data:`MAX_PART` bytes; rows of one name are one part."""
    number = 0
    for name, body in parts:
        for first in range(0, max(len(body), 1), MAX_PART):
            yield position, number, name, body[first : first + MAX_PART]
            number += 1


def join_parts(rows: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield parts from the rows of :func:`split_parts`."""
    for name, group in groupby(rows, key=lambda row: row[0]):
        yield name, b"".join(body for _, body in group)


def checksum(position: int, at: int, body: bytes) -> int:
    """Return the checksum of a row: of its position, its time and its bytes."""
    return crc32(body, crc32(b"%d %d" % (position, at)))


def _checksum_without_time(row: Row) -> int:
    """Return the checksum that rows of older journals have."""
    return crc32(row.body, crc32(row.position.to_bytes(8, "little")))


def find_destroyed_keys(rows: Sequence[Row]) -> list[bytes]:
    """Return the keys that new entries destroy."""
    keys: list[bytes] = []
    for row in rows:
        if row.key is not None and row.key.startswith("forgotten:"):
            entry = decode(row.body)
            keys += entry.keys if isinstance(entry, Forgotten) else []
    return keys


def _is_same(row: Row, fingerprint: bytes) -> bool:
    """Return whether a stored fingerprint is that of what was sent.

    Earlier versions stored the digest of the whole bytes of some kinds of entries.
    """
    return fingerprint == row.fingerprint or fingerprint == digest_of(row.body)


def place_rows(
    rows: Sequence[Row], known: dict[str, tuple[int, bytes]], head: int
) -> tuple[list[AppendResult], list[Row]]:
    """Return the result of each row, and the new ones, placed after the position `head`.

    `known` has the position and the fingerprint of each key that is already stored.
    """
    results, placed = [], []
    known = dict(known)
    position = head
    for row in rows:
        if row.key in known:
            stored, fingerprint = known[row.key]
            status: Literal["duplicate", "conflict"]
            status = "duplicate" if _is_same(row, fingerprint) else "conflict"
            results.append(AppendResult(status, stored))
            continue
        position += 1
        placed.append(row)
        results.append(AppendResult("new", position))
        if row.key is not None:
            known[row.key] = (position, row.fingerprint)
    times, bodies = [row.at for row in placed], [row.body for row in placed]
    checks = _core.checksums(head + 1, times, bodies)
    new = [
        Row(position, row.at, row.key, row.fingerprint, row.body, check)
        for position, (row, check) in enumerate(zip(placed, checks, strict=True), start=head + 1)
    ]
    return results, new
