"""`GET /v1/{loop}/events`: what changes in a loop, as it changes (server-sent events).

A slow client may miss intermediate states, but never the newest: nothing waits for it, so it costs
the service at most the memory of one message.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import StreamingResponse

from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint
from rankloop.serving.routes.state import loop_state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.responses import Response

    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call
    from rankloop.serving.service import Service

MAX_CLIENTS = 100
"""The largest number of clients that listen to one loop of a process."""
BETWEEN = 0.25
"""The shortest time between two messages, in seconds."""
HEARTBEAT = 15.0
"""The longest time without a message, in seconds, so that proxies keep the connection open."""


async def events(call: Call) -> Response:
    """Send changes until the client disconnects, or the service stops."""
    if call.service.listening[call.loop.name] >= MAX_CLIENTS:
        raise HTTPProblem(
            503, f"{MAX_CLIENTS} clients already listen to this loop; try again later"
        )
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(
        _messages(call.service, call.loop), headers=headers, media_type="text/event-stream"
    )


async def _messages(service: Service, loop: Loop) -> AsyncIterator[bytes]:
    """Yield the whole state first, then what has changed, and heartbeats if nothing changes."""
    service.listening[loop.name] += 1
    try:
        known: dict[str, Any] = {}
        published, silent = None, 0.0
        while loop.ready and not service.draining:
            if loop.published is not published:
                published = loop.published
                now = msgspec.to_builtins(loop_state(loop, published))
                new = {name: value for name, value in now.items() if known.get(name) != value}
                kind = _kind(known, now)
                known, silent = now, 0.0
                yield _message(kind, published.position, new)
            elif silent >= HEARTBEAT:
                silent = 0.0
                yield b": still here\n\n"
            await asyncio.sleep(BETWEEN)
            silent += BETWEEN
        yield _message("end", loop.published.position, {})
    finally:
        service.listening[loop.name] -= 1


def _kind(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return the kind of a message, which is that of the most important change in it."""
    if not before:
        return "state"
    if _champion(before) != _champion(now):
        gone_back = before["budget"]["rollbacks"] < now["budget"]["rollbacks"]
        return "rollback" if gone_back else "promotion"
    if (before.get("experiment") or {}).get("id") != (now.get("experiment") or {}).get("id"):
        return "experiment"
    return "change"


def _champion(state: dict[str, Any]) -> str | None:
    return next((model["name"] for model in state["models"] if model["champion"]), None)


def _message(kind: str, position: int, data: dict[str, object]) -> bytes:
    return b"event: %s\nid: %d\ndata: %s\n\n" % (
        kind.encode(),
        position,
        msgspec.json.encode({"position": position, **data}),
    )


EVENTS = Endpoint(
    "GET",
    "/v1/{loop}/events",
    events,
    "What changes in a loop, as server-sent events.",
    "metrics",
)
