"""What a journal is: an ordered, durable list of entries; any number of processes append."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias
from zlib import crc32

import msgspec

from rankloop import _core
from rankloop.exceptions import RankloopError
from rankloop.serving.journal.entries import Forgotten, Ranked, RankedId, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rankloop.serving.journal.entries import Entry

SCHEMA = 2
"""The version of the stored form; newer ones are refused, older ones are migrated."""


ACTS = ("act", "model", "experiment", "ended", "forgotten")
"""Prefixes of the keys of actions, of operators and of the loop itself."""

EMPTIED = -1
"""Stands for the checksum of an entry that was compacted."""


class JournalError(RankloopError):
    """A journal that cannot be reached, is damaged, or was written by a newer version."""


class UnreachableError(JournalError):
    """The store does not answer or cannot write at the moment; it may work again later."""


class Draft(msgspec.Struct, frozen=True, gc=False):
    """An entry to append.

    at : when it came, in milliseconds since 1970
    body : its bytes, if they are already known
    """

    entry: Entry
    at: int
    body: bytes = b""


class Record(msgspec.Struct, frozen=True, gc=False):
    """An entry with its position, counted from 1 without gaps."""

    position: int
    at: int
    entry: Entry


def with_id_alone(record: Record) -> Record:
    """Return a record as :func:`decode_ids` gives its entry."""
    entry: Any = record.entry
    if isinstance(entry, Ranked):
        entry = RankedId(entry.id)
        return Record(record.position, record.at, entry)
    return record


Sealed: TypeAlias = tuple[int, str | None, bytes, bytes]
"""A draft as stores keep it, without its position: `at`, key, fingerprint and body."""

Stored: TypeAlias = tuple[int, int, str | None, bytes, bytes, int]
"""A row to insert: the fields of :class:`Row`."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The status of a draft, and its position or that of the stored entry with its key."""

    status: Literal["new", "duplicate", "conflict"]
    position: int


class Saved(NamedTuple):
    """The state after the entry at `position`, as bytes."""

    position: int
    digest: str
    body: bytes


class Row(msgspec.Struct, frozen=True, gc=False):
    """An entry as stores keep it."""

    position: int
    at: int
    key: str | None
    fingerprint: bytes
    body: bytes
    check: int


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
    def append(self, drafts: Sequence[Draft], keys: Sequence[StoredKey] = ()) -> list[Outcome]:
        """Append entries in one transaction: all of them or none, durable on return.

        `keys` are stored together with the entries that they encrypt, and those that a
        `Forgotten` names are destroyed, all in the same transaction.

        A draft whose key is known is not stored again. It is a `duplicate` if its fingerprint is
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
        """Take, or keep, the one lease of this journal; it ends with this process."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Wait until others may have appended, at most this many seconds."""

    @abstractmethod
    def save(self, state: Saved, keep: int = 3) -> None:
        """Save a state with the entries, and keep only the newest few states.

        If entries were dropped, the oldest state is kept too: a replay starts from it.
        """

    @abstractmethod
    def saved(self, until: int | None = None) -> list[Saved]:
        """Return the saved states, newest first, none after a position."""

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
    def acts(self, limit: int) -> list[Record]:
        """Return the last actions and changes of settings that were not compacted, oldest first."""

    @abstractmethod
    def scrub(self) -> None:
        """Overwrite what was deleted, as far as the store can, so that no file shows it."""

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
        checks = _core.crc32_of_each(after + 1, [row.body for row in rows])
        return [
            Record(row.position, row.at, decode(row.body))
            if row.check == check
            else self._record(row)  # which says what is wrong
            for row, check in zip(rows, checks, strict=True)
        ]

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

    def _record(self, row: Row) -> Record:
        if row.check == EMPTIED:
            raise JournalError(
                f"{self.where}: entry {row.position} was compacted and is only in the archive; "
                "earlier states can no longer be replayed or restored"
            )
        if row.check != checksum(row.position, row.body):
            raise JournalError(
                f"{self.where}: entry {row.position} is damaged: its checksum is wrong; "
                "restore the journal from a backup, or truncate it before this entry"
            )
        return Record(row.position, row.at, decode(row.body))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def checksum(position: int, body: bytes) -> int:
    """Return the checksum of the bytes at a position."""
    return crc32(body, crc32(position.to_bytes(8, "little")))


def sealed(drafts: Sequence[Draft]) -> list[Sealed]:
    """Return drafts as bytes; all fingerprints are computed in one call, without blocking threads.

    A fingerprint is the BLAKE2b hash of what an entry `said`, in 16 bytes.
    """
    bodies = [draft.body or encode(draft.entry) for draft in drafts]
    said = [draft.entry.said(body) for draft, body in zip(drafts, bodies, strict=True)]
    prints = _core.blake2b_of_each(said)
    return [
        (draft.at, draft.entry.key, fingerprint, body)
        for draft, fingerprint, body in zip(drafts, prints, bodies, strict=True)
    ]


def destroyed(drafts: Sequence[Draft], outcomes: Sequence[Outcome]) -> list[bytes]:
    """Return the keys that new entries destroy."""
    return [
        key
        for draft, outcome in zip(drafts, outcomes, strict=True)
        if isinstance(draft.entry, Forgotten) and outcome.status == "new"
        for key in draft.entry.keys
    ]


def new_rows(
    drafts: Sequence[Sealed], known: dict[str, tuple[int, bytes]], head: int
) -> tuple[list[Outcome], list[Stored]]:
    """Return the outcome of each draft, and the rows to add after the position `head`.

    `known` has the position and the fingerprint of each key that is already stored.
    """
    outcomes, new = [], []
    known = dict(known)
    last = head
    for draft in drafts:
        _, key, fingerprint, _ = draft
        if key in known:
            position, other = known[key]
            same = other == fingerprint
            outcomes.append(Outcome("duplicate" if same else "conflict", position))
            continue
        last += 1
        new.append(draft)
        outcomes.append(Outcome("new", last))
        if key is not None:
            known[key] = (last, fingerprint)
    checks = _core.crc32_of_each(head + 1, [body for _, _, _, body in new])
    return outcomes, [
        (n, at, key, fingerprint, body, check)
        for n, (at, key, fingerprint, body), check in zip(
            range(head + 1, last + 1), new, checks, strict=True
        )
    ]
