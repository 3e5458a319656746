"""`POST /rank/{loop}` and `/feedback`: for clients of Metarank.

A model of Metarank is a loop here. A loop that computes features stores all four kinds of events:
fields of items and users, rankings and interactions. In any other loop, features come with the
request: fields of items, and those of the ranking that hold for all items, by the names of the
loop's features; other fields are ignored, and events about items and users are only counted.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from rankloop.exceptions import RankloopError
from rankloop.serving.engine.columns import columns_of
from rankloop.serving.journal.entries import Entry
from rankloop.serving.journal.feature_entries import ItemsChanged, UsersChanged
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer, count_events
from rankloop.serving.routes.candidates import Id, Item, check_printable
from rankloop.serving.routes.feedback import Event, LoggedRanking, make_events, make_logged_ranking
from rankloop.serving.routes.metarank_fields import (
    MetarankField,
    amount,
    field_values,
    known_values,
)
from rankloop.serving.routes.rank import RankRequest, rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from rankloop.features.kinds.given import Given
    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call

_MAX = 10_000


class MetarankItem(msgspec.Struct):
    """A candidate, with its own fields."""

    id: Id
    fields: list[MetarankField] = []
    relevancy: float | None = None


class MetarankRanking(msgspec.Struct):
    """A request; its `fields` hold for all items, and the field `query` is text."""

    id: Id
    items: list[MetarankItem]
    user: Id | None = None
    session: Id | None = None
    fields: list[MetarankField] = []


class MetarankEvent(msgspec.Struct):
    """An event of Metarank; rankers learn from `interaction`, features also from the others."""

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
    fields: list[MetarankField] = []


class MetarankPlace(msgspec.Struct, omit_defaults=True):
    """One place of the answer; `features` if the address ends in `?explain=true`."""

    item: str
    score: float
    features: list[MetarankField] | None = None


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
    ranking = _decode(call.body, MetarankRanking)
    sent = _sent_features(call.loop)
    features = {item.id: _features(ranking, item, sent) for item in ranking.items}
    request = RankRequest(
        _items(ranking, sent),
        ranking.id,
        _query(ranking),
        ranking.user,
        ranking.session,
        fields=_request_fields(call.loop, ranking),
    )
    response = await rank(call._replace(body=request))
    explain = parse_qs(call.scope["query_string"].decode("latin-1")).get("explain") == ["true"]
    if explain and call.loop.live.features is not None:
        features = await _computed_features(call.loop, ranking.id)
    places = [
        MetarankPlace(
            place["id"],
            place["score"],
            [MetarankField(*pair) for pair in features[place["id"]].items()] if explain else None,
        )
        for place in msgspec.json.decode(response.body)["items"]
    ]
    return answer(MetarankAnswer(_milliseconds(start), places))


async def _computed_features(loop: Loop, ranking_id: str) -> dict[str, dict[str, float]]:
    """Return the features of a ranking's items, by name; those that are missing are left out."""
    record = await asyncio.to_thread(loop.find_ranking, ranking_id)
    if record is None or not isinstance(record.entry, Ranked) or record.entry.computed is None:
        return {}
    now = loop.published
    names = columns_of(record.entry, now.columns, now.settings.names)
    rows = record.entry.matrix().tolist()
    return {
        item: {name: value for name, value in zip(names, row, strict=True) if value == value}
        for item, row in zip(record.entry.items, rows, strict=True)
    }


async def feedback_as_metarank(call: Call) -> Response:
    """Store interactions, and rankings of other systems, in the journal; count the rest."""
    start = time.perf_counter()
    many = call.body.lstrip().startswith(b"[")
    events = _decode(call.body, list[MetarankEvent] if many else MetarankEvent)
    events = events if many else [events]
    if len(events) > _MAX:
        raise HTTPProblem(
            422, f"found {len(events):,} events; send at most {_MAX:,} in one request"
        )
    call.service.guard.charge(call.client, len(events))
    counts: Counter[str] = Counter()
    by_loop: dict[str, list[Entry]] = {}
    for event in events:
        try:
            entries = _entries(call, event)
        except _NotLearntError as why:
            counts[str(why)] += 1
            continue
        for name, entry in entries:
            by_loop.setdefault(name, []).append(entry)
    for name, wanted in by_loop.items():
        loop = call.service.loops[name]
        for outcome in await loop.submit_from(asyncio.get_running_loop(), wanted):
            counts[outcome.status] += 1
            count_events(call.service, name, outcome.status)
    return answer(MetarankTaken(len(events), "ok", _milliseconds(start), 0, dict(counts)))


class _NotLearntError(RankloopError):
    """An event from which nothing is learnt here; the message says why."""


