"""`POST /v1/{loop}/feedback`: what people did with rankings; each event gets its own answer."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from rankloop.feedback.ids import new_id
from rankloop.serving.journal.entries import Entry
from rankloop.serving.journal.feature_entries import Counted
from rankloop.serving.journal.ranking_entries import LOGGED, Observed, Ranked, pack_features
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer, count_events
from rankloop.serving.routes.candidates import Id, Item, check_printable, from_items
from rankloop.serving.routes.computed import ComputedItems, Person, compute_items, read_asker
from rankloop.serving.routes.personal import encrypt_personal
from rankloop.serving.security.vault import About, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call
    from rankloop.serving.routes.beacon import BeaconEvent
    from rankloop.serving.routes.candidates import Candidates
    from rankloop.serving.settings.loop import LoopSettings
    from rankloop.serving.threads.queue import Answer


class Event(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody did with one item of a ranking.

    ranking_id : may be left out if the loop computes features: the event, such as a checkout, then
        changes only their counters, those of `user`, `session` and `query` too
    fields : of the request that the event belongs to, for counters
    event_id : identifies this event, so that it counts once even if it is sent several times
    type : click, cart, purchase, skip, or any other type in the loop's feedback rules
    value : the amount, such as seconds of reading
    timestamp : seconds since 1970; it is stored, but has no effect
    """

    item: Id
    ranking_id: Id | None = None
    type: Id = "click"
    value: float = 1.0
    timestamp: float | None = None
    event_id: Id | None = None
    query: Text | None = None
    user: Id | None = None
    session: Id | None = None
    fields: dict[str, Any] = {}


class LoggedRanking(msgspec.Struct, forbid_unknown_fields=True):
    """A ranking that another system made and showed: its items from the top.

    fields : of the request, for features that the loop computes
    """

    ranking_id: Id
    items: list[Item | Id]
    query: Text | None = None
    user: Id | None = None
    session: Id | None = None
    about: About | None = None
    fields: dict[str, Any] = {}


class FeedbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Events, and their rankings if another system made them."""

    events: Annotated[list[Event], Meta(max_length=10_000)]
    rankings: Annotated[list[LoggedRanking], Meta(max_length=1_000)] = []


class EventAnswer(msgspec.Struct, omit_defaults=True):
    """The status of an event, and its position in the journal.

    status : applied, pending, late, duplicate, conflict, unknown_ranking or rejected
    detail : why it was rejected, for example because its item was not shown
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
    max_items = call.service.settings.server.max_items
    settings = loop.published.settings
    call.service.guard.charge(call.client, len(request.events))
    events = make_events(request.events, loop)
    entries: list[Entry] = []
    keys = {}
    for ranking in request.rankings:
        entry, key = await encrypt_personal(
            loop, make_logged_ranking(ranking, loop, max_items), ranking
        )
        entries.append(entry)
        if key is not None:
            keys[key.row.id] = key
    new = [key.row for key in keys.values() if not key.stored]
    known = known_types(loop, settings)
    entries += [event for event in events if event.type in known]
    outcomes = await loop.submit_from(asyncio.get_running_loop(), entries, new)
    for key in keys.values():
        key.stored = True
    for ranking, outcome in zip(request.rankings, outcomes, strict=False):
        if outcome.status == "conflict":
            raise HTTPProblem(
                409,
                f"the ranking {ranking.ranking_id!r} already exists with other contents; use a new "
                "id for each ranking",
            )
    taken = iter(outcomes[len(request.rankings) :])
    answers = [
        _answer_event(event, next(taken)) if event.type in known else _refuse_event(event, known)
        for event in events
    ]
    return answer_events(call, answers)


def known_types(loop: Loop, settings: LoopSettings) -> list[str]:
    """Return the types of events that have a grade, or change a counter of features."""
    features = loop.live.features
    counted = [] if features is None else features.event_types
    return list(dict.fromkeys([*settings.rules, *counted]))


def _answer_event(event: Observed | Counted, outcome: Answer) -> EventAnswer:
    status, detail = outcome.status, outcome.detail
    if isinstance(event, Counted) and status == "accepted":
        status = "applied"
    if status == "rejected" and not detail:
        detail = "the ranking has as many events as the loop keeps of one ranking (max_events)"
    return EventAnswer(event.id, status, outcome.position, detail)


