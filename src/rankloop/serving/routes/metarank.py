"""`POST /rank/{loop}` and `/feedback`: for clients of Metarank.

A model of Metarank is a loop here. Features come with the request: fields of items, and those of
the ranking that hold for all items, by the names of the loop's features; other fields are ignored.
Events about items and users are counted but not stored, because a loop has no store for them.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from rankloop.exceptions import RankloopError
from rankloop.serving.problems import Problem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, Item
from rankloop.serving.routes.feedback import Event, LoggedRanking, logged, observed
from rankloop.serving.routes.rank import RankRequest, rank

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.config import LoopSettings
    from rankloop.serving.journal.entries import Entry
    from rankloop.serving.routes.base import Call
    from rankloop.serving.service import Loop

_MAX = 10_000


class Field(msgspec.Struct):
    """A named value; only numbers and truth values can be features."""

    name: str
    value: Any = None


class MetarankItem(msgspec.Struct):
    """A candidate, with its own fields."""

    id: Id
    fields: list[Field] = []
    relevancy: float | None = None


class MetarankRanking(msgspec.Struct):
    """A request; its `fields` hold for all items, and the field `query` is text."""

    id: Id
    items: list[MetarankItem]
    user: Id | None = None
    session: Id | None = None
    fields: list[Field] = []


class MetarankEvent(msgspec.Struct):
    """Any event: `interaction` is learnt from; `ranking`, `item` and `user` are as Metarank's."""

    event: str
    id: Id
    timestamp: Any = None
    tenant: str | None = None
    ranking: Id | None = None
    item: Id | None = None
    type: Id = "click"
    items: list[MetarankItem] = []
    user: Id | None = None
    session: Id | None = None
    fields: list[Field] = []


class MetarankPlace(msgspec.Struct, omit_defaults=True):
    """One place of the answer; `features` if the address ends in `?explain=true`."""

    item: str
    score: float
    features: list[Field] | None = None


class MetarankAnswer(msgspec.Struct):
    """The order to show, from the top, and the milliseconds that it took."""

    took: int
    items: list[MetarankPlace]


class MetarankTaken(msgspec.Struct):
    """How many events were accepted; `statuses` counts them by status."""

    accepted: int
    status: str
    tookMillis: int  # noqa: N815 - Metarank's name
    updated: int
    statuses: dict[str, int]


async def rank_as_metarank(call: Call) -> Response:
    """Rank as `/v1/{loop}/rank` does."""
    start = time.perf_counter()
    ranking = _decoded(call.body, MetarankRanking)
    names = call.loop.published.settings.names
    features = {item.id: _features(ranking, item, names) for item in ranking.items}
    request = RankRequest(
        _items(ranking, names),
        ranking.id,
        _query(ranking),
        ranking.user,
        ranking.session,
    )
    response = await rank(call._replace(body=request))
    explain = parse_qs(call.scope["query_string"].decode("latin-1")).get("explain") == ["true"]
    places = [
        MetarankPlace(
            place["id"],
            place["score"],
            [Field(*pair) for pair in features[place["id"]].items()] if explain else None,
        )
        for place in msgspec.json.decode(response.body)["items"]
    ]
    return answer(MetarankAnswer(_milliseconds(start), places))


async def feedback_as_metarank(call: Call) -> Response:
    """Store interactions, and rankings of other systems, in the journal; count the rest."""
    start = time.perf_counter()
    many = call.body.lstrip().startswith(b"[")
    events = _decoded(call.body, list[MetarankEvent] if many else MetarankEvent)
    events = events if many else [events]
    if len(events) > _MAX:
        raise Problem(422, f"found {len(events):,} events; send at most {_MAX:,} in one request")
    call.service.guard.charge(call.client, len(events))
    counts: Counter[str] = Counter()
    by_loop: dict[str, list[Entry]] = {}
    for event in events:
        try:
            name, entry = _entry(call, event)
        except _LeftAloneError as why:
            counts[str(why)] += 1
            continue
        by_loop.setdefault(name, []).append(entry)
    for name, entries in by_loop.items():
        loop = call.service.loops[name]
        for outcome in await loop.submit_from(asyncio.get_running_loop(), entries):
            counts[outcome.status] += 1
            call.service.metrics.events.labels(name, outcome.status).inc()
    return answer(MetarankTaken(len(events), "ok", _milliseconds(start), 0, dict(counts)))


