"""`POST /ubi/queries` and `/ubi/events`: user behavior insights 1.3, as JSON or JSON lines.

UBI has no features, so a `query_id` must be the id of a ranking of this service; or the loop
computes features, or has a `table` with those of all documents of a query, and uses the query as a
ranking of another system. In a loop that computes features, events without a query change counters,
and what an event says about its object becomes fields of the item, where these are defined.
The `application` is the loop; if there is only one loop, it may be anything. Events without an id
are identified by a hash of their contents, so that an event that is sent twice counts once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from rankloop.features.event_log import object_fields
from rankloop.serving.journal.entries import Entry, digest_of
from rankloop.serving.journal.feature_entries import Counted, ItemsChanged
from rankloop.serving.journal.ranking_entries import Observed, Ranked
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer, count_events
from rankloop.serving.routes.candidates import Candidates, Item, check_ids, check_printable
from rankloop.serving.routes.feedback import (
    Event,
    LoggedRanking,
    make_events,
    make_logged_ranking,
    make_shown_ranking,
)
from rankloop.serving.routes.lines import read_with_texts
from rankloop.serving.routes.metarank_fields import known_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call


class UbiAttributes(msgspec.Struct):
    """The part of an event that names an object; the rest is ignored.

    object : its `object_id`, and what else is known about it
    """

    object: dict[str, Any] | None = None


class UbiEvent(msgspec.Struct):
    """An event; fields without an effect here are ignored."""

    action_name: str
    timestamp: Any = None
    application: str | None = None
    query_id: str | None = None
    user_id: str | None = None
    client_id: str | None = None
    session_id: str | None = None
    user_query: str | None = None
    event_attributes: UbiAttributes | None = None


class UbiQuery(msgspec.Struct):
    """A query; it is counted, and joined with the ranking of its id if there is one.

    query_response_hit_ids : what was shown, from the top
    """

    user_query: str
    application: str | None = None
    query_id: str | None = None
    client_id: str | None = None
    query_response_hit_ids: list[str | int] = []


class UbiAnswer(msgspec.Struct):
    """How many were accepted, by status."""

    taken: dict[str, int]


async def events(call: Call) -> Response:
    """Store the events that can be joined; count the others."""
    objects = read_with_texts(call.body, UbiEvent)
    call.service.guard.charge(call.client, len(objects))
    counts: Counter[str] = Counter()
    by_loop: dict[str, list[Entry]] = {}
    objects_seen: dict[tuple[str, str], dict[str, Any]] = {}
    for event, text in objects:
        target = (event.event_attributes or UbiAttributes()).object or {}
        item = _object_id(target)
        computes = any(loop.live.features is not None for loop in call.service.loops.values())
        if item is None or not (event.query_id or computes):
            counts["without query_id or object_id"] += 1
            continue
        name = _loop(call, event.application)
        loop: Loop = call.service.loops[name]
        try:
            made = _make_event(loop, event, item, text)
        except HTTPProblem:
            counts["not printable, or too long"] += 1
            continue
        fields = _new_fields(loop, item, target, objects_seen.get((name, item)))
        if fields:
            objects_seen[name, item] = fields
            change = ItemsChanged(f"{made.id}-object", "patch", [(item, fields)])
            by_loop.setdefault(name, []).append(change)
        by_loop.setdefault(name, []).append(made)
    for name, entries in by_loop.items():
        loop = call.service.loops[name]
        outcomes = await loop.submit_from(asyncio.get_running_loop(), entries)
        for entry, outcome in zip(entries, outcomes, strict=True):
            if isinstance(entry, ItemsChanged):
                continue
            counts[outcome.status] += 1
            count_events(call.service, name, outcome.status)
    return answer(UbiAnswer(dict(counts)))


async def queries(call: Call) -> Response:
    """Store queries as rankings if a table has their features; count the rest."""
    counts: Counter[str] = Counter()
    by_loop: dict[str, list[Ranked]] = {}
    for query, _ in read_with_texts(call.body, UbiQuery):
        name = _loop(call, query.application)
        known = query.query_id is not None and call.service.loops[name].knows(query.query_id)
        ranking = None if known else _make_ranking(call, name, query)
        if ranking is None:
            counts["joined" if known else "unknown_ranking"] += 1
        else:
            by_loop.setdefault(name, []).append(ranking)
    for name, entries in by_loop.items():
        loop: Loop = call.service.loops[name]
        outcomes = await loop.submit_from(asyncio.get_running_loop(), entries)
        counts.update(outcome.status for outcome in outcomes)
    return answer(UbiAnswer(dict(counts)))


def _make_event(loop: Loop, event: UbiEvent, item: str, text: bytes) -> Observed | Counted:
    """Return an event as it is journaled; without a query, it only changes counters."""
    made = Event(
        item=item,
        ranking_id=event.query_id or None,
        type=event.action_name,
        event_id=f"ubi-{digest_of(text).hex()}",
        query=event.user_query,
        user=event.user_id or event.client_id,
        session=event.session_id,
    )
    return make_events([made], loop)[0]


def _object_id(target: Mapping[str, Any]) -> str | None:
    found = target.get("object_id")
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else None


def _new_fields(
    loop: Loop, item: str, target: Mapping[str, Any], before: dict[str, Any] | None
) -> dict[str, Any]:
    """Return what an object says about its item and nobody knew; nothing if all is known.

    before : what the same request said about it already
    """
    features = loop.live.features
    if features is None or len(target) < 2:
        return {}
    known = features.definitions.fields["item"]
    sent = known_fields(object_fields(target), known)
    if not sent or sent == before:
        return {}
    if before is None:
        stored = loop.live.describe("items", item, loop.now())["fields"] or {}
        same = (
            known[name].check(stored.get(name)) == known[name].check(sent[name]) for name in sent
        )
        if all(same):
            return {}
    return sent


def _make_ranking(call: Call, name: str, query: UbiQuery) -> Ranked | None:
    """Return a query as a ranking of another system; None if its features are not known."""
    table, loop = call.service.tables.get(name), call.service.loops[name]
    ids = [str(hit) for hit in query.query_response_hit_ids]
    if query.query_id is None or not ids:
        return None
    max_items = call.service.settings.server.max_items
    if loop.live.features is not None:
        items: list[Item | str] = list(ids)
        shown = LoggedRanking(query.query_id, items, query.user_query, query.client_id)
        return make_logged_ranking(shown, loop, max_items)
    if table is None:
        return None
    check_ids(ids, max_items)
    check_printable([query.query_id])
    X = table.features(ids)
    return None if X is None else make_shown_ranking(query.query_id, Candidates(ids, X))


def _loop(call: Call, application: str | None) -> str:
    loops = call.service.loops
    if application in loops:
        return str(application)
    if len(loops) == 1:
        return next(iter(loops))
    raise HTTPProblem(
        422, f"application: found {application!r}, expected one of {', '.join(loops)}"
    )


ENDPOINTS = (
    Endpoint(
        "POST", "/ubi/queries", queries, "UBI queries.", "feedback", answer=UbiAnswer, raw=True
    ),
    Endpoint("POST", "/ubi/events", events, "UBI events.", "feedback", answer=UbiAnswer, raw=True),
)
