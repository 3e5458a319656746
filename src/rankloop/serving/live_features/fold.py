"""Features after the last durable entry: items, users and counters, as the entries changed them.

    state = fold(apply, entries)

Every ranking stores the matrix that was computed for it, the position of the fold and the time, so
that a replay can compute the same bits again, and rankers learn exactly what was shown.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from rankloop.exceptions import DataError
from rankloop.features.changes import Change
from rankloop.features.request import Request
from rankloop.features.state import FeatureState
from rankloop.serving.journal.action_entries import Checked, Forgotten
from rankloop.serving.journal.entries import Entry, digest_of
from rankloop.serving.journal.feature_entries import Counted, ItemsChanged, UsersChanged
from rankloop.serving.journal.ranking_entries import JUDGED, Observed, Paged, Ranked
from rankloop.serving.learning.failures import DivergedError, is_contained

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.serving.engine.joins import Joins
    from rankloop.serving.journal.base import Record
    from rankloop.serving.journal.feature_entries import Asker
    from rankloop.serving.settings.loop import LoopSettings

    Kind: TypeAlias = Literal["items", "users"]

_log = logging.getLogger("rankloop.serving")

SHOWN = ("impression", "examination")
"""Types of events that follow from rankings; nobody sends them."""

_CHECKS_KEPT = 64  # digests that wait for a `Checked` entry; learning may be far behind


class Matrix(NamedTuple):
    """Computed features, with what is needed to compute them again.

    X : one row per item; NaN is a missing value
    names : of the columns
    after : the position of the fold
    columns : the position of the settings that define the columns
    unknown : items without fields
    """

    X: NDArray[np.float32]
    names: tuple[str, ...]
    after: int
    columns: int
    unknown: tuple[str, ...] = ()


class FeatureFold:
    """The features of a loop after an entry. Threads that share it use it under a lock.

    Parameters
    ----------
    settings : of the loop; they define the features
    columns : position of these settings in the journal
    fetch : returns the entry at an earlier position
    """

    def __init__(
        self,
        settings: LoopSettings,
        columns: int,
        fetch: Callable[[int], Entry],
        state: FeatureState | None = None,
    ) -> None:
        self.settings, self.definitions, self.columns = settings, settings.definitions, columns
        self.position = 0
        self.state = state or FeatureState(
            settings.definitions,
            settings.examination,
            settings.max_catalogue,
            settings.max_keys,
        )
        self.misfits = 0
        self.digests: dict[int, str] = {}
        self._fetch, self._check_every = fetch, settings.check_every

    def compute(
        self, items: Sequence[str], request: Request, at: int, given: NDArray[np.float32] | None
    ) -> Matrix:
        """Return the features of items, as they are after the last entry.

        Parameters
        ----------
        at : the time, in milliseconds since 1970
        given : what the caller sent, one column per given feature
        """
        view = self.state.look(items, request, at, given)
        # Seldom are there any, so counting them comes first.
        unknown = tuple(self.unknown_items(items)) if view.count_unknown() else ()
        return Matrix(view.out, self.settings.names, self.position, self.columns, unknown)

    @property
    def event_types(self) -> list[str]:
        """The types of events that change a counter."""
        types = [name for c in self.definitions.counters for name in (c.event, c.of)]
        return [name for name in dict.fromkeys(types) if name not in ("", *SHOWN)]

    def unknown_items(self, items: Sequence[str]) -> list[str]:
        """Return those of some items that have no fields, although fields of items are defined."""
        if not self.definitions.fields["item"]:
            return []
        return [item for item in items if not self.state.knows("items", item)]

    def apply(self, record: Record, status: str, joins: Joins) -> None:
        """Process the next entry.

        Parameters
        ----------
        status : what the joins say about an event: applied, pending, late or rejected
        joins : after this entry
        """
        change = _APPLY.get(type(record.entry))
        if change is not None:
            try:
                change(self, record, record.entry, status, joins)
            except Exception as error:
                # An error that ended the loop would end it again after every restart. Features that
                # an entry cannot change stay as they were, at the same position on every machine.
                if not is_contained(error):
                    raise
                self.misfits += 1
                _log.warning("entry %d changes no features: %s", record.position, error)
        self.position = record.position
        if record.position % self._check_every == 0:
            self.digests[record.position] = self.digest()
            if len(self.digests) > _CHECKS_KEPT:
                del self.digests[next(iter(self.digests))]

    def digest(self) -> str:
        """Return a text that is equal exactly if the same entries were applied."""
        return digest_of(self.state.digest(), self.position.to_bytes(8, "little")).hex()

    # One method for each kind of entry.

    def _change_items(self, record: Record, entry: ItemsChanged, *_: object) -> None:
        self._change(
            "items", [Change(item, fields, entry.mode) for item, fields in entry.items], record
        )

    def _change_users(self, record: Record, entry: UsersChanged, *_: object) -> None:
        self._change(
            "users", [Change(user, fields, entry.mode) for user, fields in entry.users], record
        )

    def _change(self, kind: Kind, changes: list[Change], record: Record) -> None:
        """Change items or users, without fields that are not defined, or now of another type.

        The journal may be older than the present definitions of fields.
        """
        try:
            self.state.change_items(kind, changes, record.at)
        except DataError:  # then nothing was changed
            fitting = [self._fit_one(kind, change) for change in changes]
            self.state.change_items(kind, fitting, record.at)

    def _fit_one(self, kind: Kind, change: Change) -> Change:
        fields: dict[str, object] = {}
        for name, value in (change.fields or {}).items():
            try:
                self.state.check_items(kind, [Change(change.id, {name: value}, change.mode)])
            except DataError:
                self.misfits += 1
            else:
                fields[name] = value
        return Change(change.id, None if change.fields is None else fields, change.mode)

    def fitting_request(
        self, asker: Asker | None, text: Mapping[str, str] | None = None
    ) -> Request:
        """Return what features know about a request, without fields that do not fit any more."""
        if asker is None or not asker.fields:
            return request_of(asker, text)
        known, fields = self.definitions.fields["request"], {}
        for name, value in asker.fields.items():
            try:
                if name in known:
                    known[name].check(value)
                    fields[name] = value
            except DataError:
                self.misfits += 1
        return Request(asker.user, asker.session, asker.query, fields, text or {})

    def _show(self, record: Record, entry: Ranked, _: str, joins: Joins) -> None:
        if entry.policy == JUDGED:
            return
        asker = None if entry.computed is None else entry.computed.asker
        shown = [entry.items[row] for row in entry.order]
        self.state.show(entry.id, shown, self.fitting_request(asker), record.at)
        opened = joins.open.get(entry.id)
        for position in () if opened is None else opened.events:  # they came before the ranking
            event = self._fetch(position)
            if isinstance(event, Observed) and event.item in shown:
                self._observe_event(event, record.at)

    def _show_page(self, record: Record, entry: Paged, _: str, joins: Joins) -> None:
        opened = joins.open.get(entry.ranking_id)  # closed ones may be only in the archive
        ranked = None if opened is None else self._fetch(opened.position)
        if not isinstance(ranked, Ranked):
            return
        asker = None if ranked.computed is None else ranked.computed.asker
        items = [ranked.items[row] for row in ranked.page(entry.page)]
        first = 1 + (entry.page - 1) * len(ranked.order)
        self.state.show(ranked.id, items, self.fitting_request(asker), record.at, first)

    def _observe(self, record: Record, entry: Observed, status: str, _: Joins) -> None:
        if status in ("applied", "late"):
            self._observe_event(entry, record.at)

    def _observe_event(self, entry: Observed, at: int) -> None:
        self.state.observe(entry.item, entry.type, entry.value, at, entry.ranking_id, None)

    def _count(self, record: Record, entry: Counted, *_: object) -> None:
        request = self.fitting_request(entry.asker)
        self.state.observe(entry.item, entry.type, entry.value, record.at, None, request)

    def _forget(self, _: Record, entry: Forgotten, *__: object) -> None:
        if entry.counters:
            self.state.forget(entry.counters)

    def _compare(self, _: Record, entry: Checked, *__: object) -> None:
        digest = self.digests.get(entry.position)
        # Other definitions have other digests; those of a journal's past cannot be compared.
        if not (digest and entry.features) or entry.position < self.columns:
            return
        if digest != entry.features:
            raise DivergedError(
                f"after entry {entry.position} the features here have the digest {digest}, but the "
                f"journal has {entry.features}; start again from a snapshot or by replay"
            )


def request_of(asker: Asker | None, text: Mapping[str, str] | None = None) -> Request:
    """Return what features know about a request, from an entry; texts are not in entries."""
    if asker is None:
        return Request(text=text or {})
    return Request(asker.user, asker.session, asker.query, asker.fields, text or {})


_APPLY: Mapping[type, Callable[..., Any]] = {
    ItemsChanged: FeatureFold._change_items,
    UsersChanged: FeatureFold._change_users,
    Ranked: FeatureFold._show,
    Paged: FeatureFold._show_page,
    Observed: FeatureFold._observe,
    Counted: FeatureFold._count,
    Forgotten: FeatureFold._forget,
    Checked: FeatureFold._compare,
}
