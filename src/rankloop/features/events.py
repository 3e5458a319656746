"""Events of a log as values: changes of the catalogue, rankings that were shown, interactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankloop.features.request import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.features.changes import Change, Side


@dataclass(frozen=True)
class ItemEvent:
    """A change of an item or a user.

    at : milliseconds since 1970
    """

    kind: Side
    change: Change
    at: int


@dataclass(frozen=True)
class RankingEvent:
    """A list of items that was shown, from the top.

    given : features that came with the items, by item
    """

    id: str
    items: tuple[str, ...]
    request: Request
    at: int
    given: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Interaction:
    """What somebody did with an item; without a ranking, it changes counters only."""

    item: str
    type: str
    value: float
    at: int
    ranking_id: str | None = None
    request: Request = field(default_factory=Request)
    id: str | None = None


Event = ItemEvent | RankingEvent | Interaction
