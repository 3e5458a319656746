"""`/`, and the data that its page requests, for which a token needs the scope `metrics`."""

from __future__ import annotations

import asyncio
import gzip
from functools import cache
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from rankloop.serving.dashboard.board import Health
from rankloop.serving.dashboard.files import PATH, Files
from rankloop.serving.dashboard.inspector import RankingDetails, inspect
from rankloop.serving.dashboard.interface import render_interface
from rankloop.serving.dashboard.journal_summary import RankingSummary
from rankloop.serving.dashboard.now import Now, now_of
from rankloop.serving.dashboard.past import Past, past_of
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import JSON, Endpoint, answer
from rankloop.serving.routes.openapi import document_of

if TYPE_CHECKING:
    from rankloop.serving.dashboard.board import Board
    from rankloop.serving.routes.base import Call

_LISTED = 50


class LoopLine(msgspec.Struct):
    """A loop in the list of loops."""

    name: str
    health: Health


class Loops(msgspec.Struct):
    """All loops of the service; `who` is the name of the token in the request."""

    loops: list[LoopLine]
    who: str


class Newest(msgspec.Struct):
    """The newest rankings, newest first."""

    rankings: list[RankingSummary]


async def page(call: Call) -> Response:
    """Return the page."""
    return _file(call, "index.html", None)


async def interface(call: Call) -> Response:
    """Return the page that shows the interface."""
    return _files().page(render_interface(document_of(call), _files().base), _takes_gzip(call))


async def static(call: Call) -> Response:
    """Return a file of the page."""
    return _file(call, call.path["name"], call.path["version"])


async def loops(call: Call) -> Response:
    """Return all loops with their health."""
    boards = call.service.boards.loops
    return answer(Loops([LoopLine(name, board.health) for name, board in boards.items()], call.who))


async def now(call: Call) -> Response:
    """Return a loop at this moment."""
    return answer(now_of(call.service, _board(call)))


async def past(call: Call) -> Response:
    """Return a loop over time."""
    body = await asyncio.to_thread(_encode_past, call)
    zipped = {"content-encoding": "gzip"} if _takes_gzip(call) else {}
    return Response(body, headers={**zipped, "vary": "accept-encoding"}, media_type=JSON)


def _encode_past(call: Call) -> bytes:
    """Return a loop over time as bytes; hundreds of points of many numbers compress well."""
    body = msgspec.json.encode(past_of(call.service.boards, _board(call)))
    return gzip.compress(body, 1) if _takes_gzip(call) else body


async def newest(call: Call) -> Response:
    """Return the newest rankings."""
    rankings = list(_board(call).summary.newest.copy().values())
    return answer(Newest(rankings[: -_LISTED - 1 : -1]))


async def ranking(call: Call) -> Response:
    """Return one ranking in detail."""
    loop, ranking_id = call.loop, call.path["id"]
    record = await asyncio.to_thread(loop.find_ranking, ranking_id)
    if record is None or not isinstance(record.entry, Ranked):
        raise HTTPProblem(404, f"there is no ranking {ranking_id!r:.80} in this loop's journal")
    return answer(await asyncio.to_thread(inspect, loop, record, record.entry))


def _board(call: Call) -> Board:
    return call.service.boards.loops[call.loop.name]


def _file(call: Call, name: str, version: str | None) -> Response:
    response = _files().response(name, version, _takes_gzip(call))
    if response is None:
        raise HTTPProblem(
            404, f"the dashboard has no file {name!r:.80} of this version; load / again"
        )
    return response


def _takes_gzip(call: Call) -> bool:
    return b"gzip" in dict(call.scope["headers"]).get(b"accept-encoding", b"")


@cache
def _files() -> Files:
    return Files()


ENDPOINTS = (
    Endpoint("GET", "/", page, "The dashboard.", None),
    Endpoint("GET", "/docs", interface, "The interface, as a page.", None),
    Endpoint("GET", PATH, static, "A file of the dashboard.", None),
    Endpoint("GET", "/dashboard/loops", loops, "All loops.", "metrics", answer=Loops),
    Endpoint("GET", "/dashboard/loops/{loop}", now, "A loop now.", "metrics", answer=Now),
    Endpoint(
        "GET", "/dashboard/loops/{loop}/past", past, "A loop over time.", "metrics", answer=Past
    ),
    Endpoint(
        "GET",
        "/dashboard/loops/{loop}/rankings",
        newest,
        "The newest rankings.",
        "metrics",
        answer=Newest,
    ),
    Endpoint(
        "GET",
        "/dashboard/loops/{loop}/rankings/{id}",
        ranking,
        "What was shown and why, what people did, and what every model would show.",
        "metrics",
        answer=RankingDetails,
    ),
)
