"""`GET /v1/{loop}/features`: what the loop computes, and what it looks like at the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rankloop.serving.live_features.statistics import ColumnStatistics
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.routes.base import Call


class FeaturesAnswer(msgspec.Struct):
    """The definitions, and statistics of this process.

    columns : of recent rankings
    unknown_items : the share of ranked items without fields
    state : numbers of items, users, keys of counters, and keys that had to go
    misfits : values of fields in the journal that the definitions do not accept
    """

    definitions: dict[str, Any]
    columns: list[ColumnStatistics]
    unknown_items: float
    state: dict[str, Any]
    misfits: int


async def features(call: Call) -> Response:
    """Return definitions and statistics."""
    live = call.loop.live
    if live.features is None:
        raise HTTPProblem(
            404, f"loop {call.loop.name} computes no features; callers send those of each item"
        )
    recent = live.recent
    return answer(
        FeaturesAnswer(
            live.features.definitions.to_dict(),
            recent.columns(live.features.definitions.columns),
            recent.unknown / max(recent.items, 1),
            live.statistics(),
            live.features.misfits,
        )
    )


FEATURES = Endpoint(
    "GET",
    "/v1/{loop}/features",
    features,
    "What the loop computes, with statistics.",
    "metrics",
    answer=FeaturesAnswer,
)
