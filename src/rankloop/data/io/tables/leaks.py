"""Columns whose names look like facts of a log that no model should learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop._utils.argument_names import argument
from rankloop._utils.messages import show_names
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES = {
    "where a document was shown": "position pos rank slot shown_at display_position",
    "who looked": "session session_id user user_id visitor visitor_id visit_id request_id "
    "impression_id ranking_id page_id",
    "when": "timestamp ts time date_time datetime event_time search_time request_time click_time",
    "what came of it": "click clicked is_click click_bool purchase purchased bought ordered "
    "booking booked booking_bool gross_bookings_usd converted conversion added_to_cart dwell "
    "dwell_time",
}
LEAKS = {name: fact for fact, names in _NAMES.items() for name in names.split()}
"""Usual names of such columns, and what they tell."""


def leaks(names: Iterable[str]) -> list[str]:
    """Return the names that look like leaks.

    >>> leaks(["price", "Position", "session_id"])
    ['Position', 'session_id']
    """
    return [name for name in names if name.lower() in LEAKS]


def refuse_leaks(names: Iterable[str]) -> None:
    """Raise if names of features look like leaks; the caller must say what they are."""
    found = leaks(names)
    if not found:
        return
    facts = [fact for fact in _NAMES if fact in {LEAKS[name.lower()] for name in found}]
    told = facts[0] if len(facts) == 1 else f"{', '.join(facts[:-1])} and {facts[-1]}"
    raise DataError(
        f"{show_names(found)} by {'its name' if len(found) == 1 else 'their names'} would tell "
        f"{told}, which is not known before the documents are ranked, or should not matter then; "
        f"leave it out with {argument('drop')}, name the position with {argument('position')}, or "
        f"use it with {argument('include')} if it is a feature all the same"
    )
