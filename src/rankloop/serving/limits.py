"""What a request may cost: its bytes, and the time they take to arrive."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rankloop.serving.problems import Problem

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

SLOWEST = 30.0
"""Seconds for a whole request to arrive."""


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return a request's body; raise where it is too long, or too slow."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise _too_long(most)
    message = await _next(receive)
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        return _checked(body, most)
    parts, size = [body], len(body)
    try:
        async with asyncio.timeout(SLOWEST):
            while message.get("more_body", False):
                message = await _next(receive)
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _too_long(most)
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {SLOWEST:g} seconds") from None
    return b"".join(parts)


async def _next(receive: Receive) -> dict[str, Any]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Problem(400, "the client went away before the request was complete")
    return dict(message)


def _checked(body: bytes, most: int) -> bytes:
    if len(body) > most:
        raise _too_long(most)
    return body


def _too_long(most: int) -> Problem:
    return Problem(413, f"the body is longer than {most:,} bytes; send less at once")