class _LeftAloneError(RankloopError):
    """An event that teaches nothing here; it says why."""


def _entry(call: Call, event: MetarankEvent) -> tuple[str, Entry]:
    """Return an event as it is journaled, and the loop that it belongs to."""
    if event.event == "interaction" and event.ranking is not None and event.item is not None:
        at = _seconds(event.timestamp)
        told = Event(event.ranking, event.item, event.type, timestamp=at, event_id=event.id)
        return _loop(call, event, event.ranking), observed([told])[0]
    if event.event != "ranking" or not event.items:
        raise _LeftAloneError(f"{event.event} left alone")
    name = _loop(call, event, event.id)
    loop: Loop = call.service.loops[name]
    if loop.knows(event.id):
        raise _LeftAloneError("ranking known")  # it was made here
    settings: LoopSettings = loop.published.settings
    shown = LoggedRanking(event.id, _items(event, settings.names))
    try:
        return name, logged(shown, settings, call.service.settings.server.max_items)
    except Problem:
        raise _LeftAloneError("ranking without features") from None


def _loop(call: Call, event: MetarankEvent, ranking_id: str) -> str:
    """Return the loop that an event names as its tenant, or that knows its ranking."""
    loops = call.service.loops
    if event.tenant in loops:
        return str(event.tenant)
    known = [name for name, loop in loops.items() if loop.knows(ranking_id)]
    if known or len(loops) == 1:
        return known[0] if known else next(iter(loops))
    raise _LeftAloneError("unknown_ranking")


def _features(
    ranking: MetarankRanking | MetarankEvent, item: MetarankItem, names: tuple[str, ...]
) -> dict[str, float]:
    """Return an item's features, its own before those of all; truth values are 0 and 1."""
    found = {field.name: field.value for field in (*ranking.fields, *item.fields)}
    if item.relevancy is not None:
        found.setdefault("relevancy", item.relevancy)
    return {name: 1 * found[name] for name in names if isinstance(found.get(name), int | float)}


def _items(ranking: MetarankRanking | MetarankEvent, names: tuple[str, ...]) -> list[Item]:
    return [
        Item(item.id, msgspec.Raw(msgspec.json.encode(_features(ranking, item, names))))
        for item in ranking.items
    ]


def _query(ranking: MetarankRanking) -> str | None:
    """Return the text of the query; longer ones than are kept elsewhere are cut."""
    texts = [field.value for field in ranking.fields if field.name == "query"]
    return texts[0][:1000] if texts and isinstance(texts[0], str) else None


def _seconds(timestamp: Any) -> float | None:
    """Return milliseconds since 1970, as a number or its digits, as seconds; None for others."""
    digits = isinstance(timestamp, str) and timestamp.isascii() and timestamp.isdigit()
    number = isinstance(timestamp, int | float) and not isinstance(timestamp, bool)
    if not (number or digits):
        return None
    try:
        return float(timestamp) / 1000
    except OverflowError:
        return None


def _decoded(content: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise Problem(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None


def _milliseconds(start: float) -> int:
    return round(1000 * (time.perf_counter() - start))


ENDPOINTS = (
    Endpoint(
        "POST",
        "/rank/{loop}",
        rank_as_metarank,
        "Rank, as Metarank does.",
        "rank",
        MetarankRanking,
        answer=MetarankAnswer,
        raw=True,
    ),
    Endpoint(
        "POST",
        "/feedback",
        feedback_as_metarank,
        "Events, as Metarank takes them.",
        "feedback",
        MetarankEvent,
        answer=MetarankTaken,
        raw=True,
    ),
)
