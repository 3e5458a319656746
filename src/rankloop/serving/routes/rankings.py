"""`GET /v1/{loop}/rankings/{id}`: a ranking as it was shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rankloop.serving.journal.entries import Ranked
from rankloop.serving.problems import Problem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.rank import RankAnswer, rank_answer

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.routes.base import Call


async def ranking(call: Call) -> Response:
    """Return a ranking from the journal."""
    ranking_id = call.path["id"]
    found = await asyncio.to_thread(call.loop.find_ranking, ranking_id)
    if found is None or not isinstance(found.entry, Ranked):
        raise Problem(404, f"there is no ranking {ranking_id!r:.80} in this loop's journal")
    return answer(rank_answer(found.entry, found.position))


RANKING = Endpoint(
    "GET",
    "/v1/{loop}/rankings/{id}",
    ranking,
    "A ranking as it was shown.",
    "rank",
    answer=RankAnswer,
)
