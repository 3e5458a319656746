"""Replay of a journal beside plain learning, and the import of logs.

`python -m benchmarks.replay [--rankings 2000]`. Both sides of a ratio are measured by turns in one
process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from rankloop.rankers.registry import make_online_ranker
from rankloop.serving import operations as do
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.sqlite import SqliteJournal
from rankloop.serving.settings.loop import LoopSettings

WIDTH, DOCUMENTS = 46, 40


def logs(rankings: int, events: int, width: int, documents: int) -> list[bytes]:
    """Return lines of rankings, each followed by its events."""
    rng = np.random.default_rng(0)
    lines = []
    for n in range(rankings):
        rows = rng.normal(size=(documents, width)).round(4).tolist()
        items = [{"id": f"d{i}", "features": row} for i, row in enumerate(rows)]
        lines.append(json.dumps({"ranking_id": f"r{n}", "items": items}).encode())
        for i in range(events):
            event = {
                "event_id": f"e{n}-{i}",
                "ranking_id": f"r{n}",
                "item": f"d{(n + i) % documents}",
            }
            lines.append(json.dumps(event).encode())
    return lines


def imported(path: Path, lines: list[bytes], settings: LoopSettings) -> float:
    """Import lines into a new journal, and return the seconds it took."""
    with SqliteJournal(path) as journal:
        do.configure(journal, settings)
        start = time.perf_counter()
        do.import_logs(journal, lines)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankings", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".", prefix="bench-") as folder:
        for ranker in ("auto", "solar-i"):
            path = Path(folder) / f"{ranker}.journal"
            settings = LoopSettings(features=WIDTH, rankers=(ranker,))
            imported(path, logs(chosen.rankings, 2, WIDTH, DOCUMENTS), settings)
            with SqliteJournal(path) as journal:
                data = do.export_queries(journal)
                ratios = []
                for _ in range(chosen.rounds):
                    start = time.perf_counter()
                    replay(journal)
                    middle = time.perf_counter()
                    make_online_ranker(ranker).partial_fit(data)
                    ratios.append((middle - start) / (time.perf_counter() - middle))
            print(
                f"replay / partial_fit, {ranker}, {len(data):,} queries of {DOCUMENTS} x {WIDTH}: "
                f"{statistics.median(ratios):.1f} (to reach: at most 2)"
            )
        lines = logs(1000, 30, 10, 10)
        settings = LoopSettings(features=10, rankers=("solar-i",))
        took = min(
            imported(Path(folder) / f"import{n}.journal", lines, settings)
            for n in range(chosen.rounds)
        )
        print(
            f"import: {30_000 / took:,.0f} events/s, with their 1,000 rankings (to reach: 30,000)"
        )


if __name__ == "__main__":
    main()
