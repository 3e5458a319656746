"""The newest entries in memory, so that closing a window need not ask the disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

from rankloop.serving.entries import Ranked
from rankloop.serving.journal.base import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.entries import Entry
    from rankloop.serving.journal.base import Journal, Record


_T = TypeVar("_T")
_log = logging.getLogger("rankloop.serving")
_PAUSE = 0.5  # seconds before the store is asked again


class Recent:
    """Entries by position, the oldest dropped beyond a size; threads may share it.

    Parameters
    ----------
    most_bytes : about what it may hold
    """

    def __init__(self, most_bytes: int = 128_000_000) -> None:
        self._most, self._size = most_bytes, 0
        self._records: OrderedDict[int, Record] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, record: Record) -> None:
        """Keep one more."""
        with self._lock:
            if record.position not in self._records:
                self._records[record.position] = record
                self._size += _size(record)
            while self._size > self._most:
                _, oldest = self._records.popitem(last=False)
                self._size -= _size(oldest)

    def get(self, position: int) -> Record | None:
        """Return the entry at a position, if it is here."""
        return self._records.get(position)

    def record(self, position: int, journal: Journal) -> Record:
        """Return the entry at a position: from memory, else from the journal."""
        return self._records.get(position) or journal.record(position)


def remembered(recent: Recent, journal: Journal) -> Callable[[int], Entry]:
    """Return what gives the entry at a position: from memory, else from the journal."""

    def fetch(position: int) -> Entry:
        return recent.record(position, journal).entry

    return fetch


def patient(read: Callable[[int], _T], over: Callable[[], bool]) -> Callable[[int], _T]:
    """Return what reads again and again while the store does not answer, until all is over.

    A learner must not end, nor stop halfway through an entry, because a database restarts.
    """

    def again(position: int) -> _T:
        while True:
            try:
                return read(position)
            except UnreachableError as error:
                if over():
                    raise
                _log.warning("entry %d cannot be read, and is tried again: %s", position, error)
                time.sleep(_PAUSE)

    return again


def _size(record: Record) -> int:
    entry = record.entry
    return (
        500
        if not isinstance(entry, Ranked)
        else 1000 + len(entry.features) + 100 * len(entry.items)
    )
