"""Events of a log as values: changes of the catalogue, rankings that were shown, interactions."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.features.changes import Change, Side
    from rankloop.features.request import Request


class ItemEvent(NamedTuple):
    """A change of an item or a user.

    at : milliseconds since 1970
    """

    kind: Side
    change: Change
    at: int


class RankingEvent(NamedTuple):
    """A list of items that was shown, from the top.

    given : features that came with the items, by item
    """

    id: str
    items: tuple[str, ...]
    request: Request
    at: int
    given: Mapping[str, Mapping[str, float]] = MappingProxyType({})


class Interaction(NamedTuple):
    """What somebody did with an item; without a ranking, it changes counters only.

    request : who did it, and in which context; None for that of the ranking
    """

    item: str
    type: str
    value: float
    at: int
    ranking_id: str | None = None
    request: Request | None = None
    id: str | None = None


Event = ItemEvent | RankingEvent | Interaction
