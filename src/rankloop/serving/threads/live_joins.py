"""Joins and features after the last durable entry, for answers that must not wait for the models.

They follow the journal entry by entry, as the engine does, but nothing is learnt here.
"""

from __future__ import annotations

import threading
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from rankloop.serving.engine.epochs import quarantined_state
from rankloop.serving.engine.joins import Joins
from rankloop.serving.journal.action_entries import Configured, Quarantined
from rankloop.serving.journal.ranking_entries import Closed, Observed, Paged, Ranked
from rankloop.serving.learning.failures import is_contained
from rankloop.serving.learning.fitting import fit_codes
from rankloop.serving.live_features.saving import copy_fold
from rankloop.serving.live_features.statistics import Recent
from rankloop.serving.settings.loop import LoopSettings, read_journaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.features.changes import Change
    from rankloop.features.request import Request
    from rankloop.rankers.base import Ranker
    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.engine.joins import Status
    from rankloop.serving.journal.base import Journal, Record
    from rankloop.serving.live_features.fold import FeatureFold, Kind, Matrix

    EntryStatus: TypeAlias = Status | Literal["accepted"]


class LiveJoins:
    """The joins after the last durable entry, and the windows that are over.

    Windows are closed in the order of their times, not of their positions: another machine, whose
    clock is ahead, must not hold up all rankings after its own. For the same reason, a time in the
    future counts as now.

    Parameters
    ----------
    position : the last entry that the joins have
    now : milliseconds since 1970
    features : the features after it, if the loop computes them; they follow too
    reload : computes features after an entry by the settings in it
    """

    reload: Callable[[LoopSettings, int], FeatureFold] | None = None

    def __init__(
        self,
        position: int,
        settings: LoopSettings | None,
        joins: Joins,
        now: int,
        features: FeatureFold | None = None,
    ) -> None:
        self.position, self.settings, self.joins = position, settings, joins
        self.features = features
        self.lock = threading.Lock()
        self.recent = Recent()
        self._opened = self._by_time(now)
        self._unclosable: set[str] = set()

    @classmethod
    def of(cls, engine: Engine, now: int) -> LiveJoins:
        """Return the joins of an engine; a copy, because the engine changes its own."""
        joins = msgspec.msgpack.decode(msgspec.msgpack.encode(engine.joins), type=Joins)
        return cls(engine.position, engine.settings, joins, now)

    def follow(self, records: Iterable[Record], now: int) -> dict[int, EntryStatus]:
        """Process the next entries, and return the status of each, by position."""
        statuses: dict[int, EntryStatus] = {}
        for record in records:
            if isinstance(record.entry, Configured):  # it may take long, so not under the lock
                self._configure(record.position, record.entry)
            with self.lock:
                statuses[record.position] = self._follow(record, now)
        return statuses

    def _follow(self, record: Record, now: int) -> EntryStatus:
        entry, joins, settings = record.entry, self.joins, self.settings
        status: EntryStatus = "accepted"
        self.position = record.position
        if isinstance(entry, Observed) and settings is not None:
            status = joins.add_event(
                entry.ranking_id, record.position, settings.max_early, settings.max_events
            )
        elif isinstance(entry, Ranked):
            joins.open_ranking(entry.id, record.position, record.at)
            heappush(self._opened, (min(record.at, now), record.position, entry.id))
        elif isinstance(entry, Quarantined):
            self._quarantine(entry, record.position, now)
        elif isinstance(entry, Paged):
            joins.add_page(entry.ranking_id, entry.page)
        elif isinstance(entry, Closed) and settings is not None:
            joins.close(entry.ranking_id, settings.max_closed)
        features = self.features
        if features is not None and features.position < record.position:
            features.apply(record, status, self.joins)
        return status

    def _configure(self, position: int, entry: Configured) -> None:
        """Use new settings; if they define other features, these are computed from the start."""
        features = self.features
        # The engine leaves out settings that it cannot use, and so the joins must do too.
        try:
            settings = read_journaled(entry.settings, self.settings)
        except Exception as error:
            if not is_contained(error):
                raise
            return
        self.settings = settings
        if self.reload is None or features is None:
            return
        if features.settings.feature_rules != settings.feature_rules:
            self.features = self.reload(settings, position)

    def _quarantine(self, entry: Quarantined, position: int, now: int) -> None:
        try:
            state = quarantined_state(entry, position)
        except Exception as error:
            if not is_contained(error):
                raise
            return
        if state is not None:
            self.joins, self.settings = state.joins, state.settings
            self._opened = self._by_time(now)

    def give_up(self, ranking_id: str) -> None:
        """Never again return a ranking as due, because its closing cannot be stored."""
        self._unclosable.add(ranking_id)

    def save(self, journal: Journal) -> None:
        """Save the features. Nothing is ranked and stored while they are copied."""
        if self.features is None or self.settings is None:
            return
        if self.features.position not in journal.fold_positions():
            with self.lock:
                copy = copy_fold(self.features, self.settings, self.joins)
            journal.save_fold(copy.head.position, copy.named_parts)

    def compute(
        self, items: Sequence[str], request: Request, at: int, given: NDArray[np.float32] | None
    ) -> Matrix:
        """Return the features of items after the last durable entry; see :class:`FeatureFold`."""
        with self.lock:
            assert self.features is not None
            matrix = self.features.compute(items, request, at, given)
            self.recent.add(matrix)
            return matrix

    def check(self, kind: Kind, changes: Sequence[Change]) -> None:
        """Raise if changes of items or users do not fit the fields; nothing is changed."""
        with self.lock:
            assert self.features is not None
            self.features.state.check_items(kind, changes)

    def describe(self, kind: Kind, name: str | bytes, at: int) -> dict[str, Any]:
        """Return the fields and the counters of one item or user at a time."""
        with self.lock:
            assert self.features is not None
            return self.features.state.describe(kind, name, at)

    def statistics(self) -> dict[str, Any]:
        """Return numbers of items, users, rankings and keys of counters."""
        with self.lock:
            return {} if self.features is None else self.features.state.statistics()

    def fit_codes(self, model: Ranker, settings: LoopSettings) -> Ranker:
        """Return a model that takes the codes of categories as they are now; see `fit_codes`."""
        with self.lock:
            return fit_codes(
                model, settings, None if self.features is None else self.features.state
            )

    def labels(self) -> dict[str, str]:
        """Return readable names of columns of categories, by the name of the column."""
        with self.lock:
            return {} if self.features is None else self.features.state.labels()

    def unknown_items(self, items: Sequence[str]) -> list[str]:
        """Return those of some items that have no fields."""
        with self.lock:
            assert self.features is not None
            return self.features.unknown_items(items)

    def due(self, now: int, limit: int = 1000) -> list[str]:
        """Return rankings to close, the first due first: the window is over, or there are too many.

        Parameters
        ----------
        now : milliseconds since 1970
        """
        if self.settings is None:
            return []
        opened, waiting = self._opened, self.joins.open
        latest = now - 1000 * self.settings.window
        surplus = len(waiting) - self.settings.max_open
        due: list[tuple[int, int, str]] = []
        while opened and len(due) < limit and (opened[0][0] <= latest or len(due) < surplus):
            ranking = heappop(opened)
            if ranking[2] in waiting and ranking[2] not in self._unclosable:
                due.append(ranking)
        for ranking in due:  # they stay until their closing is durable
            heappush(opened, ranking)
        return [ranking_id for _, _, ranking_id in due]

    def _by_time(self, now: int) -> list[tuple[int, int, str]]:
        opened = [
            (min(ranking.at, now), ranking.position, ranking_id)
            for ranking_id, ranking in self.joins.open.items()
        ]
        heapify(opened)
        return opened
