"""What the journal shows besides the models: actions, clicks by place, and drift of features.

It follows the journal at its own pace and with bounded memory. It starts some entries before the
end, so that the page is not empty after a restart.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from rankloop.serving.dashboard.drift import Drift
from rankloop.serving.dashboard.marks import Mark, as_mark
from rankloop.serving.journal.action_entries import ExperimentStarted
from rankloop.serving.journal.entries import Entry, decode, decode_ids
from rankloop.serving.journal.feature_entries import ItemsChanged
from rankloop.serving.journal.ranking_entries import Closed, Observed, Ranked, RankedId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rankloop.serving.journal.base import Journal, Record

    Recent = Callable[[int, Callable[[bytes], Any]], Record | None]

PLACES = 20
"""Places whose clicks are counted, from the top."""
LOOK_BACK = 20_000
"""Entries before the end that a new summary reads."""

_AT_ONCE = 100  # entries that are read at a time
_LONG = 2000  # bytes of an entry, which may be a change of many items
_MARKS, _NEWEST, _MAX_OPEN = 200, 200, 5_000
_FORGET_AT = 20_000.0  # rankings; when so many are counted, all counts are halved
_MAX_RANKINGS = 200  # that are looked at in each round; of all others, not even the ids are kept
_MAX_DRIFT = 32  # of them, those that are examined for drift


class RankingSummary(msgspec.Struct):
    """A ranking as a line in the list of the newest ones."""

    id: str
    at: float
    position: int
    model: str
    policy: str
    shown: int
    events: int = 0


class _OpenRanking(msgspec.Struct):
    places: dict[str, int]
    clicked: set[int]


class JournalSummary:
    """What a loop's journal shows besides the models.

    marks : promotions, rollbacks, experiments and new models, oldest first
    newest : rankings by id, oldest first; if there are very many, some of them
    shown, clicked : by place: rankings that had it, and those where it was clicked; of a sample of
        closed rankings, in which older ones count less
    closed, joined : of that sample, all, and those with any feedback
    since : the first position that it has read
    passed_over : number of entries that it skipped because it was too far behind

    Parameters
    ----------
    categorical : whether each column of a ranking holds categories
    """

    def __init__(self, categorical: Sequence[bool]) -> None:
        self.position = self.since = 0
        self.passed_over = 0
        self.marks: deque[Mark] = deque(maxlen=_MARKS)
        self.newest: OrderedDict[str, RankingSummary] = OrderedDict()
        self.shown, self.clicked = np.zeros(PLACES), np.zeros(PLACES)
        self.closed = self.joined = 0.0
        self.drift = Drift(categorical)
        self._open: dict[str, _OpenRanking] = {}
        self._left = 0
        self._promotes = ""

    def examine(self, categorical: Sequence[bool]) -> None:
        """Look for drift in these columns; if they have changed, begin again."""
        if self.drift.categorical != tuple(categorical):
            self.drift = Drift(categorical)

    def follow(self, journal: Journal, recent: Recent, head: int, max_entries: int) -> None:
        """Read new entries up to the position `head`, and at most `max_entries` of them."""
        if not self.since:
            base = journal.base()
            self.position = max(base, head - LOOK_BACK, 0)
            self.since = self.position + 1
        elif head - self.position > LOOK_BACK:
            self.passed_over += head - LOOK_BACK - self.position
            self.position = head - LOOK_BACK
            self._open.clear()  # some of their feedback may have been passed over
        self._left = _MAX_RANKINGS
        until = min(head, self.position + max_entries)
        for record in _records(journal, recent, self.position, until):
            if not isinstance(record.entry, RankedId):
                self._add(record)
            elif self._left:
                self._left -= 1
                self._add(recent(record.position, decode) or journal.record(record.position))
            self.position = record.position

    def _add(self, record: Record) -> None:
        entry = record.entry
        if isinstance(entry, Ranked):
            self._add_ranking(record, entry)
        elif isinstance(entry, Observed):
            summary = self.newest.get(entry.ranking_id)
            if summary is not None:
                summary.events += 1
            ranking = self._open.get(entry.ranking_id)
            if ranking is not None and entry.item in ranking.places:
                ranking.clicked.add(ranking.places[entry.item])
        elif isinstance(entry, Closed):
            self._close(entry)
        else:
            if isinstance(entry, ExperimentStarted):
                self._promotes = entry.id if entry.promote != "no" else ""
            mark = as_mark(record, self._promotes)
            if mark is not None:
                self.marks.append(mark)

    def _add_ranking(self, record: Record, entry: Ranked) -> None:
        self.newest[entry.id] = RankingSummary(
            entry.id,
            record.at / 1000,
            record.position,
            entry.model,
            entry.policy,
            len(entry.order),
        )
        if len(self.newest) > _NEWEST:
            self.newest.popitem(last=False)
        if len(self._open) < _MAX_OPEN:
            shown = [entry.items[row] for row in entry.order[:PLACES]]
            places = {item: place for place, item in enumerate(shown)}
            self._open[entry.id] = _OpenRanking(places, set())
        if self._left >= _MAX_RANKINGS - _MAX_DRIFT:
            self.drift.add(entry.matrix())

    def _close(self, entry: Closed) -> None:
        ranking = self._open.pop(entry.ranking_id, None)
        if ranking is None:
            return
        if self.closed >= _FORGET_AT:
            self.shown /= 2
            self.clicked /= 2
            self.closed /= 2
            self.joined /= 2
        self.closed += 1
        self.joined += bool(ranking.clicked)
        self.shown[: len(ranking.places)] += 1
        self.clicked[list(ranking.clicked)] += 1


def _records(journal: Journal, recent: Recent, after: int, until: int) -> Iterator[Record]:
    """Yield entries from memory if they are there, otherwise from the journal.

    Of rankings, only the id is read.
    """
    while after < until:
        known = recent(after + 1, decode_ids)
        if known is not None:
            after += 1
            yield known
            continue
        rows = journal.rows(after, until, _AT_ONCE)
        if not rows:
            return
        yield from journal.records(after, rows, _decode)
        after = rows[-1].position


def _decode(body: bytes) -> Entry:
    """Return an entry; of a long change of items or users, which are of no interest here, nothing.

    A catalogue may be most of a journal, and decoding it takes as long as adding it.
    """
    if len(body) > _LONG:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            if _kind.decode(body).kind in ("items_changed", "users_changed"):
                return _CHANGED
    entry: Entry = decode_ids(body)
    return entry


class _Kind(msgspec.Struct):
    kind: str


_kind = msgspec.msgpack.Decoder(_Kind)
_CHANGED = ItemsChanged("", "patch", [])
