"""The newest entries in memory, so that closing a window need not ask the disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from rankloop.serving.entries import Ranked

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.entries import Entry
    from rankloop.serving.journal.base import Journal, Record


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


def _size(record: Record) -> int:
    entry = record.entry
    return (
        500
        if not isinstance(entry, Ranked)
        else 1000 + len(entry.features) + 100 * len(entry.items)
    )
