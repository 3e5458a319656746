"""The newest entries in memory, so that closing a window does not need the disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, TypeVar

from rankloop.serving.journal.base import Record, UnreachableError
from rankloop.serving.journal.entries import decode, decode_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.entries import Entry

_OVERHEAD = 200  # bytes of memory that an entry costs besides its body

_T = TypeVar("_T")
_log = logging.getLogger("rankloop.serving")
_PAUSE = 0.5  # seconds before the store is asked again


class EntryCache:
    """The newest entries by position, up to a total size; threads may share it.

    They are kept as bytes, because few of them are ever needed again, and bytes cost neither
    decoding nor garbage collection.

    Parameters
    ----------
    max_bytes : approximate limit of its memory
    """

    def __init__(self, max_bytes: int = 64_000_000) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self.added = 0  # bytes of all entries so far, including those that were dropped
        self._known: dict[int, tuple[int, int, bytes]] = {}
        self._order: deque[int] = deque()
        self._lock = threading.Lock()

    def add(self, entries: Iterable[tuple[int, int, bytes]]) -> None:
        """Add entries: the position, the time and the bytes of each."""
        with self._lock:
            before = self._size
            for entry in entries:
                position, _, body = entry
                if position not in self._known:
                    self._known[position] = entry
                    self._order.append(position)
                    self._size += len(body) + _OVERHEAD
            self.added += self._size - before
            while self._size > self._max_bytes and self._order:
                _, _, body = self._known.pop(self._order.popleft())
                self._size -= len(body) + _OVERHEAD

    def get(self, position: int, decode: Callable[[bytes], Entry] = decode) -> Record | None:
        """Return the entry at a position, if it is here."""
        known = self._known.get(position)
        return None if known is None else Record(position, known[1], decode(known[2]))

    def read(self, after: int, until: int, limit: int, journal: Journal) -> list[Record]:
        """Return up to `limit` entries that follow a position, from memory or from a journal.

        Of rankings, only the id is read.
        """
        records = []
        for position in range(after + 1, min(until, after + limit) + 1):
            known = self._known.get(position)
            if known is None:
                break
            records.append(Record(position, known[1], decode_ids(known[2])))
        return records or journal.records(after, journal.rows(after, until, limit), decode_ids)

    def record(self, position: int, journal: Journal) -> Record:
        """Return the entry at a position: from memory, otherwise from the journal."""
        return self.get(position) or journal.record(position)

    def follow(
        self,
        journal: Journal,
        after: int,
        until: int | None = None,
        decode: Callable[[bytes], Entry] = decode,
    ) -> Iterator[Record]:
        """Yield all entries of a journal that follow a position, and keep them."""
        while rows := journal.rows(after, until):
            self.add([(row.position, row.at, row.body) for row in rows])
            yield from journal.records(after, rows, decode)
            after = rows[-1].position


def make_fetch(recent: EntryCache, journal: Journal) -> Callable[[int], Entry]:
    """Return a function that gives the entry at a position, from memory or from the journal."""

    def fetch(position: int) -> Entry:
        return recent.record(position, journal).entry

    return fetch


def retry_reads(read: Callable[[int], _T], over: Callable[[], bool]) -> Callable[[int], _T]:
    """Return a function that reads again while the store does not answer, until the loop ends.

    Learning must not stop because a database restarts.
    """

    def retry(position: int) -> _T:
        while True:
            try:
                return read(position)
            except UnreachableError as error:
                if over():
                    raise
                _log.warning("entry %d cannot be read and will be tried again: %s", position, error)
                time.sleep(_PAUSE)

    return retry
