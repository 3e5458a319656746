"""Which feedback belongs to which ranking: ids and positions, never features.

All limits are counts of entries, so that a replay decides as the live loop did.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import Literal

import msgspec

Status = Literal["applied", "pending", "late", "rejected"]


class Open(msgspec.Struct):
    """A ranking that waits for feedback: its position, its time, and the positions of its events.

    pages : the pages that were shown after the first one
    """

    position: int
    at: int
    events: list[int]
    pages: list[int] = []


class Joins(msgspec.Struct, dict=True):
    """Open rankings, feedback that came before its ranking, and recently closed rankings.

    All are in order of arrival; the oldest feedback without a ranking, and the oldest closed id,
    are forgotten first.

    Examples
    --------
    >>> joins = Joins()
    >>> joins.add_event("r1", 1, max_early=10, max_events=10)
    'pending'
    >>> joins.open_ranking("r1", 2, at=1000)
    >>> joins.add_event("r1", 3, max_early=10, max_events=10)
    'applied'
    >>> joins.close("r1", max_closed=10)
    Open(position=2, at=1000, events=[1, 3], pages=[])
    >>> joins.add_event("r1", 5, max_early=10, max_events=10)
    'late'
    """

    open: dict[str, Open] = msgspec.field(default_factory=dict)
    early: dict[str, list[int]] = msgspec.field(default_factory=dict)
    closed: dict[str, Open] = msgspec.field(default_factory=dict)
    n_early: int = 0
    forgotten: int = 0

    def open_ranking(self, ranking_id: str, position: int, at: int) -> None:
        """Open a ranking, with the feedback that came before it."""
        events = self.early.pop(ranking_id, [])
        self.n_early -= len(events)
        self.open[ranking_id] = Open(position, at, events)

    def add_event(self, ranking_id: str, position: int, max_early: int, max_events: int) -> Status:
        """Add an event, and return its status."""
        ranking = self.open.get(ranking_id)
        if ranking is not None:
            events = ranking.events
            if len(events) >= max_events:
                return "rejected"
            events.append(position)
            return "applied"
        if ranking_id in self.closed:
            return "late"
        self.early.setdefault(ranking_id, []).append(position)
        self.n_early += 1
        while self.n_early > max_early:
            lost = self.early.pop(next(iter(self.early)))
            self.n_early -= len(lost)
            self.forgotten += len(lost)
        return "pending"

    def close(self, ranking_id: str, max_closed: int) -> Open | None:
        """Close a ranking and return it; None if it is not open."""
        ranking = self.open.pop(ranking_id, None)
        if ranking is not None:
            if ranking_id not in self.closed:
                self._closed_first.append(ranking_id)
            self.closed[ranking_id] = ranking
            while len(self.closed) > max_closed:
                del self.closed[self._closed_first.popleft()]
        return ranking

    @cached_property
    def _closed_first(self) -> deque[str]:
        """The closed ids, oldest first.

        The first key of a dict is slow to find after many deletions at its front: they leave gaps.
        """
        return deque(self.closed)

    def add_page(self, ranking_id: str, page: int) -> None:
        """Record that a further page of a ranking was shown."""
        ranking = self.find(ranking_id)
        if ranking is not None and page not in ranking.pages:
            ranking.pages.append(page)

    def add_late_event(self, ranking_id: str, position: int, max_events: int) -> Open | None:
        """Add an event to a closed ranking and return the ranking; None if it cannot be added."""
        ranking = self.closed.get(ranking_id)
        if ranking is None or len(ranking.events) >= max_events:
            return None
        ranking.events.append(position)
        return ranking

    def find(self, ranking_id: str) -> Open | None:
        """Return a ranking that is open or was recently closed; None if it is not known."""
        return self.open.get(ranking_id) or self.closed.get(ranking_id)

    def position(self, ranking_id: str) -> int | None:
        """Return the position of a ranking, open or recently closed; None if it is not known."""
        ranking = self.find(ranking_id)
        return None if ranking is None else ranking.position
