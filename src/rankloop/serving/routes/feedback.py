"""`POST /v1/{loop}/feedback`: what people did with rankings; each event gets its own answer."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from rankloop.feedback.ids import new_id
from rankloop.serving.journal.entries import LOGGED, Entry, Observed, Ranked, packed
from rankloop.serving.privacy import About, Text
from rankloop.serving.problems import Problem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, Item, check_printable, from_items
from rankloop.serving.routes.personal import sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from rankloop.serving.config import LoopSettings
    from rankloop.serving.routes.base import Call
    from rankloop.serving.routes.candidates import Candidates
    from rankloop.serving.threads.queue import Answer


class Event(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody did with one item of a ranking.

    event_id : identifies this event, so that it counts once even if it is sent several times
    type : click, cart, purchase, skip, or any other type in the loop's feedback rules
    value : the amount, such as seconds of reading
    timestamp : seconds since 1970; it is stored, but has no effect
    """

    ranking_id: Id
    item: Id
    type: Id = "click"
    value: float = 1.0
    timestamp: float | None = None
    event_id: Id | None = None


class LoggedRanking(msgspec.Struct, forbid_unknown_fields=True):
    """A ranking that another system made and showed: its items from the top."""

    ranking_id: Id
    items: list[Item]
    query: Text | None = None
    user: Id | None = None
    session: Id | None = None
    about: About | None = None


class FeedbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Events, and their rankings if another system made them."""

    events: Annotated[list[Event], Meta(max_length=10_000)]
    rankings: Annotated[list[LoggedRanking], Meta(max_length=1_000)] = []


class EventAnswer(msgspec.Struct, omit_defaults=True):
    """The status of an event, and its position in the journal.

    status : applied, pending, late, duplicate, conflict, unknown_ranking or rejected
    detail : why it was rejected, for example because the settings have no rule for its type
    """

    event_id: str
    status: str
    position: int | None = None
    detail: str = ""


class FeedbackAnswer(msgspec.Struct):
    """One answer per event, in the order sent."""

    events: list[EventAnswer]


async def feedback(call: Call) -> Response:
    """Store events in the journal and return the status of each."""
    loop, request = call.loop, call.body
    most = call.service.settings.server.max_items
    settings = loop.published.settings
    call.service.guard.charge(call.client, len(request.events))
    events = observed(request.events)
    entries: list[Entry] = []
    keys = {}
    for one in request.rankings:
        entry, key = await sealed(loop, logged(one, settings, most), one)
        entries.append(entry)
        if key is not None:
            keys[key.row.id] = key
    new = [key.row for key in keys.values() if not key.stored]
    rules = settings.rules
    entries += [event for event in events if event.type in rules]
    outcomes = await loop.submit_from(asyncio.get_running_loop(), entries, new)
    for key in keys.values():
        key.stored = True
    for one, outcome in zip(request.rankings, outcomes, strict=False):
        if outcome.status == "conflict":
            raise Problem(
                409,
                f"the ranking {one.ranking_id!r} already exists with other contents; use a new id "
                "for each ranking",
            )
    taken = iter(outcomes[len(request.rankings) :])
    answers = [
        _told(event, next(taken)) if event.type in rules else _refused(event, settings)
        for event in events
    ]
    return answered(call, answers)


def _told(event: Observed, outcome: Answer) -> EventAnswer:
    return EventAnswer(event.id, outcome.status, outcome.position)


def _refused(event: Observed, settings: LoopSettings) -> EventAnswer:
    known = ", ".join(settings.rules)
    detail = (
        f"type: found {event.type!r:.80}, expected one of {known}; send one of them, or set "
        "its grade in the loop's settings, under feedback"
    )
    return EventAnswer(event.id, "rejected", detail=detail)


def answered(call: Call, answers: Sequence[EventAnswer]) -> Response:
    """Return one answer per event; 409 if one conflicts with a stored event."""
    counts = Counter([one.status for one in answers])
    for status, n in counts.items():
        call.service.metrics.events.labels(call.path["loop"], status).inc(n)
    if counts["conflict"]:
        bad = next(one.event_id for one in answers if one.status == "conflict")
        plain: list[object] = msgspec.to_builtins(answers)
        raise Problem(
            409,
            f"the event {bad!r} is already stored with other contents, and was not changed; use a "
            "new id for each event. All other events were accepted",
            events=plain,
        )
    return answer(FeedbackAnswer(list(answers)))


def observed(events: Sequence[Event]) -> list[Observed]:
    """Return events as journal entries; raise if one is not valid."""
    entries = [
        Observed(
            new_id() if event.event_id is None else event.event_id,
            event.ranking_id,
            event.item,
            event.type,
            event.value,
            event.timestamp,
        )
        for event in events
    ]
    check_printable([text for e in entries for text in (e.id, e.ranking_id, e.item, e.type)])
    for name in ("value", "timestamp"):
        for entry in entries:
            number = getattr(entry, name)
            if number is not None and not math.isfinite(number):
                raise Problem(
                    422, f"{name} of event {entry.id!r} is {number}; send a finite number"
                )
    return entries


def logged(ranking: LoggedRanking, settings: LoopSettings, most: int) -> Ranked:
    """Return a ranking of another system as a journal entry."""
    candidates = from_items(ranking.items, settings, most)
    check_printable([ranking.ranking_id])
    return shown_elsewhere(ranking.ranking_id, candidates)


def shown_elsewhere(ranking_id: str, candidates: Candidates) -> Ranked:
    """Return a ranking that showed candidates in the given order."""
    features, compressed = packed(candidates.X)
    n = len(candidates.ids)
    return Ranked(
        ranking_id,
        candidates.ids,
        candidates.X.shape[1],
        features,
        list(range(n)),
        np.arange(float(n), 0, -1).tobytes(),
        policy=LOGGED,
        compressed=compressed,
    )


FEEDBACK = Endpoint(
    "POST",
    "/v1/{loop}/feedback",
    feedback,
    "Report what people did with rankings.",
    "feedback",
    FeedbackRequest,
    answer=FeedbackAnswer,
)
