"""A week of traffic in some minutes, to see whether memory and response times stay flat.

`python -m benchmarks.soak [--minutes 5] [--rate 40] [--folder DIR]`. A service in a process of its
own ranks 100 documents of 46 features a request (MessagePack, durable); simulated users click, and
change their taste after the fourth of seven days. On each day an experiment begins with those who
have done better recently; a winner is promoted and watched. A row is half a day: what clients saw,
the memory of the service, its journal, how far rankers are behind, and nDCG@10 by grades that only
the users know. In the end the journal is replayed, and must lead to the same state.

Whether memory and p99 are flat is said by numbers: both are taken twelve times a day, and a line is
fitted to them from the third day on. Its slope comes with an interval of 95%, by Student's t over
the days' parts; it is flat where that holds 0, or where both ends are below 1% a day. All that the
service remembers is bounded, but some bounds take hours to reach: the newest entries (64 MB), the
items of rankings with feedback (50,000), and what the dashboard shows (480 moments). They are
lowered here, so that everything is full after a day. An hour (`--minutes 60`) is the real thing.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import numpy as np

from rankloop.cli.tables import print_table
from rankloop.clicks.users import make_user
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.learning.models import qualities
from rankloop.serving.server import serve
from rankloop.serving.settings.service import Settings, as_settings

if TYPE_CHECKING:
    from collections.abc import Callable

DAYS, DRIFT, ROWS, PARTS, WARM = 7, 4, 14, 84, 2
DOCUMENTS, WIDTH, CLIENTS = 100, 46, 8
RANKERS = ("perceptron", "online-xendcg:rate=0.1", "solar-i")


@dataclass
class Seen:
    """What clients saw since the last row."""

    times: list[float] = field(default_factory=list)
    quality: list[float] = field(default_factory=list)
    refused: int = 0


class Users(threading.Thread):
    """Somebody who searches at a steady rate, and clicks."""

    def __init__(self, port: int, seed: int, rate: float, seconds: float, seen: Seen) -> None:
        super().__init__(daemon=True)
        self.rng = np.random.default_rng(seed)
        tastes = np.random.default_rng(0).normal(size=(2, WIDTH))
        self.tastes, self.user = tastes, make_user("navigational", grades=3)
        self.rate, self.seconds, self.seen = rate, seconds, seen
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.begun = time.perf_counter()

    def run(self) -> None:
        """Search until the week is over; who falls behind does not hurry after."""
        due = self.begun + float(self.rng.random()) / self.rate
        while (now := time.perf_counter()) < self.begun + self.seconds:
            if now < due:
                time.sleep(due - now)
            due = max(due + 1 / self.rate, time.perf_counter() - 1 / self.rate)
            self.search(DAYS * (time.perf_counter() - self.begun) / self.seconds)

    def search(self, day: float) -> None:
        """Rank, look, click."""
        X = self.rng.normal(size=(DOCUMENTS, WIDTH)).astype(np.float32)
        worth = X @ self.tastes[int(day >= DRIFT)] + self.rng.normal(size=DOCUMENTS)
        grades = np.zeros(DOCUMENTS)
        grades[np.argsort(-worth)[:10]] = np.repeat([2, 1], 5)
        items = [f"d{row}" for row in range(DOCUMENTS)]
        sent = time.perf_counter()
        answer = self.send("rank", {"items": items, "features": X.tobytes(), "k": 10})
        if answer is None:
            return
        self.seen.times.append(time.perf_counter() - sent)
        rows = [int(item["id"][1:]) for item in answer["items"]]
        places = np.full(DOCUMENTS, -float(DOCUMENTS))
        places[rows] = -np.arange(float(len(rows)))
        ((found,),) = qualities([places], grades, np.array([0, len(grades)]))
        self.seen.quality.append(found)
        clicked = np.flatnonzero(self.user.sample(self.rng, grades[rows])).tolist()
        events = [
            {"ranking_id": answer["ranking_id"], "item": items[rows[place]]} for place in clicked
        ]
        if events:
            self.send("feedback", {"events": events}, "application/json")

    def send(self, path: str, body: Any, kind: str = "application/msgpack") -> Any:
        """Send a request; None where it is refused."""
        packed = msgspec.msgpack if kind.endswith("msgpack") else msgspec.json
        self.http.request("POST", f"/v1/shop/{path}", packed.encode(body), {"content-type": kind})
        response = self.http.getresponse()
        content = response.read()
        if response.status != 200:
            self.seen.refused += 1
            return None
        return msgspec.json.decode(content)


def asked(port: int, method: str, path: str, body: Any = None) -> Any:
    """Ask the service for something."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        content = None if body is None else msgspec.json.encode(body)
        link.request(method, path, content, {"content-type": "application/json"})
        return msgspec.json.decode(link.getresponse().read())
    finally:
        link.close()


def begin_experiment(port: int) -> None:
    """End yesterday's experiment, if clicks did not, and try those that did better recently."""
    state = asked(port, "GET", "/v1/shop")
    running = state.get("experiment")
    if running is not None:
        asked(port, "POST", f"/v1/shop/experiments/{quote(running['id'])}/end", {})
        time.sleep(1)
    champion = next(one for one in state["models"] if one["champion"])["quality"]["recent"]
    better = [one["name"] for one in state["models"] if one["quality"]["recent"] > champion]
    if better:
        body = {"challengers": better, "promote": "auto", "share": 0.5, "watch": 0.1}
        asked(port, "POST", "/v1/shop/experiments", body)


