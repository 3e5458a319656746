"""The front desk: it always knows which feedback belongs to which ranking, even if rankers lag.

It follows the journal entry by entry as the engine does, but learns nothing, so that an answer
never waits for a ranker.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from rankloop.serving.config import LoopSettings
from rankloop.serving.joins import Joins
from rankloop.serving.journal.entries import Closed, Configured, Observed, Paged, Ranked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankloop.serving.engine import Engine
    from rankloop.serving.joins import Status
    from rankloop.serving.journal.base import Record

    Outcome: TypeAlias = Status | Literal["accepted"]


class Desk:
    """The joins after the last entry of the journal, and the windows that are over."""

    def __init__(self, engine: Engine) -> None:
        self.position = engine.position
        self.settings = engine.settings
        self.joins = msgspec.msgpack.decode(msgspec.msgpack.encode(engine.joins), type=Joins)
        self._opened = deque(self.joins.open)

    def follow(self, records: Iterable[Record]) -> dict[int, Outcome]:
        """Process the next entries, and return the status of each, by position."""
        found: dict[int, Outcome] = {}
        for record in records:
            entry, settings, self.position = record.entry, self.settings, record.position
            if isinstance(entry, Observed) and settings is not None:
                found[record.position] = self.joins.observed(
                    entry.ranking_id, record.position, settings.max_early, settings.max_events
                )
            else:
                self._follow(record)
                found[record.position] = "accepted"
        return found

    def _follow(self, record: Record) -> None:
        entry, joins, settings = record.entry, self.joins, self.settings
        if isinstance(entry, Ranked):
            joins.ranked(entry.id, record.position, record.at)
            self._opened.append(entry.id)
        elif isinstance(entry, Configured):
            self.settings = msgspec.json.decode(entry.settings, type=LoopSettings)
        elif isinstance(entry, Paged):
            joins.paged(entry.ranking_id, entry.page)
        elif isinstance(entry, Closed) and settings is not None:
            joins.close(entry.ranking_id, settings.max_closed)

    def due(self, now: int, limit: int = 1000) -> list[str]:
        """Return rankings to close, oldest first: the window is over, or there are too many."""
        if self.settings is None:
            return []
        waiting = self.joins.open
        while self._opened and self._opened[0] not in waiting:
            self._opened.popleft()
        latest = now - 1000 * self.settings.window
        surplus = len(waiting) - self.settings.max_open
        found: list[str] = []
        for ranking_id in islice(self._opened, limit):
            ranking = waiting.get(ranking_id)
            if ranking is None:
                continue
            if len(found) >= surplus and ranking.at > latest:
                break
            found.append(ranking_id)
        return found
