"""`POST /ubi/queries` and `/ubi/events`: user behavior insights 1.3, as JSON or JSON lines.

UBI has no features, so a `query_id` must be the id of a ranking of this service; or the loop has a
`table` with the features of all documents of a query, and uses the query as a ranking of another
system. The `application` is the loop; if there is only one loop, it may be anything. Events without
an id are identified by a hash of their contents, so that an event that is sent twice counts once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from rankloop.serving.journal.entries import Observed, Ranked, digest_of
from rankloop.serving.problems import Problem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Candidates, check_ids, check_printable
from rankloop.serving.routes.feedback import shown_elsewhere

if TYPE_CHECKING:
    from typing import TypeVar

    from starlette.responses import Response

    from rankloop.serving.routes.base import Call
    from rankloop.serving.service import Loop

    T = TypeVar("T")

_MAX = 10_000


class UbiObject(msgspec.Struct):
    """What an event is about."""

    object_id: str | int | None = None


class UbiAttributes(msgspec.Struct):
    """The part of an event that names an object; the rest is ignored."""

    object: UbiObject | None = None


class UbiEvent(msgspec.Struct):
    """An event; fields without an effect here are ignored."""

    action_name: str
    timestamp: Any = None
    application: str | None = None
    query_id: str | None = None
    event_attributes: UbiAttributes | None = None


class UbiQuery(msgspec.Struct):
    """A query; it is counted, and joined with the ranking of its id if there is one.

    query_response_hit_ids : what was shown, from the top
    """

    user_query: str
    application: str | None = None
    query_id: str | None = None
    query_response_hit_ids: list[str | int] = []


class UbiAnswer(msgspec.Struct):
    """How many were accepted, by status."""

    taken: dict[str, int]


async def events(call: Call) -> Response:
    """Store the events that can be joined; count the others."""
    found = _decoded(call.body, UbiEvent)
    call.service.guard.charge(call.client, len(found))
    counts: Counter[str] = Counter()
    by_loop: dict[str, list[Observed]] = {}
    for event, text in found:
        attributes = event.event_attributes
        item = None if attributes is None or attributes.object is None else attributes.object
        if event.query_id is None or item is None or item.object_id is None:
            counts["without query_id or object_id"] += 1
            continue
        name = _loop(call, event.application)
        event_id = f"ubi-{digest_of(text).hex()}"
        observed = Observed(event_id, event.query_id, str(item.object_id), event.action_name)
        if not "".join((observed.ranking_id, observed.item, observed.type)).isprintable():
            counts["not printable"] += 1
            continue
        by_loop.setdefault(name, []).append(observed)
    for name, entries in by_loop.items():
        loop: Loop = call.service.loops[name]
        outcomes = await loop.submit_from(asyncio.get_running_loop(), entries)
        counts.update(outcome.status for outcome in outcomes)
        for outcome in outcomes:
            call.service.metrics.events.labels(name, outcome.status).inc()
    return answer(UbiAnswer(dict(counts)))


async def queries(call: Call) -> Response:
    """Store queries as rankings if a table has their features; count the rest."""
    counts: Counter[str] = Counter()
    by_loop: dict[str, list[Ranked]] = {}
    for query, _ in _decoded(call.body, UbiQuery):
        name = _loop(call, query.application)
        known = query.query_id is not None and call.service.loops[name].knows(query.query_id)
        found = None if known else _ranked(call, name, query)
        if found is None:
            counts["joined" if known else "unknown_ranking"] += 1
        else:
            by_loop.setdefault(name, []).append(found)
    for name, entries in by_loop.items():
        loop: Loop = call.service.loops[name]
        outcomes = await loop.submit_from(asyncio.get_running_loop(), entries)
        counts.update(outcome.status for outcome in outcomes)
    return answer(UbiAnswer(dict(counts)))


def _ranked(call: Call, name: str, query: UbiQuery) -> Ranked | None:
    """Return a query as a ranking of another system; None if its features are not known."""
    table = call.service.tables.get(name)
    ids = [str(hit) for hit in query.query_response_hit_ids]
    if table is None or query.query_id is None or not ids:
        return None
    check_ids(ids, call.service.settings.server.max_items)
    check_printable([query.query_id])
    X = table.features(ids)
    return None if X is None else shown_elsewhere(query.query_id, Candidates(ids, X))


def _loop(call: Call, application: str | None) -> str:
    loops = call.service.loops
    if application in loops:
        return str(application)
    if len(loops) == 1:
        return next(iter(loops))
    raise Problem(422, f"application: found {application!r}, expected one of {', '.join(loops)}")


def _decoded(content: bytes, kind: type[T]) -> list[tuple[T, bytes]]:
    """Return the objects of a JSON array, of one JSON object, or of lines, each with its bytes."""
    texts: list[bytes]
    stripped = content.strip()
    try:
        if stripped.startswith(b"["):
            texts = [bytes(raw) for raw in msgspec.json.decode(stripped, type=list[msgspec.Raw])]
        else:
            texts = [line for line in stripped.splitlines() if line.strip()]
            try:
                found = [(msgspec.json.decode(text, type=kind), _canonical(text)) for text in texts]
            except msgspec.DecodeError:  # one object over several lines
                texts = [stripped]
            else:
                return _counted(found)
        return _counted([(msgspec.json.decode(t, type=kind), _canonical(t)) for t in texts])
    except msgspec.ValidationError as error:
        raise Problem(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"the body is neither JSON nor lines of JSON: {error}") from None


def _counted(found: list[tuple[T, bytes]]) -> list[tuple[T, bytes]]:
    if len(found) > _MAX:
        raise Problem(422, f"found {len(found):,} objects; send at most {_MAX:,} in one request")
    return found


def _canonical(text: bytes) -> bytes:
    """Return the same bytes for the same JSON object, however it was written."""
    return msgspec.json.encode(msgspec.json.decode(text), order="sorted")


ENDPOINTS = (
    Endpoint(
        "POST", "/ubi/queries", queries, "UBI queries.", "feedback", answer=UbiAnswer, raw=True
    ),
    Endpoint("POST", "/ubi/events", events, "UBI events.", "feedback", answer=UbiAnswer, raw=True),
)
