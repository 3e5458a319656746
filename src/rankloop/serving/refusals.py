"""Which feedback is refused before it reaches the journal; :mod:`joins` decides about the rest."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Literal

from rankloop.serving.journal.entries import Observed, Ranked

if TYPE_CHECKING:
    from rankloop.serving.desk import Desk
    from rankloop.serving.joins import Open
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.recent import Recent

_SHOWN_KEPT = 50_000  # items that are at hand when feedback comes, some 6 MB


class Refusals:
    """Refuses feedback about items that were not shown, and about unknown rankings.

    Feedback about a ranking that is not known may be early: it is refused only if the loop keeps
    no early feedback (`max_early = 0`).

    Parameters
    ----------
    desk : knows which rankings are open, or were closed recently
    recent : has the latest rankings in memory
    journal : has all of them
    """

    def __init__(self, desk: Desk, recent: Recent, journal: Journal) -> None:
        self._desk, self._recent, self._journal = desk, recent, journal
        self._shown_at: OrderedDict[int, frozenset[str]] = OrderedDict()
        self._n_shown = 0

    def reason(self, event: Observed) -> Literal["rejected", "unknown_ranking"] | None:
        """Return why an event is refused; None if it may be journaled."""
        known = self._desk.joins.find(event.ranking_id)
        if known is None:
            settings = self._desk.settings
            keeps_none = settings is not None and settings.max_early == 0
            return "unknown_ranking" if keeps_none else None
        shown = self._shown_at.get(known.position) or self._first_page(known.position)
        if event.item in shown or (known.pages and event.item in self._further_pages(known)):
            return None
        return "rejected"

    def _first_page(self, position: int) -> frozenset[str]:
        """Return the items that a ranking showed, and keep them at hand."""
        ranked = self._recent.record(position, self._journal).entry
        shown = frozenset[str]()
        if isinstance(ranked, Ranked):
            shown = frozenset(ranked.items[row] for row in ranked.order)
        self._shown_at[position] = shown
        self._n_shown += len(shown)
        while self._n_shown > _SHOWN_KEPT and len(self._shown_at) > 1:
            _, oldest = self._shown_at.popitem(last=False)
            self._n_shown -= len(oldest)
        return shown

    def _further_pages(self, known: Open) -> list[str]:
        """Return the items of pages after the first that were shown."""
        ranked = self._recent.record(known.position, self._journal).entry
        if not isinstance(ranked, Ranked):
            return []
        return [ranked.items[row] for page in known.pages for row in ranked.page(page)]
