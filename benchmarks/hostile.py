"""Every online learner on a long hostile stream: what is learnt, what is refused, memory.

    python -m benchmarks.hostile [QUERIES] [LEARNER ...]

Queries with outliers, other scales, equal, constant and collinear columns (see
`rankloop.checks.hostile`) are fed one by one. Scores must stay finite and memory flat.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

from rankloop.checks.hostile import hostile_queries
from rankloop.exceptions import RankloopError
from rankloop.learners.registry import make_learner, online_names


def run(name: str, queries: int) -> dict[str, float]:
    """Feed one learner; return how many queries it refused, and how memory grew."""
    rng = np.random.default_rng(1)
    learner, rows = make_learner(name), rng.random((50, 8), np.float32)
    refused, early = 0, 0
    for i, (X, y) in enumerate(hostile_queries(queries, rng)):
        try:
            learner.learn(X, y)
        except RankloopError:
            refused += 1
        if i % 100 == 0:
            scores = learner.predict(rows, group=[len(rows)])
            if not np.isfinite(scores).all():
                raise SystemExit(f"{name}: scores are not finite after query {i:,}")
        if i == queries // 10:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - early
    return {"queries": queries, "refused": refused, "grown_kb": grown}


def main() -> None:
    """Print a line a learner."""
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name in sys.argv[2:] or online_names():
        found = run(name, queries)
        print(
            f"{name:16} {found['queries']:>9,} queries, {found['refused']:>7,} refused, "
            f"memory grew by {found['grown_kb']:,} kB",
            flush=True,
        )


if __name__ == "__main__":
    main()
