"""Events that are left out of a replay, chosen by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.serving.journal.ranking_entries import Judged, Observed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankloop.serving.journal.base import Record


class EventSelection:
    """Feedback and judgements with these ids; in an id, `*` stands for any characters.

    Cost: linear in the length of an id, whatever the pattern is; a regular expression could hold
    a process for minutes.

    Examples
    --------
    >>> bots = EventSelection(["bot-*", "e17", "*-test-*"])
    >>> [bots.has(event) for event in ("bot-3", "robot-3", "e17", "e170", "a-test-1")]
    [True, False, True, False, True]
    """

    def __init__(self, ids: Iterable[str]) -> None:
        ids = list(ids)
        self._exact = {event_id for event_id in ids if "*" not in event_id}
        self._patterns = [event_id.split("*") for event_id in ids if "*" in event_id]
        self.taken = 0

    def has(self, event_id: str) -> bool:
        """Return whether an id is one of these."""
        return event_id in self._exact or any(_match(p, event_id) for p in self._patterns)

    def __call__(self, record: Record) -> bool:
        """Return whether an entry is selected, and count it."""
        entry = record.entry
        selected = isinstance(entry, Observed | Judged) and self.has(entry.id)
        self.taken += selected
        return selected


def _match(parts: list[str], text: str) -> bool:
    """Return whether parts follow each other in a text, the first and last at its ends."""
    first, *middle, last = parts
    if len(text) < len(first) + len(last) or not text.startswith(first):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return text.endswith(last)
