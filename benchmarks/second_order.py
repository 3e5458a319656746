"""Second-order rankers beside the products they are made of; every ranker, one call at a time.

    python -m benchmarks second_order        # ratios, with their targets
    python -m benchmarks.second_order        # the table of docs/learn.md; --quick for a first look

All contenders in turn in one process, with one thread for NumPy; the table has processor time, of
all threads where a ranker uses several.
"""

from __future__ import annotations

import copy
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

import rankloop as rl
from benchmarks.harness import Contender, Report, Settings, interleave
from rankloop.rankers.registry import make_ranker, online_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.online.base import OnlineRanker

SHAPES = ((20, 46), (100, 40), (100, 136), (1000, 136), (100, 700), (100, 10_000))
WIDE = ("newton:covariance=low-rank", "newton:covariance=diagonal")
WIDE += ("solar-ii:covariance=low-rank", "solar-ii:covariance=diagonal")
FULL = {"newton": 1, "solar-ii": 1, "mix": 1, "auto": 2}
FULL |= {"clicks": 2}
"""Rankers with d x d numbers, and how many times d the widest matrix is."""
MAX_FEATURES = 2000  # of a full covariance: beyond, its square does not fit


def query(m: int, d: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Make features that tell something of the grades, as those of real queries do."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d), np.float32)
    useful = X[:, :10].sum(axis=1) + 3 * rng.standard_normal(m)
    return X, np.clip(np.round(useful / 2), 0, 4).astype(np.float64)


def run(settings: Settings) -> Report:
    report = Report("second_order", "Second-order learning from one query")
    widths = (136, 272) if settings.quick else (136, 272, 700, 1400)
    contenders = []
    for d in widths:
        X, y = query(100, d, 0)
        ranker = rl.NewtonXENDCG().learn(X, y)
        wide, S = X.astype(np.float64), np.eye(d) + 0.01
        contenders += [
            Contender(f"NewtonXENDCG.learn, 100 x {d}", lambda r=ranker, X=X, y=y: r.learn(X, y)),
            Contender(
                f"NumPy, 100 x {d}",
                lambda X=wide, S=S: (X @ S, X.T @ X),
                against=f"NewtonXENDCG.learn, 100 x {d}",
                note="X @ S and Z.T @ Z of the same shapes",
            ),
        ]
    X, y = query(1000, 136, 0)
    auto = rl.Auto().learn(X[:100], y[:100])
    contenders += [
        Contender("Auto.rank, 1,000 x 136", lambda: auto.rank(X)),
        Contender(
            "np.argsort(X, axis=0)",
            lambda: np.argsort(X, axis=0),
            against="Auto.rank, 1,000 x 136",
        ),
        Contender("Auto.learn, 100 x 136", lambda: auto.learn(X[:100], y[:100])),
        Contender("SolarII.learn, 1,000 x 136", lambda: rl.SolarII().learn(X, y)),
    ]
    with threadpool_limits(1):
        report.timings = interleave(contenders, 4 * settings.repeat)
    for d in widths:
        ours, theirs = f"NewtonXENDCG.learn, 100 x {d}", f"NumPy, 100 x {d}"
        report.hold(f"{ours} / {theirs}", report.ratio(ours, theirs), 4, at_least=False)
    ours, theirs = "Auto.rank, 1,000 x 136", "np.argsort(X, axis=0)"
    report.hold(f"{ours} / {theirs}", report.ratio(ours, theirs), 1, at_least=False)
    return report


class Timed:
    """One ranker on one shape: its best times of `rank` and `learn`."""

    def __init__(self, name: str, queries: list[tuple[NDArray[np.float32], NDArray[np.float64]]]):
        self.name, self.queries = name, queries
        self.ranker: OnlineRanker = make_ranker(name)
        self.ranker.learn(*queries[0])
        self.rank, self.learn = np.inf, np.inf

    def turn(self, number: int) -> None:
        """Time both a few times, on copies that have learnt from one query."""
        X, y = self.queries[1 + number % (len(self.queries) - 1)]
        for ranker in [copy.deepcopy(self.ranker) for _ in range(1 if X.size > 20_000 else 5)]:
            ranker.rank(X)
            start = time.process_time()
            ranker.rank(X)
            between = time.process_time()
            ranker.learn(X, y)
            end = time.process_time()
            self.rank, self.learn = min(self.rank, between - start), min(self.learn, end - between)


def can_take(name: str, d: int) -> bool:
    """Whether a ranker's matrices are not too large."""
    return name in WIDE or FULL.get(name, 0) * d <= MAX_FEATURES


def table(m: int, d: int, names: list[str], rounds: int) -> tuple[dict[str, Timed], float]:
    """Time rankers in turn; return them, and the seconds of one product X @ w."""
    queries = [query(m, d, seed) for seed in range(4)]
    timed = [Timed(name, queries) for name in names if can_take(name, d)]
    w, once = np.ones(d, np.float32), np.inf
    for number in range(rounds):
        for _ in range(5):
            start = time.process_time()
            queries[0][0] @ w
            once = min(once, time.process_time() - start)
        for one in timed:
            one.turn(number)
    return {one.name: one for one in timed}, once


def main() -> None:
    """Print microseconds and their ratio to one product X @ w: learn, then rank."""
    quick = "--quick" in sys.argv
    names = [*online_names(), *WIDE]
    found = {}
    with threadpool_limits(1):
        for m, d in SHAPES:
            found[m, d] = table(m, d, names, 2 if quick else 40 if m * d < 20_000 else 8)
    for what in ("learn", "rank"):
        print(f"| {what} |" + "".join(f" {m:,} x {d:,} |" for m, d in SHAPES))
        print("|---|" + "---:|" * len(SHAPES))
        for name in names:
            cells = []
            for timed, once in found.values():
                seconds = getattr(timed[name], what) if name in timed else None
                cells.append(f"{1e6 * seconds:,.0f} ({seconds / once:,.0f})" if seconds else "")
            print(f"| `{name}` | " + " | ".join(cells) + " |")
        cells = [f"{1e6 * once:,.1f}" for _, once in found.values()]
        print("| `X @ w` | " + " | ".join(cells) + " |\n", flush=True)


if __name__ == "__main__":
    main()
