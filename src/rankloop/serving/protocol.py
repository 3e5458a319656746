"""HTTP with limits that uvicorn does not have: for endless headers, and too many connections.

Headers and body of an answer are sent together, so that a client is woken once.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rankloop.serving.problems import HTTPProblem

HEADERS_WITHIN = 10.0
"""Seconds from the first byte of a connection or a request to the end of its headers."""

MAX_HEADERS = 65_536
"""Bytes of a request's first line and headers."""


class Protocol(HttpToolsProtocol):
    """One connection. It is closed if headers are too slow, or too long."""

    max_connections = 5_000
    _waits: asyncio.TimerHandle | None = None
    _size = 0
    _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, if there are not too many."""
        super().connection_made(_Gathered(transport, self.loop))  # type: ignore[arg-type]
        if len(self.connections) > self.max_connections:
            self._refuse(503, f"more than {self.max_connections:,} connections; try again later")
            return
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a closed connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes, as long as the headers are not too long."""
        if self.transport.is_closing():
            return
        if self._waits is None and (self.cycle is None or self.cycle.response_complete):
            self._await_headers()  # or the rest of a body that was refused, which is not kept
        if self._waits is not None and not self._in_body:
            self._size += len(data)
        super().data_received(data)
        if self._waits is not None and self._size > MAX_HEADERS:
            self._refuse_large()

    def on_headers_complete(self) -> None:
        """Begin to answer; headers that arrived in one piece are measured here."""
        self._stop_waiting()
        if len(self.url) + sum(len(a) + len(b) + 4 for a, b in self.headers) > MAX_HEADERS:
            self._refuse_large()
            raise OverflowError  # it stops the parser
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the body of a request; after it, headers of the next one may follow."""
        self._in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer that this is not valid HTTP, as a problem document."""
        self._refuse(400, f"this is not a valid HTTP request: {msg}")

    def _await_headers(self) -> None:
        self._size = 0
        self._waits = self.loop.call_later(HEADERS_WITHIN, self._refuse_slow)

    def _stop_waiting(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _refuse_slow(self) -> None:
        self._waits = None
        if self._size:
            self._refuse(408, f"the headers did not end within {HEADERS_WITHIN:g} seconds")
        else:
            self.transport.close()

    def _refuse_large(self) -> None:
        self._refuse(431, f"the headers are longer than {MAX_HEADERS:,} bytes")

    def _refuse(self, status: int, detail: str) -> None:
        """Answer bytes that never became a request, and close the connection."""
        self._stop_waiting()
        if self.transport.is_closing():
            return
        response = HTTPProblem(status, detail, close=True).response()
        lines = [f"HTTP/1.1 {status} -".encode()]
        lines += [name + b": " + value for name, value in response.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))
        self.transport.close()


class _Gathered:
    """A transport that sends what is written within one turn of the event loop together."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send bytes, together with those that follow at once."""
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        """Close, after everything is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def protocol(max_connections: int) -> type[asyncio.Protocol]:
    """Return the protocol for a server with this limit of connections."""
    members: dict[str, object] = {"max_connections": max_connections}
    return type("Protocol", (Protocol,), members)