def megabytes_of(process: int) -> float:
    """Return the memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


@dataclass
class Part:
    """A part of the week: when it ended, in days, and what was seen in it."""

    day: float
    p50: float
    p99: float
    megabytes: float
    times: list[float]
    quality: list[float]


def slope(parts: list[Part], of: Callable[[Part], float]) -> str:
    """Return by how much something changes a day, with an interval of 95%, in words."""
    from scipy.stats import linregress, t

    days, values = [one.day for one in parts], [of(one) for one in parts]
    line = linregress(days, values)
    error = float(t.ppf(0.975, len(parts) - 2) * line.stderr)
    low, high = line.slope - error, line.slope + error
    share = max(abs(low), abs(high)) / np.mean(values)
    word = "flat" if low <= 0 <= high or share < 0.01 else "RISES" if low > 0 else "falls"
    return (
        f"{line.slope:+.2f} a day, 95% interval {low:+.2f} to {high:+.2f}, at a mean of "
        f"{np.mean(values):.1f}: {word}"
    )


def week(
    port: int, process: int, chosen: argparse.Namespace, journal: Path
) -> tuple[list[list[str]], list[Part]]:
    """Let a week pass, and return a row for each half day, and its parts."""
    seconds = 60 * chosen.minutes
    seen = Seen()
    crowd = [Users(port, 1 + n, chosen.rate / CLIENTS, seconds, seen) for n in range(CLIENTS)]
    for one in crowd:
        one.start()
    rows: list[list[str]] = []
    parts: list[Part] = []
    begun = time.perf_counter()
    for n in range(1, PARTS + 1):
        if n > 1 and (n - 1) % (PARTS // DAYS) == 0:
            begin_experiment(port)
        time.sleep(max(begun + n * seconds / PARTS - time.perf_counter(), 0))
        times, quality = seen.times[:], seen.quality[:]
        del seen.times[: len(times)], seen.quality[: len(quality)]
        p50, p99 = (1000 * np.percentile(times or [0.0], [50, 99])).tolist()
        parts.append(Part(DAYS * n / PARTS, p50, p99, megabytes_of(process), times, quality))
        if n % (PARTS // ROWS) == 0:
            size = sum(path.stat().st_size for path in journal.parent.glob("shop.journal*")) / 1e6
            some = parts[-(PARTS // ROWS) :]
            rows.append(row(some, ROWS / seconds, size, asked(port, "GET", "/v1/shop")))
    for one in crowd:
        one.join()
    if seen.refused:
        print(f"{seen.refused} requests were refused")
    return rows, parts


def row(parts: list[Part], halves: float, size: float, state: Any) -> list[str]:
    """Return half a day in words; `halves` is how many there are a second."""
    times = [time_ for one in parts for time_ in one.times]
    quality = [value for one in parts for value in one.quality]
    p50, p99 = (1000 * np.percentile(times or [0.0], [50, 99])).tolist()
    champion = next(one["name"] for one in state["models"] if one["champion"])
    return [
        f"{parts[-1].day:.2f}",
        f"{halves * len(times):.0f}",
        f"{p50:.1f}",
        f"{p99:.1f}",
        f"{parts[-1].megabytes:.0f}",
        f"{size:.0f}",
        str(state["lag"]),
        champion,
        f"{np.mean(quality or [0.0]):.3f}",
    ]


def settings_of(journal: Path, port: int) -> Settings:
    """Return a service with one loop, whose bounds are reached early."""
    loop = {"features": WIDTH, "rankers": list(RANKERS), "journal": str(journal), "window": 5.0}
    bounds = {"max_closed": 2000, "check_every": 5000, "snapshot_every": 20_000}
    return as_settings({"server": {"port": port}, "loops": {"shop": loop | bounds}})


def serve_with_low_bounds(settings: Settings) -> None:
    """Serve; what has no setting is bounded here, as everything must be full early."""
    from rankloop.serving.dashboard import board, journal_summary
    from rankloop.serving.journal.cache import EntryCache
    from rankloop.serving.threads import refusals

    EntryCache.__init__.__defaults__ = (8_000_000,)
    refusals._SHOWN_KEPT = 2_000
    board._POINTS, board._HOUR, journal_summary._MAX_OPEN = 30, 30, 100
    serve(settings)


def main() -> None:
    """Serve, search, click, measure, replay."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=40.0, help="searches a second")
    parser.add_argument("--port", type=int, default=18_231)
    parser.add_argument("--folder", type=Path, help="for the journal; default: a temporary one")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        journal = Path(folder) / "shop.journal"
        settings = settings_of(journal, chosen.port)
        service = multiprocessing.get_context("spawn").Process(
            target=serve_with_low_bounds, args=(settings,)
        )
        service.start()
        try:
            for _ in range(300):
                try:
                    asked(chosen.port, "GET", "/v1/shop")
                    break
                except OSError:
                    time.sleep(0.1)
            rows, parts = week(chosen.port, service.pid or 0, chosen, journal)
        finally:
            service.terminate()  # which commits, applies and saves
            service.join()
        head = ["day", "searches/s", "p50 ms", "p99 ms", "MB", "journal MB", "lag", "champion"]
        print_table([*head, "nDCG@10"], rows)
        late = [one for one in parts if one.day > WARM]
        print(f"memory, MB: {slope(late, lambda one: one.megabytes)}")
        print(f"p50, ms: {slope(late, lambda one: one.p50)}")
        print(f"p99, ms: {slope(late, lambda one: one.p99)}")
        with open_journal(str(journal), "shop") as opened:
            start = time.perf_counter()
            same = replay(opened).digest() == load_engine(opened).digest()
            took = time.perf_counter() - start
            print(f"{opened.head():,} entries replayed in {took:.0f} s: {_WORDS[same]}")


_WORDS = {True: "the same state, bit for bit", False: "ANOTHER STATE"}


if __name__ == "__main__":
    main()
