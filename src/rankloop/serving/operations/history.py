"""Import of a log into a loop that computes features: as if the loop had been there.

Every event becomes an entry with the time of the log, in order of time, and the features of each
ranking are computed from the entries before it. Rankings are closed at the end, so that all their
feedback is learnt from.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from rankloop.data.catalogue import read_catalogue
from rankloop.exceptions import DataError
from rankloop.features.batch import given_matrix
from rankloop.features.changes import Change
from rankloop.features.event_log import EventReader
from rankloop.features.events import Interaction, ItemEvent, RankingEvent
from rankloop.feedback.event_files import read_events
from rankloop.feedback.event_sort import SortedEvents
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.base import Record, make_row
from rankloop.serving.journal.cache import EntryCache
from rankloop.serving.journal.entries import Entry, digest_of
from rankloop.serving.journal.feature_entries import (
    Asker,
    Computed,
    Counted,
    ItemsChanged,
    UsersChanged,
)
from rankloop.serving.journal.ranking_entries import LOGGED, Closed, Observed, Ranked
from rankloop.serving.live_features.fold import request_of
from rankloop.serving.operations.lease import take_lease
from rankloop.serving.operations.personal import vault_if_any
from rankloop.serving.routes.candidates import check_printable
from rankloop.serving.routes.catalogue import AT_ONCE
from rankloop.serving.routes.computed import ComputedItems
from rankloop.serving.routes.feedback import make_shown_ranking
from rankloop.serving.security.hashes import load_hashes
from rankloop.serving.settings.loop import fault_of_value
from rankloop.serving.threads.loading import load_features
from rankloop.serving.threads.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rankloop.features.event_log import Unit
    from rankloop.features.events import Event
    from rankloop.features.fields import Side
    from rankloop.features.request import Request
    from rankloop.serving.journal.base import Journal, Row
    from rankloop.serving.security.hashes import Hashes
    from rankloop.serving.settings.loop import LoopSettings

_AT_ONCE = 2000  # entries a transaction
_MOST_BYTES = 16_000_000  # of entries that are applied, but not stored


class LogSource(NamedTuple):
    """What to import, and how to read it.

    items : a catalogue that was known before the log; `item_id` is its column of ids
    unit : of times that are numbers
    master_key_file : of the keys that encrypt the journal's key for hashes
    """

    logs: Sequence[str] = ()
    items: Path | None = None
    item_id: str | None = None
    unit: Unit = "guess"
    master_key_file: str = ""


class History:
    """A catalogue and logs that were read and checked: no event can be refused later.

    Iterating yields events in order of time, the catalogue at the time of the first one. No more of
    either is in memory than :data:`~rankloop.feedback.event_sort.AT_ONCE` says.

    notes : what was left out or guessed
    """

    def __init__(self, source: LogSource, settings: LoopSettings) -> None:
        self.notes: list[str] = []
        self._items, self._logged = SortedEvents(), SortedEvents()
        if source.items is not None:
            fields = settings.definitions.fields["item"]
            rows = read_catalogue(source.items, fields, source.item_id, self.notes.append)
            for name, values in rows:
                item = ItemEvent("items", Change(name, values), 0)
                _check(item, settings)
                self._items.add(item)
        reader = EventReader(settings.definitions, source.unit, whole_items=True)
        logged = chain.from_iterable(read_events(path, reader) for path in source.logs)
        for event in chain(logged, reader.finish()):
            _check(event, settings)
            self._logged.add(event)
        if self._logged.first is not None and source.unit == "guess":
            words = {"s": "seconds", "ms": "milliseconds", "guess": "dates"}[reader.unit]
            self.notes.append(f"times are {words}")
        self.notes += (f"left out: {times:,} {what}" for what, times in reader.notes.items())

    def __bool__(self) -> bool:
        """Whether there is anything to import."""
        return (self._items.first, self._logged.first) != (None, None)

    def __iter__(self) -> Iterator[Event]:
        """Yield the catalogue, and then all events."""
        at = self._logged.first or 0
        return chain((item._replace(at=at) for item in self._items), self._logged)


def _check(event: Event, settings: LoopSettings) -> None:
    """Raise if a loop cannot take an event; the message names it."""
    if isinstance(event, ItemEvent):
        side: Side = "user" if event.kind == "users" else "item"
        change = event.change
        name = change.id if isinstance(change.id, str) else change.id.decode()
        check_printable([name])
        for field, value in (change.fields or {}).items():
            if field in settings.definitions.fields[side]:  # others may be defined later
                _check_field(settings, side, field, value, f"{side} {name!r}")
        return
    request = event.request
    if isinstance(event, RankingEvent):
        check_printable([event.id, *event.items])
        where = f"ranking {event.id!r}"
    else:
        check_printable([event.item, event.type, event.ranking_id or "", event.id or ""])
        where = f"event about {event.item!r}"
        if fault := fault_of_value(settings.rules, event.type, event.value):
            raise DataError(f"{where}: {fault}")
        if not abs(event.value) < np.inf:
            raise DataError(f"{where}: the value is {event.value}; give a finite number")
    for field, value in ({} if request is None else request.fields).items():
        _check_field(settings, "request", field, value, where)


def _check_field(settings: LoopSettings, side: Side, name: str, value: object, where: str) -> None:
    try:
        settings.definitions.fields[side][name].check(value)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def import_history(
    journal: Journal, events: Iterable[Event], now: int = 0, master_key_file: str = ""
) -> Counter[str]:
    """Append events of a :class:`History`, and return how many entries of each kind were new.

    Events and rankings that the journal has already, by their ids, are left out; so a log that is
    imported again adds nothing. No service may use the journal meanwhile.

    Parameters
    ----------
    now : the time, in milliseconds
    """
    take_lease(journal)
    try:
        importer = _Importer(journal, now, master_key_file)
        importer.add(events)
        return importer.counts
    finally:
        journal.release()


class _Importer:
    """Makes entries, applies them to the loop's features, and appends them to the journal."""

    def __init__(self, journal: Journal, now: int, master_key_file: str) -> None:
        self._journal = journal
        self._hashes: Hashes = load_hashes(journal, vault_if_any(journal, master_key_file))
        engine = load_engine(journal)
        settings = engine.settings
        assert settings is not None
        self._settings = settings
        self._recent = EntryCache()
        self._rows: list[Row] = []  # applied, but not stored yet
        self._bytes = 0
        self._keys: set[str] = set()  # of entries that are not stored yet
        self._patches: dict[str, dict[str, object]] = {}
        columns = max(engine.columns)
        self._live = load_features(journal, settings, columns, now, None, self._recent)
        assert self._live.features is not None
        self._refusals = Refusals(self._live, self._recent, journal)
        self._types = {*settings.rules, *self._live.features.event_types}
        self._opened: list[tuple[str, int]] = []
        self._copies: Counter[bytes] = Counter()
        self.counts: Counter[str] = Counter()

    def add(self, events: Iterable[Event]) -> None:
        """Add all events, close their rankings, and save the features."""
        for _, group in groupby(events, _sort_of):
            while part := list(islice(group, AT_ONCE)):
                if isinstance(part[0], ItemEvent):
                    self._change(part)  # type: ignore[arg-type] # a group has one sort
                    continue
                for event in part:
                    self._rank(event) if isinstance(event, RankingEvent) else self._observe(event)  # type: ignore[arg-type]
        for ranking_id, at in self._opened:
            self._append(Closed(ranking_id), at, "closed")
        self._send()
        self._live.save(self._journal)

    def _change(self, events: Sequence[ItemEvent]) -> None:
        """Append changes of items or users as one entry."""
        first = events[0]
        mode, at = first.change.mode, first.at
        if first.kind == "items":
            items = [(str(e.change.id), dict(e.change.fields or {})) for e in events]
            if mode == "patch":  # UBI says with every event what its object is
                items = [(item, fields) for item, fields in items if self._is_new(item, fields)]
            else:
                for item, _ in items:
                    self._patches.pop(item, None)
            if not items:
                return
            name = self._name("change", mode, items, at)
            if not self._is_known(f"change:{name}"):
                self._append(ItemsChanged(name, mode, items), at, "items", len(items))  # type: ignore[arg-type]
        else:
            users = [
                (self._hashes.user(bytes(e.change.id).decode()) or b"", dict(e.change.fields or {}))  # type: ignore[arg-type]
                for e in events
            ]
            name = self._name("change", mode, users, at)
            if not self._is_known(f"change:{name}"):
                self._append(UsersChanged(name, mode, users), at, "users", len(users))  # type: ignore[arg-type]

    def _is_new(self, item: str, fields: dict[str, object]) -> bool:
        """Whether a patch is not the same as the last one of its item."""
        same = self._patches.get(item) == fields
        self._patches[item] = fields
        return not same

    def _rank(self, event: RankingEvent) -> None:
        if self._is_known(f"ranking:{event.id}"):
            if self._is_unfinished(event.id):
                self._opened.append((event.id, event.at))
            return
        asker = self._asker(event.request)
        given = given_matrix(event, self._settings.definitions)
        sent = digest_of(
            b"" if given is None else given.tobytes(),
            msgspec.msgpack.encode(asker.fields, order="sorted"),
        )
        items = list(event.items)
        request = request_of(asker, event.request.text)
        matrix = self._live.compute(items, request, event.at, given)
        computed = Computed(event.at, matrix.after, matrix.columns, sent, asker)
        shown = ComputedItems(items, matrix.X, matrix.names, computed)
        self._append(make_shown_ranking(event.id, shown), event.at, "rankings")
        self._opened.append((event.id, event.at))

    def _is_unfinished(self, ranking_id: str) -> bool:
        """Return whether an import that was interrupted left a ranking open."""
        opened = self._live.joins.open.get(ranking_id)
        if opened is None:
            return False
        entry = self._recent.record(opened.position, self._journal).entry
        return isinstance(entry, Ranked) and entry.policy == LOGGED

    def _observe(self, event: Interaction) -> None:
        if event.type not in self._types:
            self.counts[f"left out, because nothing uses {event.type}"] += 1
            return
        parts = (event.item, event.type, event.value, event.at, event.ranking_id)
        name = event.id or self._name("event", *parts, self._asker(event.request))
        if self._is_known(f"event:{name}"):
            return
        rest = (event.item, event.type, event.value, event.at / 1000)
        if event.ranking_id is not None:
            entry = Observed(name, event.ranking_id, *rest)
            if self._refusals.refuse(entry) is not None:
                self._keys.discard(entry.key)
                self.counts["left out, because their items were not shown"] += 1
            else:
                self._append(entry, event.at, "events")
        else:
            self._append(Counted(name, *rest, self._asker(event.request)), event.at, "events")

    def _asker(self, request: Request | None) -> Asker:
        """Return who asked, by the keyed hashes of the journal."""
        if request is None:
            return Asker()
        hashes, user, session, query = self._hashes, request.user, request.session, request.query
        return Asker(
            None if user is None else hashes.user(user.decode()),
            None if session is None else hashes.session(session.decode()),
            None if query is None else hashes.query(query.decode()),
            {name: value for name, value in request.fields.items() if value is not None},
        )

    def _name(self, kind: str, *parts: object) -> str:
        """Return an id that the same log gives again: a digest of the contents and their number."""
        digest = digest_of(msgspec.msgpack.encode((kind, parts)))
        self._copies[digest] += 1
        return f"log-{digest_of(digest, str(self._copies[digest]).encode()).hex()}"

    def _is_known(self, key: str) -> bool:
        """Whether the journal has an entry already, which is then left out."""
        known = key in self._keys or self._journal.find(key) is not None
        if known:
            self.counts["left out, because they are there already"] += 1
        else:
            self._keys.add(key)
        return known

    def _append(self, entry: Entry, at: int, what: str, n: int = 1) -> None:
        """Apply an entry, and store it together with others."""
        row = make_row(entry, at)
        position = self._live.position + 1
        self._recent.add([(position, at, row.body)])  # where the features find it
        self._live.follow([Record(position, at, entry)], at)
        self._rows.append(row)
        self._bytes += len(row.body)
        self.counts[what] += n
        if len(self._rows) >= _AT_ONCE or self._bytes > _MOST_BYTES:
            self._send()

    def _send(self) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        self._keys.clear()
        first = self._live.position - len(rows) + 1
        self._journal.lead()
        for n, outcome in enumerate(self._journal.append(rows)):
            if (outcome.status, outcome.position) != ("new", first + n):
                raise DataError(
                    f"{self._journal.where}: something else was appended during the import, which "
                    f"ended after entry {first - 1}; stop all services, and import again"
                )


def _sort_of(event: Event) -> object:
    """Return what is equal for changes that may be one entry."""
    return (event.kind, event.change.mode) if isinstance(event, ItemEvent) else None
