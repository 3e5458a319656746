"""How cost grows: `python -m benchmarks.growth`.

Each row takes one kind of work at sizes that double, and fits the exponent of its processor time,
log time = a + exponent log size, over the three largest sizes, where what does not grow counts
little. Beside it stands the exponent of the stated cost. Sizes take turns, and each counts with its
smallest time, so other work on the machine matters little. A few minutes; `--only TEXT` runs the
rows that contain it, `--markdown` prints the table of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")  # exponents are of work, not of threads

import httpx
import numpy as np

import rankloop as rl
from rankloop.cli.tables import print_table
from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.features.request import Request
from rankloop.rankers.registry import make_online_ranker
from rankloop.serving import operations as do
from rankloop.serving.engine.snapshots import load_engine, replay, take_snapshot
from rankloop.serving.journal.sqlite import SqliteJournal
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.loop import LoopSettings
from rankloop.serving.settings.service import as_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Work = Callable[[], object]

CLOSE = 0.2
"""How far above the stated exponent a fitted one may be."""


@dataclass(frozen=True)
class Row:
    """One kind of work; `prepare` returns it for a size."""

    what: str
    grows: str
    stated: float
    sizes: Sequence[int]
    prepare: Callable[[int], Work]


def learning(name: str, documents: int, features: int) -> Work:
    """Return one `learn` of a ranker that has seen some queries of this shape."""
    rng = np.random.default_rng(0)
    X = rng.random((8, documents, features), dtype=np.float32)
    y = rng.integers(0, 3, (8, documents)).astype(np.float64)
    ranker = make_online_ranker(name)
    for k in range(8):
        ranker.learn(X[k], y[k])
    return lambda: ranker.learn(X[0], y[0])


def ranking(name: str, documents: int, features: int) -> Work:
    """Return one `rank`."""
    rng = np.random.default_rng(0)
    X = rng.random((documents, features), dtype=np.float32)
    ranker = make_online_ranker(name).learn(X, rng.integers(0, 3, documents).astype(np.float64))
    return lambda: ranker.rank(X)


def clicking(documents: int) -> Work:
    """Return one ranking with a click, shown and learnt by PDGD."""
    X = np.random.default_rng(0).random((documents, 46), dtype=np.float32)
    ranker = PDGD()

    def show_and_learn() -> None:
        shown = ranker.show(X, id="r")
        ranker.learn_ranking(shown, click_grades(shown, [n == 3 for n in range(10)]))

    return show_and_learn


def queries(n: int) -> rl.QueryDataset:
    """Return queries of 40 documents with 46 features."""
    rng = np.random.default_rng(0)
    X = rng.random((40 * n, 46), dtype=np.float32)
    return rl.QueryDataset.from_arrays(X, rng.integers(0, 3, 40 * n), group=np.full(n, 40))


def measuring(n: int) -> Work:
    """Return an evaluation."""
    data = queries(n)
    scores = np.random.default_rng(1).random(data.n_documents)
    return lambda: rl.evaluate(data, scores, ["nDCG@10", "AP"])


def fitting(ranker: rl.rankers.Ranker, n: int) -> Work:
    """Return a fit."""
    data = queries(n)
    return lambda: ranker.fit(data)


def reading(folder: Path, n: int) -> Work:
    """Return the reading of LETOR text."""
    path = folder / f"{n}.txt"
    rl.write_letor(queries(n), path)
    return lambda: rl.read_letor(path)


class Shop:
    """A loop that computes ten features, with a catalogue of this size."""

    def __init__(self, items: int, folder: Path) -> None:
        names = [f"n{k}" for k in range(6)]
        features: dict[str, object] = {name: {"number": f"item.{name}"} for name in names}
        for per in ("item", "item.brand"):
            features[f"rate {per}"] = {"rate": "click", "of": "impression", "per": per}
            features[f"count {per}"] = {"count": "click", "per": per}
        loop = {
            "fields": {"item": {**dict.fromkeys(names, "number"), "brand": "category"}},
            "features": features,
            "rankers": ["slam"],
            "journal": str(folder / f"shop-{items}.journal"),
        }
        self.service = Service.start(as_settings({"loops": {"shop": loop}}))
        self.loop = self.service.loops["shop"]
        self.puts = 0
        rng = np.random.default_rng(0)
        self.ids = [f"item-{k}" for k in range(items)]
        self.fields = [
            {**{name: float(rng.normal()) for name in names}, "brand": f"b{k % 100}"}
            for k in range(items)
        ]

    def put(self) -> None:
        """Store the whole catalogue, over HTTP."""
        self.puts += 1  # what is there already would cost less
        with background(self.service) as url, httpx.Client(base_url=url, timeout=600) as client:
            for first in range(0, len(self.ids), 1000):
                some = slice(first, first + 1000)
                items = [
                    {"id": name, "fields": {**fields, "n0": self.puts}}
                    for name, fields in zip(self.ids[some], self.fields[some], strict=True)
                ]
                client.put("/v1/shop/items", json=items).raise_for_status()

    def compute(self) -> object:
        """Compute the matrix of a hundred of its items."""
        some = self.ids[:: max(len(self.ids) // 100, 1)][:100]
        return self.loop.live.compute(some, Request(), self.loop.now(), None)


def storing(folder: Path, items: int) -> Work:
    """Return the storing of a catalogue, again and again."""
    return Shop(items, folder).put


def computing(folder: Path, items: int) -> Work:
    """Return the features of a hundred items of a catalogue."""
    shop = Shop(items, folder)
    shop.put()
    return shop.compute


def journal(folder: Path, rankings: int, name: str) -> Path:
    """Return a journal with so many rankings and two clicks on each."""
    path = folder / f"{name}-{rankings}.journal"
    rng = np.random.default_rng(0)
    lines = []
    for n in range(rankings):
        rows = rng.normal(size=(20, 10)).round(4).tolist()
        items = [{"id": f"d{i}", "features": row} for i, row in enumerate(rows)]
        lines.append(json.dumps({"ranking_id": f"r{n}", "items": items}).encode())
        for i in range(2):
            event = {"event_id": f"e{n}-{i}", "ranking_id": f"r{n}", "item": f"d{(n + i) % 20}"}
            lines.append(json.dumps(event).encode())
    with SqliteJournal(path) as opened:
        do.configure(opened, LoopSettings(features=10, rankers=("solar-i",)))
        do.import_logs(opened, lines)
    return path


def replaying(folder: Path, rankings: int) -> Work:
    """Return a replay."""
    opened = SqliteJournal(journal(folder, rankings, "replay"))
    return lambda: replay(opened)


def restarting(folder: Path, rankings: int) -> Work:
    """Return a start from a saved state at the end of the journal."""
    opened = SqliteJournal(journal(folder, rankings, "restart"))
    opened.save(take_snapshot(replay(opened)))
    return lambda: load_engine(opened)


def replicating(folder: Path, replicas: int) -> Work:
    """Return what all replicas together do with the same entries."""
    path = journal(folder, 500, f"replicas-{replicas}")
    opened = [SqliteJournal(path) for _ in range(replicas)]
    return lambda: [replay(one) for one in opened]


def rows(folder: Path) -> list[Row]:
    """Return all rows."""
    lists, wide = (100, 200, 400, 800, 1600), (16, 32, 64, 128, 256)
    many = (250, 500, 1000, 2000, 4000)
    found = []
    for name, stated in (
        *(("slam", 1), ("online-xendcg", 1), ("newton", 1), ("auto", 1)),
        *(("pairwise", 2), ("solar-i", 2), ("prank", 1), ("predtron", 3)),
    ):
        found.append(
            Row(f"learn, {name}", "documents", stated, lists, lambda m, r=name: learning(r, m, 46))
        )
    for name, stated in (
        ("slam", 1),
        ("online-xendcg", 1),
        ("solar-i", 1),
        ("newton", 3),
        ("auto", 3),
    ):
        found.append(
            Row(f"learn, {name}", "features", stated, wide, lambda d, r=name: learning(r, 100, d))
        )
    found += [
        Row("rank, slam", "documents", 1, lists, lambda m: ranking("slam", m, 46)),
        Row("rank, auto", "documents", 1, lists, lambda m: ranking("auto", m, 46)),
        Row("show and learn, pdgd", "documents", 1, lists, clicking),
        Row("evaluate", "queries", 1, many, measuring),
        Row("fit, slam", "queries", 1, many, lambda n: fitting(rl.Slam(), n)),
        Row("fit, auto", "queries", 1, many, lambda n: fitting(rl.Auto(), n)),
        Row("fit, xendcg", "queries", 1, many, lambda n: fitting(rl.XENDCG(), n)),
        Row(
            "fit, 20 trees of 31 leaves",
            "queries",
            1,
            many,
            lambda n: fitting(rl.LambdaMART(trees=20, leaves=31), n),
        ),
        Row("read LETOR text", "queries", 1, many, lambda n: reading(folder, n)),
        Row("store items", "items", 1, (1000, 2000, 4000, 8000), lambda n: storing(folder, n)),
        Row(
            "compute features of 100 items",
            "items",
            0,
            (1000, 4000, 16000),
            lambda n: computing(folder, n),
        ),
        Row("replay", "entries", 1, (250, 500, 1000, 2000), lambda n: replaying(folder, n)),
        Row(
            "restart",
            "rankings remembered",
            1,
            (250, 500, 1000, 2000),
            lambda n: restarting(folder, n),
        ),
        Row("follow, all together", "replicas", 1, (1, 2, 4), lambda n: replicating(folder, n)),
    ]
    return found


def exponent(row: Row, rounds: int, seconds: float) -> tuple[float, list[float]]:
    """Return the fitted exponent, and the smallest time of each size."""
    works = [row.prepare(size) for size in row.sizes]
    times = [best_of(work, 1, 0.0) for work in works]  # warm
    for _ in range(rounds):
        times = [
            min(known, best_of(work, 1000, seconds))
            for known, work in zip(times, works, strict=True)
        ]
    late = min(len(row.sizes), 3)
    sizes = np.log(np.array(row.sizes[-late:], np.float64))
    return float(np.polyfit(sizes, np.log(times[-late:]), 1)[0]), times


def best_of(work: Work, most: int, seconds: float) -> float:
    """Return the smallest processor time of some calls."""
    best, spent = float("inf"), 0.0
    for _ in range(most):
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent >= seconds:
            break
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.05, help="of a size in a round")
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args()
    cells = []
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as folder:
        for row in rows(Path(folder)):
            if chosen.only not in f"{row.what} {row.grows}":
                continue
            slope, times = exponent(row, chosen.rounds, chosen.seconds)
            span = f"{row.sizes[0]:,} to {row.sizes[-1]:,}"
            cost = f"{1e6 * times[0]:,.0f} to {1e6 * times[-1]:,.0f}"
            verdict = "as stated" if slope <= row.stated + CLOSE else "MORE"
            cells.append(
                [row.what, row.grows, span, cost, f"{row.stated:g}", f"{slope:.2f}", verdict]
            )
            print(f"{row.what}, {row.grows}: {slope:.2f} ({row.stated:g} stated)", file=sys.stderr)
    head = ["work", "what grows", "sizes", "microseconds", "stated", "found", ""]
    if not chosen.markdown:
        return print_table(head, cells)
    print("| " + " | ".join(head[:-1]) + " |\n|---|---|---:|---:|---:|---:|")
    for cell in cells:
        print("| " + " | ".join(cell[:-1]) + " |")
    return None


if __name__ == "__main__":
    main()
