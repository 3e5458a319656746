"""What the journal shows besides the models: actions, clicks by place, and drift of features.

A watch follows the journal behind the loop, at its own pace and with bounded memory. It starts a
number of entries before the end, so that the page is not empty after a restart.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankloop.serving.dashboard.drift import Drift
from rankloop.serving.dashboard.marks import Mark, as_mark
from rankloop.serving.journal.entries import Closed, ExperimentStarted, Observed, Ranked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankloop.serving.journal.base import Journal, Record

PLACES = 20
"""Places whose clicks are counted, from the top."""
LOOK_BACK = 20_000
"""Entries before the end that a new watch reads."""

_MARKS, _NEWEST, _WATCHED = 200, 200, 5_000
_FORGET_AT = 20_000.0  # rankings, after which those counted so far count for half
_MAX_DRIFT = 32  # rankings that are looked at for drift at a time


class Glimpse(msgspec.Struct):
    """A ranking in a list of the newest ones."""

    id: str
    at: float
    position: int
    model: str
    policy: str
    shown: int
    events: int = 0


class _Watched(msgspec.Struct):
    places: dict[str, int]
    clicked: set[int]


class Watch:
    """What is found in one loop's journal.

    marks : promotions, rollbacks, experiments and new models, oldest first
    newest : rankings by id, oldest first
    shown, clicked : by place: rankings that had it, and those where it was clicked; of a sample of
        closed rankings, in which older ones count less
    closed, joined : of that sample, all, and those with any feedback
    since : the first position that it has read
    passed_over : number of entries that it skipped because it was too far behind
    """

    def __init__(self, width: int) -> None:
        self.position = self.since = 0
        self.passed_over = 0
        self.marks: deque[Mark] = deque(maxlen=_MARKS)
        self.newest: OrderedDict[str, Glimpse] = OrderedDict()
        self.shown, self.clicked = np.zeros(PLACES), np.zeros(PLACES)
        self.closed = self.joined = 0.0
        self.drift = Drift(width)
        self._watched: dict[str, _Watched] = {}
        self._drift_left = 0
        self._promotes = ""

    def follow(
        self, journal: Journal, recent: Callable[[int], Record | None], head: int, most: int
    ) -> None:
        """Read what is new, up to `head` and at most a number of entries."""
        if not self.since:
            base = journal.base()
            self.position = max(base, head - LOOK_BACK, 0)
            self.since = self.position + 1
        elif head - self.position > LOOK_BACK:
            self.passed_over += head - LOOK_BACK - self.position
            self.position = head - LOOK_BACK
            self._watched.clear()  # some of their feedback may have been passed over
        self._drift_left = _MAX_DRIFT
        until = min(head, self.position + most)
        for record in _records(journal, recent, self.position, until):
            self._see(record)
            self.position = record.position

    def _see(self, record: Record) -> None:
        entry = record.entry
        if isinstance(entry, Ranked):
            self._ranked(record, entry)
        elif isinstance(entry, Observed):
            glimpse = self.newest.get(entry.ranking_id)
            if glimpse is not None:
                glimpse.events += 1
            watched = self._watched.get(entry.ranking_id)
            if watched is not None and entry.item in watched.places:
                watched.clicked.add(watched.places[entry.item])
        elif isinstance(entry, Closed):
            self._closed(entry)
        else:
            if isinstance(entry, ExperimentStarted):
                self._promotes = entry.id if entry.promote != "no" else ""
            mark = as_mark(record, self._promotes)
            if mark is not None:
                self.marks.append(mark)

    def _ranked(self, record: Record, entry: Ranked) -> None:
        self.newest[entry.id] = Glimpse(
            entry.id,
            record.at / 1000,
            record.position,
            entry.model,
            entry.policy,
            len(entry.order),
        )
        if len(self.newest) > _NEWEST:
            self.newest.popitem(last=False)
        if len(self._watched) < _WATCHED:
            shown = [entry.items[row] for row in entry.order[:PLACES]]
            places = {item: place for place, item in enumerate(shown)}
            self._watched[entry.id] = _Watched(places, set())
        if self._drift_left:
            self._drift_left -= 1
            self.drift.add(entry.matrix())

    def _closed(self, entry: Closed) -> None:
        watched = self._watched.pop(entry.ranking_id, None)
        if watched is None:
            return
        if self.closed >= _FORGET_AT:
            self.shown /= 2
            self.clicked /= 2
            self.closed /= 2
            self.joined /= 2
        self.closed += 1
        self.joined += bool(watched.clicked)
        self.shown[: len(watched.places)] += 1
        self.clicked[list(watched.clicked)] += 1


def _records(
    journal: Journal, recent: Callable[[int], Record | None], after: int, until: int
) -> Iterator[Record]:
    """Yield entries from memory if they are there, otherwise from the journal."""
    while after < until:
        known = recent(after + 1)
        if known is not None:
            after += 1
            yield known
            continue
        found = journal.read(after, until, 500)
        if not found:
            return
        yield from found
        after = found[-1].position
