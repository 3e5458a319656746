"""The cost of following changes: `python -m benchmarks.adaptive [--rounds N]`.

`auto` beside `auto:adapt=False`, one call of `learn` and `rank`, in microseconds of processor time
of all threads (the best of some rounds, by turns). Both have learnt from 140 queries before, so
that `auto` has all of its rankers; a round is 20 calls, in which one of them starts and two forget,
and its mean is taken. Also the size of a model file.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

import rankloop as rl
from benchmarks.second_order import query
from rankloop.cli.tables import print_table

if TYPE_CHECKING:
    from rankloop.rankers.online.base import OnlineRanker

SHAPES = ((20, 46), (100, 40), (100, 136), (1000, 136), (20, 700), (100, 700))
RANKERS = ("auto:adapt=False", "auto")
BEFORE, CALLS = 140, 20


def trained(name: str, queries: list) -> OnlineRanker:
    """Return a ranker that has learnt from these queries, over and over."""
    ranker = rl.make_ranker(name)
    X, y = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    for _ in range(BEFORE // len(queries)):
        ranker.partial_fit(X, y, group=[len(X) // len(queries)] * len(queries))
    return ranker


def time_calls(ranker: OnlineRanker, queries: list) -> tuple[float, float]:
    """Return the microseconds of a call of `learn`, and of one of `rank`."""
    own, start = ranker.copy(), time.process_time()
    for X, y in queries:
        own.learn(X, y)
    between = time.process_time()
    for X, _ in queries:
        own.rank(X)
    end = time.process_time()
    return 1e6 * (between - start) / len(queries), 1e6 * (end - between) / len(queries)


def row(m: int, d: int, rounds: int) -> list[str]:
    """Return what the table says of one shape."""
    queries = [query(m, d, seed) for seed in range(CALLS)]
    rankers = [trained(name, queries) for name in RANKERS]
    best = np.full((len(rankers), 2), np.inf)
    for _ in range(rounds):
        for k, ranker in enumerate(rankers):
            best[k] = np.minimum(best[k], time_calls(ranker, queries))
    (plain, plain_rank), (learn, rank) = best
    sizes = [len(ranker.dumps()) / 1e6 for ranker in rankers]
    return [
        f"{m:,} x {d}",
        f"{plain:,.0f}",
        f"{learn:,.0f} ({learn / plain:.1f})",
        f"{plain_rank:,.0f}",
        f"{rank:,.0f} ({rank / plain_rank:.1f})",
        f"{sizes[1]:.1f} ({sizes[0]:.1f})",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    chosen = parser.parse_args()
    with threadpool_limits(1):
        rows = [row(m, d, chosen.rounds) for m, d in SHAPES]
    columns = ["shape", "learn, adapt=False", "learn", "rank, adapt=False", "rank", "MB"]
    print_table(columns, rows)


if __name__ == "__main__":
    main()
