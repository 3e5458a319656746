"""More rankings than the live loop can do: how many it refuses, and how soon it answers the rest.

`python -m benchmarks.overload [--seconds 10] [--shares 0.8 1.2 2] [--max-delay 0.1]`, about a
minute. First 16 clients, each of which waits for its answer, find out how many rankings a second
the service can do. Then requests arrive at random moments, at a share of that rate, whether or not
the service has answered those before. A latency is the time from the moment at which a request was
due. Clients run in a process of their own; on two cores, they take part of what the service needs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import multiprocessing
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.load import drive, post
from benchmarks.serve import WIDTH, rank_bodies, server

if TYPE_CHECKING:
    from collections.abc import Callable


class Arrivals(NamedTuple):
    """What became of requests that arrived at a rate, with latencies in milliseconds."""

    sent: int
    refused: int
    p50: float
    p99: float
    p99_refused: float


class _Connection(asyncio.Protocol):
    """A connection that is used for one request after another; as cheap as possible."""

    def __init__(self, idle: list[_Connection], done: Callable[[float, bool], object]) -> None:
        self._idle, self._done = idle, done
        self._due: float | None = None
        self._got = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def send(self, due: float, request: bytes) -> None:
        """Send a request that was due at a moment."""
        self._due, self._got = due, b""
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, ended, body = self._got.partition(b"\r\n\r\n")
        if not ended or self._due is None:
            return
        if len(body) == int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            due, self._due = self._due, None
            self._done(due, head.startswith(b"HTTP/1.1 200"))
            self._idle.append(self)

    def connection_lost(self, _: Exception | None) -> None:
        if self._due is not None:
            self._done(self._due, False)
        if self in self._idle:
            self._idle.remove(self)


async def _arrive(port: int, rate: float, seconds: float) -> Arrivals:
    bodies = [post("/v1/loop/rank", body) for body in rank_bodies(packed=False)]
    due = np.cumsum(np.random.default_rng(1).exponential(1 / rate, int(rate * seconds))).tolist()
    idle: list[_Connection] = []
    times: dict[bool, list[float]] = {True: [], False: []}
    start = time.perf_counter()

    def done(moment: float, accepted: bool) -> None:
        times[accepted].append(1000 * (time.perf_counter() - start - moment))

    async def connect(n: int) -> None:
        _, connection = await loop.create_connection(
            lambda: _Connection(idle, done), "127.0.0.1", port
        )
        connection.send(due[n], bodies[n % len(bodies)])

    loop = asyncio.get_running_loop()
    connecting = []
    for n, moment in enumerate(due):
        wait = moment - (time.perf_counter() - start)
        await asyncio.sleep(max(wait, 0))
        if idle:
            idle.pop().send(moment, bodies[n % len(bodies)])
        else:
            connecting.append(loop.create_task(connect(n)))
    await asyncio.gather(*connecting)
    while len(times[True]) + len(times[False]) < len(due):
        await asyncio.sleep(0.01)
    p50, p99 = np.percentile(times[True] or [np.nan], [50, 99]).tolist()
    refused = float(np.percentile(times[False] or [np.nan], 99))
    return Arrivals(len(due), len(times[False]), p50, p99, refused)


def arrive(port: int, rate: float, seconds: float, results: Any) -> None:
    """Send requests at a rate, from a process of their own; a rate of 0 finds the capacity."""
    import uvloop

    if rate:
        results.put(uvloop.run(_arrive(port, rate, seconds)))
        return
    bodies = [post("/v1/loop/rank", body) for body in rank_bodies(packed=False)]
    results.put(
        drive(port, lambda n: itertools.islice(itertools.cycle(bodies), n, None), 16, seconds)
    )


def apart(port: int, rate: float, seconds: float) -> Any:
    """Run :func:`arrive` in another process."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=arrive, args=(port, rate, seconds, results))
    process.start()
    found = results.get()
    process.join()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.8, 1.2, 2.0])
    parser.add_argument("--max-delay", type=float, default=0.1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        loop = {"features": WIDTH, "journal": str(Path(folder) / "j"), "window": 1.0}
        settings = {"server": {"max_delay": chosen.max_delay}, "loops": {"loop": loop}}
        context = multiprocessing.get_context("spawn")
        listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        ready = context.Event()
        process = context.Process(target=server, args=(listening, settings, ready))
        process.start()
        ready.wait()
        port = listening.getsockname()[1]
        try:
            apart(port, 0, 1)  # everybody is awake
            measure(port, chosen.shares, chosen.seconds)
        finally:
            process.terminate()
            process.join()


def measure(port: int, shares: list[float], seconds: float) -> None:
    """Measure every share of the capacity, which is measured anew before each."""
    print("share  capacity/s   sent/s  refused  accepted p50 / p99 ms  refused p99 ms")
    for share in shares:
        capacity = apart(port, 0, 3).a_second
        found = apart(port, share * capacity, seconds)
        print(
            f"{share:5.0%}  {capacity:10,.0f}  {found.sent / seconds:7,.0f}  "
            f"{found.refused / found.sent:7.0%}  {found.p50:12.1f} / {found.p99:6.1f}  "
            f"{found.p99_refused:14.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
