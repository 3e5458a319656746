"""Which feedback is refused before it reaches the journal; the joins decide about the rest."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from rankloop.serving.journal.base import CompactedError
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.settings.loop import fault_of_value
from rankloop.serving.threads.queue import Answer

if TYPE_CHECKING:
    from rankloop.serving.engine.joins import Open
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.cache import EntryCache
    from rankloop.serving.journal.ranking_entries import Observed
    from rankloop.serving.threads.live_joins import LiveJoins

_SHOWN_KEPT = 50_000  # items of recent rankings in memory, up to 10 MB


class Refusals:
    """Refuses feedback of impossible value, about items not shown, and about unknown rankings.

    Feedback about a ranking that is not known may be early: it is refused only if the loop keeps
    no early feedback (`max_early = 0`).

    Parameters
    ----------
    live : knows which rankings are open, or were closed recently
    recent : has the latest rankings in memory
    journal : has all of them
    """

    def __init__(self, live: LiveJoins, recent: EntryCache, journal: Journal) -> None:
        self._live, self._recent, self._journal = live, recent, journal
        self._shown_at: OrderedDict[int, frozenset[str]] = OrderedDict()
        self._n_shown = 0

    def refuse(self, event: Observed, new: Ranked | None = None) -> Answer | None:
        """Return the answer to an event that is refused; None if it may be journaled.

        Parameters
        ----------
        new : the ranking of the event, if it comes with it and is not stored yet
        """
        settings = self._live.settings
        fault = "" if settings is None else fault_of_value(settings.rules, event.type, event.value)
        if fault:
            return Answer("rejected", None, fault)
        known = self._live.joins.find(event.ranking_id)
        if known is None and new is not None:
            return None if event.item in _items(new) else _not_shown(event)
        if known is None:
            if settings is None or settings.max_early > 0:
                return None
            return Answer("unknown_ranking", None, f"there is no ranking {event.ranking_id!r:.80}")
        try:
            shown = self._shown_at.get(known.position) or self._first_page(known.position)
            if event.item in shown or (known.pages and event.item in self._further_pages(known)):
                return None
        except CompactedError:  # nobody can tell any more; the event is late, and counted as such
            return None
        return _not_shown(event)

    def _first_page(self, position: int) -> frozenset[str]:
        """Return the items on the first page of a ranking, and keep them in memory."""
        ranked = self._recent.record(position, self._journal).entry
        shown = _items(ranked) if isinstance(ranked, Ranked) else frozenset[str]()
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


def _items(ranked: Ranked) -> frozenset[str]:
    """Return the items on the first page of a ranking."""
    return frozenset(ranked.items[row] for row in ranked.order)


def _not_shown(event: Observed) -> Answer:
    fault = f"item: {event.item!r:.80} was not shown in ranking {event.ranking_id!r:.80}"
    return Answer("rejected", None, fault)
