"""Load for a service on loopback: clients that each wait for an answer before they ask again."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Load:
    """What clients saw: answers a second, and latencies in milliseconds.

    each : microseconds of processor time that the server took an answer, where that is known
    """

    a_second: float
    p50: float
    p99: float
    refused: int
    each: float = float("nan")

    def __str__(self) -> str:
        return f"{self.a_second:9,.0f}/s   p50 {self.p50:6.1f} ms   p99 {self.p99:6.1f} ms"


def post(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """Return a whole request."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    head += f"content-type: {kind}\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def drive(
    port: int,
    requests: Callable[[int], Iterator[bytes]],
    clients: int,
    seconds: float,
    on_answer: Callable[[bytes], None] | None = None,
) -> Load:
    """Send requests for some seconds; `requests` gives those of each client."""
    import uvloop

    return uvloop.run(_drive(port, requests, clients, seconds, on_answer))


async def _drive(
    port: int,
    requests: Callable[[int], Iterator[bytes]],
    clients: int,
    seconds: float,
    on_answer: Callable[[bytes], None] | None,
) -> Load:
    times: list[float] = []
    refused = 0
    start = time.perf_counter()

    async def client(number: int) -> None:
        nonlocal refused
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
        try:
            for request in requests(number):
                sent = time.perf_counter()
                if sent - start > seconds:
                    break
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                times.append(time.perf_counter() - sent)
                refused += not head.startswith(b"HTTP/1.1 200")
                if on_answer is not None:
                    on_answer(body)
        finally:
            writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    took = time.perf_counter() - start
    p50, p99 = (1000 * np.percentile(times, [50, 99])).tolist()
    return Load(len(times) / took, p50, p99, refused)
