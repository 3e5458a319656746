"""Limits of requests: their bytes, the time they take to arrive, and how many there may be."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from rankloop.serving.problems import HTTPProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope

    from rankloop.serving.security.shedding import LoadShedder

SLOWEST = 30.0
"""Seconds for a whole request to arrive."""


async def read_body(scope: Scope, receive: Receive, max_bytes: int, shedder: LoadShedder) -> bytes:
    """Return a request's body; raise if it is too long, or too slow, or if too many bytes wait.

    The bytes count as held by this process until the caller releases them; none, after an error.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > max_bytes:
            raise _too_long(max_bytes)
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(SLOWEST):
            await _read_parts(receive, max_bytes, shedder, parts)
    except BaseException as error:
        shedder.release(sum(map(len, parts)))
        if not isinstance(error, TimeoutError):
            raise
        raise HTTPProblem(
            408, f"the body did not arrive within {SLOWEST:g} seconds", close=True
        ) from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _read_parts(
    receive: Receive, max_bytes: int, shedder: LoadShedder, parts: list[bytes]
) -> None:
    size, more = 0, True
    while more:
        message = await _next(receive)
        body: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        shedder.hold(len(body))
        parts.append(body)
        size += len(body)
        if size > max_bytes:
            raise _too_long(max_bytes)


async def _next(receive: Receive) -> dict[str, Any]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise HTTPProblem(400, "the client disconnected before the request was complete")
    return dict(message)


def _too_long(max_bytes: int) -> HTTPProblem:
    return HTTPProblem(
        413, f"the body is longer than {max_bytes:,} bytes; send less in one request", close=True
    )  # what follows is not read


class Buckets:
    """How much each client may still do: one bucket per client, refilled at a constant rate.

    Parameters
    ----------
    rate : how much is refilled per second
    size : how much a full bucket contains
    max_clients : number of clients that it remembers; the one seen least recently is forgotten
    clock : seconds from any moment

    Examples
    --------
    >>> now = [0.0]
    >>> buckets = Buckets(rate=2, size=3, max_clients=100, clock=lambda: now[0])
    >>> [buckets.wait("me") for _ in range(4)]
    [0.0, 0.0, 0.0, 0.5]
    >>> now[0] = 0.5
    >>> buckets.wait("me"), buckets.wait("you")
    (0.0, 0.0)
    """

    def __init__(
        self,
        rate: float,
        size: float,
        max_clients: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._size, self._max_clients, self._clock = rate, size, max_clients, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, n: float = 1.0) -> float:
        """Take an amount and return 0; or take nothing, and return how many seconds to wait.

        An amount larger than a bucket needs a full bucket, and the next wait is longer.
        """
        now = self._clock()
        level, then = self._levels.get(client, (self._size, now))
        level = min(self._size, level + self._rate * max(now - then, 0.0))
        needed = min(n, self._size)
        taken = level >= needed
        self._levels[client] = (level - n if taken else level, now)
        self._levels.move_to_end(client)
        if len(self._levels) > self._max_clients:
            self._levels.popitem(last=False)
        return 0.0 if taken else (needed - level) / self._rate

    def take(self, client: str, n: float = 1.0, what: str = "requests") -> None:
        """Take an amount, or raise a problem that says when to try again."""
        seconds = self.wait(client, n)
        if seconds:
            raise HTTPProblem(
                429,
                f"too many {what} from this client: the limit is {self._rate:g} per second; try "
                f"again in {math.ceil(seconds)} seconds",
                retry_after=math.ceil(seconds),
            )


def network(address: str) -> str:
    """Return the client of an address: itself, or for IPv6 its network of 64 bits.

    >>> network("192.0.2.7"), network("2001:db8:1:2:3:4:5:6"), network("a socket")
    ('192.0.2.7', '2001:db8:1:2::', 'a socket')
    """
    if ":" not in address:
        return address
    try:
        ip = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(ip) >> 64 << 64))
