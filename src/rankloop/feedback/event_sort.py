"""Sort the events of a log by time, in bounded memory."""

from __future__ import annotations

import heapq
import pickle
import tempfile
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.features.events import ItemEvent, RankingEvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from rankloop.features.events import Event

AT_ONCE = 400_000
"""How many events, items of rankings and fields are in memory, some 200 bytes each."""
_BLOCK = 64  # events that are read back together


class SortedEvents:
    """Events in order of time; those of one time keep their order.

    Too many of them go to an unnamed temporary file: sorted runs, which are merged when they are
    read. Runs that follow each other in time are one, so that a log in order is only copied.

    at_once : how many events, items of rankings and fields are in memory

    Cost: 10 microseconds an event; for those that do not fit into memory, 20 more, and about the
    size of the log on disk.

    >>> from rankloop.features import Request
    >>> events = SortedEvents()
    >>> for at in (30, 10, 20):
    ...     events.add(RankingEvent(f"r{at}", ("a",), Request(), at))
    >>> [event.id for event in events]
    ['r10', 'r20', 'r30']
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self.first: int | None = None
        """The time of the first event; None if there is none."""
        self._at_once, self._size = at_once, 0
        self._events: list[Event] = []
        self._runs: list[list[int]] = []  # where their blocks begin in the file
        self._last = 0  # time of the last event in the file
        self._file: IO[bytes] | None = None

    def add(self, event: Event) -> None:
        """Add an event."""
        self.first = event.at if self.first is None else min(self.first, event.at)
        self._events.append(event)
        self._size += _size(event)
        if self._size > self._at_once:
            self._store()

    def __iter__(self) -> Iterator[Event]:
        """Yield all events; it may be called again."""
        self._events.sort(key=_time)
        return heapq.merge(*map(self._read, self._runs), self._events, key=_time)

    def _store(self) -> None:
        try:
            self._write()
        except OSError as error:
            if self._file is not None:
                with suppress(OSError):  # it tries to write the rest once more
                    self._file.close()
            raise DataError(
                f"a temporary file cannot be written: {error.strerror}; it needs about the size of "
                "the log. Make space, or set TMPDIR to a folder that has more"
            ) from None

    def _write(self) -> None:
        events = sorted(self._events, key=_time)
        self._events, self._size = [], 0
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - the next line closes it
            weakref.finalize(self, self._file.close)
        if not self._runs or events[0].at < self._last:
            self._runs.append([])
        self._last = events[-1].at
        self._file.seek(0, 2)
        for k in range(0, len(events), _BLOCK):
            self._runs[-1].append(self._file.tell())
            pickle.dump(events[k : k + _BLOCK], self._file, protocol=5)
        self._file.flush()  # a full disk is noticed here, and not by whoever reads

    def _read(self, places: list[int]) -> Iterator[Event]:
        assert self._file is not None
        for place in places:
            self._file.seek(place)
            yield from pickle.load(self._file)


def _time(event: Event) -> int:
    return event.at


def _size(event: Event) -> int:
    if isinstance(event, RankingEvent):
        return 2 + len(event.items) + len(event.given) * 4
    return 2 + (len(event.change.fields or ()) if isinstance(event, ItemEvent) else 1)
