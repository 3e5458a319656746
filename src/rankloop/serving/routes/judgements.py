"""`POST /v1/{loop}/judgements`: grades from people; they are learnt at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from rankloop.feedback.grading import MAX_GRADE
from rankloop.feedback.ids import new_id
from rankloop.serving.journal.ranking_entries import Judged, Ranked
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, check_printable
from rankloop.serving.routes.feedback import EventAnswer

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.routes.base import Call


class JudgementRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Grades by item, from 0 to 30, higher is better; items without a grade stay unjudged."""

    ranking_id: Id
    grades: Annotated[dict[Id, Annotated[float, Meta(ge=0, le=MAX_GRADE)]], Meta(min_length=1)]
    event_id: Id | None = None
    timestamp: float | None = None


async def judgements(call: Call) -> Response:
    """Store a judgement in the journal."""
    loop, request = call.loop, call.body
    event_id = new_id() if request.event_id is None else request.event_id
    check_printable([event_id, request.ranking_id, *request.grades])
    call.service.guard.charge(call.client, 1)
    record = await asyncio.to_thread(loop.find_ranking, request.ranking_id)
    if record is None or not isinstance(record.entry, Ranked):
        raise HTTPProblem(
            404,
            f"there is no ranking {request.ranking_id!r}; use the id of a ranking that this loop "
            "made",
        )
    unknown = request.grades.keys() - set(record.entry.items)
    if unknown:
        raise HTTPProblem(
            422, f"item {min(unknown)!r} is not an item of ranking {request.ranking_id!r}"
        )
    entry = Judged(event_id, request.ranking_id, record.position, request.grades, request.timestamp)
    (outcome,) = await loop.submit_from(asyncio.get_running_loop(), [entry])
    if outcome.status == "conflict":
        raise HTTPProblem(
            409, f"the event {event_id!r} is already stored with other contents; use a new id"
        )
    status = "applied" if outcome.status == "accepted" else outcome.status
    return answer(EventAnswer(event_id, status, outcome.position))


JUDGEMENTS = Endpoint(
    "POST",
    "/v1/{loop}/judgements",
    judgements,
    "Grade items of a ranking.",
    "feedback",
    JudgementRequest,
    answer=EventAnswer,
)