def _refuse_event(event: Observed | Counted, known: Sequence[str]) -> EventAnswer:
    detail = (
        f"type: found {event.type!r:.80}, expected one of {', '.join(known)}; send one of them, or "
        "set its grade in the loop's settings, under feedback"
    )
    return EventAnswer(event.id, "rejected", detail=detail)


def answer_events(call: Call, answers: Sequence[EventAnswer]) -> Response:
    """Return one answer per event; 409 if one conflicts with a stored event."""
    counts = Counter([reply.status for reply in answers])
    for status, n in counts.items():
        count_events(call.service, call.path["loop"], status, n)
    if counts["conflict"]:
        bad = next(reply.event_id for reply in answers if reply.status == "conflict")
        plain: list[object] = msgspec.to_builtins(answers)
        raise HTTPProblem(
            409,
            f"the event {bad!r} is already stored with other contents, and was not changed; use a "
            "new id for each event. All other events were accepted",
            events=plain,
        )
    return answer(FeedbackAnswer(list(answers)))


def make_events(events: Sequence[Event], loop: Loop | None = None) -> list[Observed | Counted]:
    """Return events as journal entries; raise if one is not valid.

    Parameters
    ----------
    loop : the loop, which may count events that belong to no ranking
    """
    entries: list[Observed | Counted] = []
    texts: list[str] = []
    for event in events:
        event_id = new_id() if event.event_id is None else event.event_id
        ranking_id, item = event.ranking_id, event.item
        texts += (event_id, item, event.type)
        if not math.isfinite(event.value):
            raise _not_finite("value", event_id, event.value)
        if event.timestamp is not None and not math.isfinite(event.timestamp):
            raise _not_finite("timestamp", event_id, event.timestamp)
        if ranking_id is None:
            entries.append(_make_counted(event_id, event, loop))
            continue
        texts.append(ranking_id)
        values = given_values(event)
        entries.append(
            Observed(event_id, ranking_id, item, **values)
            if values
            else Observed(event_id, ranking_id, item)
        )
    check_printable(texts)
    return entries


def _not_finite(name: str, event_id: str, number: float) -> HTTPProblem:
    return HTTPProblem(422, f"{name} of event {event_id!r:.80} is {number}; send a finite number")


def _make_counted(event_id: str, event: Event, loop: Loop | None) -> Counted:
    features = None if loop is None else loop.live.features
    if loop is None or features is None:
        raise HTTPProblem(
            422,
            f"event {event_id!r}: ranking_id: found none; send the id of its ranking. Only a loop "
            "that computes features counts events without a ranking",
        )
    person = Person(event.query, event.user, event.session)
    asker, _ = read_asker(loop.hashes, features.definitions, person, event.fields)
    return Counted(event_id, event.item, **given_values(event), asker=asker)


def given_values(event: Event | BeaconEvent) -> dict[str, Any]:
    """Return the type, value and time of an event, except those that are the default ones.

    An entry's bytes leave out only what was never given; so an event that says `click` would be
    another one than the same event without a type.
    """
    values: dict[str, Any] = {}
    if event.type != "click":
        values["type"] = event.type
    if event.value != 1.0:
        values["value"] = event.value
    if isinstance(event, Event) and event.timestamp is not None:
        values["timestamp"] = event.timestamp
    return values


def make_logged_ranking(ranking: LoggedRanking, loop: Loop, max_items: int) -> Ranked:
    """Return a ranking of another system as a journal entry."""
    check_printable([ranking.ranking_id])
    if loop.live.features is None:
        settings = loop.published.settings
        return make_given_ranking(ranking, settings, max_items)
    person = Person(ranking.query, ranking.user, ranking.session)
    return make_shown_ranking(
        ranking.ranking_id,
        compute_items(loop, ranking.items, person, ranking.fields, {}, max_items),
    )


def make_given_ranking(ranking: LoggedRanking, settings: LoopSettings, max_items: int) -> Ranked:
    """Return a ranking of another system whose features are in the request."""
    check_printable([ranking.ranking_id])
    return make_shown_ranking(ranking.ranking_id, from_items(ranking.items, settings, max_items))


def make_shown_ranking(ranking_id: str, candidates: Candidates | ComputedItems) -> Ranked:
    """Return a ranking that showed candidates in the given order."""
    features, compressed = pack_features(candidates.X)
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
        computed=candidates.computed if isinstance(candidates, ComputedItems) else None,
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
