"""`POST /v1/{loop}/beacon`: feedback from browsers, by tickets instead of tokens.

A ticket is a signed ranking id that expires. Only pages of allowed origins may send it, and only
the types of feedback in the settings count. Each item of a ranking counts once for each type,
whatever a browser sends and however often. If a rule has a threshold, `value` decides whether the
event counts, but never how much.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from rankloop.exceptions import RankloopError
from rankloop.serving.journal.entries import digest_of
from rankloop.serving.journal.ranking_entries import Observed
from rankloop.serving.problems import HTTPProblem, as_problem
from rankloop.serving.routes.base import Endpoint, answer, count_events
from rankloop.serving.routes.candidates import Id, check_printable
from rankloop.serving.routes.feedback import given_values

if TYPE_CHECKING:
    from rankloop.serving.routes.base import Call

_MAX_BYTES = 65_536  # what browsers send as beacons at most
_KEPT = "600"  # seconds for which a browser may remember a preflight


class BeaconEvent(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody did with one item; `value` such as seconds of reading, for thresholds."""

    item: Id
    type: Id = "click"
    value: float = 1.0


class BeaconRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody did with a ranking; the content type may be text/plain, as beacons send it."""

    ticket: Annotated[str, Meta(min_length=1, max_length=1100)]
    events: Annotated[list[BeaconEvent], Meta(min_length=1, max_length=100)]


class BeaconAnswer(msgspec.Struct):
    """The status of each event, in the order sent."""

    statuses: list[str]


_decoder = msgspec.json.Decoder(BeaconRequest)


async def beacon(call: Call) -> Response:
    """Store the feedback of a browser in the journal."""
    origin = _check_origin(call)
    try:
        response = answer(BeaconAnswer(await _store_events(call)))
    except RankloopError as error:
        response = as_problem(error).response()
    response.headers["access-control-allow-origin"] = origin
    response.headers["vary"] = "origin"
    return response


async def _store_events(call: Call) -> list[str]:
    loop, tickets = call.loop, call.service.tickets
    if len(call.body) > _MAX_BYTES:
        raise HTTPProblem(
            413, f"the body is longer than {_MAX_BYTES:,} bytes; send less in one request"
        )
    try:
        request = _decoder.decode(call.body)
    except msgspec.ValidationError as error:
        raise HTTPProblem(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPProblem(400, f"the body is not JSON: {error}") from None
    assert tickets is not None  # origins need them
    ranking_id = tickets.ranking(loop.name, request.ticket)
    call.service.beacons.take(call.client, len(request.events), "events")
    entries = [_make_entry(call, ranking_id, event) for event in request.events]
    outcomes = await loop.submit_from(asyncio.get_running_loop(), entries)
    statuses: list[str] = [
        "duplicate" if outcome.status == "conflict" else outcome.status for outcome in outcomes
    ]
    for status in statuses:
        count_events(call.service, loop.name, status)
    return statuses


def _make_entry(call: Call, ranking_id: str, event: BeaconEvent) -> Observed:
    types = call.service.settings.browsers.types
    if event.type not in types:
        raise HTTPProblem(
            422, f"type: found {event.type!r:.80}, expected one of {', '.join(types)}"
        )
    check_printable([event.item])
    if not math.isfinite(event.value):
        raise HTTPProblem(422, f"value: found {event.value}, expected a finite number")
    name = "\0".join((ranking_id, event.item, event.type))
    event_id = f"beacon-{digest_of(name.encode()).hex()}"
    return Observed(event_id, ranking_id, event.item, **given_values(event))


async def preflight(call: Call) -> Response:
    """Answer whether a page may send feedback."""
    return Response(
        status_code=204,
        headers={
            "access-control-allow-origin": _check_origin(call),
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": "content-type",
            "access-control-max-age": _KEPT,
            "vary": "origin",
        },
    )


def _check_origin(call: Call) -> str:
    """Return the origin of the page, if pages of it may send feedback."""
    origins = call.service.settings.browsers.origins
    if not origins:
        raise HTTPProblem(
            404, "this service accepts no feedback from browsers; see browsers.origins"
        )
    headers: dict[bytes, bytes] = dict(call.scope["headers"])
    origin = headers.get(b"origin", b"").decode("latin-1")
    if origin not in origins:
        raise HTTPProblem(
            403, f"pages of {origin!r:.80} may not send feedback here; add it to browsers.origins"
        )
    return origin


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/{loop}/beacon",
        beacon,
        "Feedback from browsers.",
        None,
        BeaconRequest,
        answer=BeaconAnswer,
        raw=True,
        browsers=True,
    ),
    Endpoint(
        "OPTIONS",
        "/v1/{loop}/beacon",
        preflight,
        "Whether a page may send feedback.",
        None,
        browsers=True,
    ),
)
