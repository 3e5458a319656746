"""Every online ranker on a long hostile stream: what is learnt, what is refused, memory.

    python -m benchmarks.hostile [QUERIES [RANKER ...]]

Queries with outliers, other scales, equal, constant and collinear columns (see
`rankloop.checks.hostile`) are fed one by one. Scores must stay finite and memory flat. Without
arguments, the rankers get a million queries in all.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.memory import resident
from rankloop.checks.hostile import hostile_queries
from rankloop.exceptions import RankloopError
from rankloop.rankers.registry import make_ranker, online_names

FORMS = tuple(
    f"{name}:covariance={form}"
    for name in ("solar-ii", "newton")
    for form in ("low-rank,directions=3", "diagonal")
)
MILLION = 1_000_000
FLAT = 8 << 20  # bytes that memory may grow by after the first tenth of a stream
EVERY = 100  # queries, scores are looked at


def run(name: str, queries: int) -> dict[str, float]:
    """Feed one ranker; return how many queries it refused, and how memory grew."""
    rng = np.random.default_rng(1)
    ranker, rows = make_ranker(name), rng.random((50, 8), np.float32)
    refused, early, started = 0, resident("VmRSS"), time.process_time()
    for i, (X, y) in enumerate(hostile_queries(queries, rng)):
        try:
            ranker.learn(X, y)
        except RankloopError:
            refused += 1
        if i % EVERY == 0 or i == queries - 1:
            scores = ranker.predict(rows, group=[len(rows)])
            if not np.isfinite(scores).all():
                raise SystemExit(f"{name}: scores are not finite after query {i:,}")
        if i == queries // 10:
            early = resident("VmRSS")
    grown, seconds = resident("VmRSS") - early, time.process_time() - started
    if grown > FLAT:
        raise SystemExit(f"{name}: memory grew by {grown:,} bytes in {queries:,} queries")
    return {"queries": queries, "refused": refused, "grown_kb": grown >> 10, "seconds": seconds}


def main() -> None:
    """Print a line a ranker."""
    names = sys.argv[2:] or (*online_names(), *FORMS)
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else -(-MILLION // len(names))
    for name in names:
        found = run(name, queries)
        print(
            f"{name:40} {found['queries']:>9,} queries, {found['refused']:>7,} refused, "
            f"memory grew by {found['grown_kb']:,} kB, {found['seconds']:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