def _entries(call: Call, event: MetarankEvent) -> list[tuple[str, Entry]]:
    """Return an event as it is journaled, with the loop that it belongs to."""
    if event.event in ("item", "user"):
        return _changes(call, event)
    if event.event == "interaction" and event.item is not None:
        return [_interaction(call, event, event.item)]
    if event.event != "ranking" or not event.items:
        raise _NotLearntError(f"{event.event} left alone")
    name = _loop(call, event, event.id)
    loop: Loop = call.service.loops[name]
    if loop.knows(event.id):
        raise _NotLearntError("ranking known")  # it was made here
    shown = LoggedRanking(
        event.id,
        _items(event, _sent_features(loop)),
        _query(event),
        event.user,
        event.session,
        fields=_request_fields(loop, event),
    )
    try:
        return [(name, make_logged_ranking(shown, loop, call.service.settings.server.max_items))]
    except HTTPProblem:
        raise _NotLearntError("ranking without features") from None


def _changes(call: Call, event: MetarankEvent) -> list[tuple[str, Entry]]:
    """Return new fields of an item or a user, for every loop that computes features from them."""
    loops = call.service.loops
    names = [event.tenant] if event.tenant in loops else list(loops)
    entries: list[tuple[str, Entry]] = []
    for name in names:
        loop: Loop = loops[str(name)]
        features, hashes = loop.live.features, loop.hashes
        if features is None or hashes is None:
            continue
        if event.event == "item" and event.item is not None:
            check_printable([event.item])
            values = field_values(event.fields)
            entries.append((loop.name, ItemsChanged(event.id, "patch", [(event.item, values)])))
        elif event.event == "user" and event.user is not None:
            values = known_values(event.fields, features.definitions, "user")
            user = hashes.user(event.user) or b""
            entries.append((loop.name, UsersChanged(event.id, "patch", [(user, values)])))
    if not entries:
        raise _NotLearntError(f"{event.event} left alone")
    return entries


def _interaction(call: Call, event: MetarankEvent, item: str) -> tuple[str, Entry]:
    """Return an interaction; without a ranking, it only changes counters of features."""
    name = _loop(call, event, event.ranking or "")
    loop: Loop = call.service.loops[name]
    if event.ranking is None and loop.live.features is None:
        raise _NotLearntError("interaction left alone")
    interaction = Event(
        item=item,
        ranking_id=event.ranking,
        type=event.type,
        value=amount(event.fields),
        timestamp=_seconds(event.timestamp),
        event_id=event.id,
        user=event.user,
        session=event.session,
    )
    return name, make_events([interaction], loop)[0]


def _sent_features(loop: Loop) -> Mapping[str, Given | None]:
    """Return the features that callers send, with their definitions if there are any."""
    features = loop.live.features
    if features is None:
        return dict.fromkeys(loop.published.settings.names)
    return features.definitions.sent


def _request_fields(loop: Loop, event: MetarankRanking | MetarankEvent) -> dict[str, Any]:
    """Return the fields of a request that the loop defines, without the query."""
    if loop.live.features is None:
        return {}
    values = known_values(event.fields, loop.live.features.definitions, "request")
    return {name: value for name, value in values.items() if name != "query"}


def _loop(call: Call, event: MetarankEvent, ranking_id: str) -> str:
    """Return the loop that an event names as its tenant, or that knows its ranking."""
    loops = call.service.loops
    if event.tenant in loops:
        return str(event.tenant)
    known = [name for name, loop in loops.items() if loop.knows(ranking_id)]
    if known or len(loops) == 1:
        return known[0] if known else next(iter(loops))
    raise _NotLearntError("unknown_ranking")


def _features(
    ranking: MetarankRanking | MetarankEvent,
    item: MetarankItem,
    sent: Mapping[str, Given | None],
) -> dict[str, Any]:
    """Return an item's features: fields of the ranking, then its own; booleans are 0 or 1.

    Values that are no numbers are left out if the feature is a number.
    """
    values = {field.name: field.value for field in (*ranking.fields, *item.fields)}
    if item.relevancy is not None:
        values.setdefault("relevancy", item.relevancy)
    features: dict[str, Any] = {}
    for name, kind in sent.items():
        value = values.get(name)
        if kind is not None and kind.type != "number":
            features[name] = value
        elif isinstance(value, int | float):
            features[name] = 1 * value
    return features


def _items(
    ranking: MetarankRanking | MetarankEvent, sent: Mapping[str, Given | None]
) -> list[Item | str]:
    return [
        Item(item.id, msgspec.Raw(msgspec.json.encode(_features(ranking, item, sent))))
        for item in ranking.items
    ]


def _query(ranking: MetarankRanking | MetarankEvent) -> str | None:
    """Return the text of the query, cut to the length that other routes allow."""
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


def _decode(content: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise HTTPProblem(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPProblem(400, f"the body is not JSON: {error}") from None


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
