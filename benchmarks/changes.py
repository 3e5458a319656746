"""What `auto` makes of changes: `python -m benchmarks.changes DATA [--seeds N] [-r RANKER ...]`.

DATA holds MQ2007-partial and MQ2008 in five folds; the queries of all folds are one stream,
shuffled for each seed. Every query is ranked, and learnt from after that. The streams:

- tastes: grades come from a hidden linear taste with noise, which stays (`stays`), changes twice
  (`changes`), turns slowly by 180 degrees (`turns`), or alternates between two (`returns`);
- real: the data's own grades, with columns as they are (`stays`), or permuted and turned upside
  down anew in each third (`changes`).

Shown: mean nDCG@10 (standard), also over the first 100 queries after a change; `told` is a ranker
that is started anew at each change. For the ranker that adapts, also the changes it noticed.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rankloop as rl
from benchmarks.quality_data import folds
from rankloop.cli.tables import print_table
from rankloop.data.scaling import QueryMinMax

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.base import OnlineRanker

    Stream = tuple[QueryDataset, list[int]]  # and the queries at which something changes

METRIC = "nDCG@10"
AFTER = 100


def whole(folder: Path, name: str) -> QueryDataset:
    """Return the queries of all folds, each once."""
    return rl.data.concat([test for _, _, test in folds(folder, name)])


def tastes(data: QueryDataset, kind: str, rng: np.random.Generator) -> Stream:
    """Return the queries with grades that a hidden taste makes: the best three are 2, 2 and 1."""
    n, d = len(data), data.n_features
    scaled = QueryMinMax().transform_rows(data.X, data.offsets)
    first, other, third = rng.normal(size=(3, d))
    other_of_plane = other - first * (other @ first) / (first @ first)
    other_of_plane *= np.linalg.norm(first) / np.linalg.norm(other_of_plane)
    changes: list[int] = []
    if kind == "changes":
        changes = [n // 3, 2 * n // 3]
    elif kind == "returns":
        changes = [k * n // 6 for k in range(1, 6)]
    grades = np.zeros(data.n_documents)
    for q in range(n):
        if kind == "changes":
            taste = (first, other, third)[sum(q >= change for change in changes)]
        elif kind == "turns":
            angle = np.pi * q / n
            taste = np.cos(angle) * first + np.sin(angle) * other_of_plane
        elif kind == "returns":
            taste = (first, other)[sum(q >= change for change in changes) % 2]
        else:
            taste = first
        rows = slice(*data.offsets[q : q + 2])
        worth = scaled[rows] @ taste
        worth = worth + worth.std() * rng.normal(size=len(worth)) / 2
        best = np.argsort(-worth)
        grades[rows.start + best[: max(len(best) // 4, 1)]] = 1
        grades[rows.start + best[: max(len(best) // 10, 1)]] = 2
    return replace(data, y=grades), changes


def real(data: QueryDataset, kind: str, rng: np.random.Generator) -> Stream:
    """Return the queries with their own grades; columns mean something else in each third."""
    if kind == "stays":
        return data, []
    n, X = len(data), data.X.copy()
    changes = [n // 3, 2 * n // 3]
    for first, end in ((changes[0], changes[1]), (changes[1], n)):
        rows = slice(data.offsets[first], data.offsets[end])
        signs = rng.choice([-1, 1], data.n_features).astype(np.float32)
        X[rows] = data.X[rows][:, rng.permutation(data.n_features)] * signs
    return replace(data, X=X), changes


def values(ranker: OnlineRanker, stream: QueryDataset) -> NDArray[np.float64]:
    """Return the measure of every query, NaN where it has none."""
    scores = ranker.predict_then_learn(stream)
    return np.asarray(rl.evaluate(stream, scores, METRIC).results[0].values, np.float64)


def told(make: Callable[[], OnlineRanker], stream: Stream) -> NDArray[np.float64]:
    """Return the measures of a ranker that is started anew at each change."""
    data, changes = stream
    ends = [0, *changes, len(data)]
    parts = [data.select(slice(a, b)) for a, b in pairwise(ends)]
    return np.concatenate([values(make(), part) for part in parts])


def after(found: NDArray[np.float64], changes: list[int]) -> float:
    """Return the mean over the first queries after changes."""
    if not changes:
        return float("nan")
    return float(np.nanmean([found[change : change + AFTER] for change in changes]))


KINDS = {
    "tastes": (tastes, ("stays", "changes", "turns", "returns")),
    "real": (real, ("stays", "changes")),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=["MQ2007-partial", "MQ2008"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-r", "--rankers", nargs="*", default=["auto:adapt=False", "auto"])
    parser.add_argument("--streams", nargs="*", default=[])
    chosen = parser.parse_args()
    for name in chosen.sets:
        data = whole(chosen.data, name)
        for source, (make, kinds) in KINDS.items():
            for kind in kinds:
                label = f"{source} {kind}"
                if not chosen.streams or label in chosen.streams:
                    show(f"{name}, {label}", chosen, data, lambda d, r, m=make, k=kind: m(d, k, r))


def show(
    title: str,
    chosen: argparse.Namespace,
    data: QueryDataset,
    make: Callable[[QueryDataset, np.random.Generator], Stream],
) -> None:
    """Measure all rankers on one kind of stream, and print a table."""
    names = [*chosen.rankers, "told"]
    means: dict[str, list[float]] = {name: [] for name in names}
    late: dict[str, list[float]] = {name: [] for name in names}
    noticed: dict[str, list[str]] = {name: [] for name in names}
    for seed in range(chosen.seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(data))
        stream = make(data.select(order).shuffle(rng), rng)
        for name in names:
            if name == "told":
                found = told(lambda: rl.make_ranker("auto:adapt=False"), stream)
            else:
                ranker = rl.make_ranker(name)
                found = values(ranker, stream[0])
                noticed[name].append(" ".join(map(str, getattr(ranker, "changes_", ()))))
            means[name].append(float(np.nanmean(found)))
            late[name].append(after(found, stream[1]))
    rows = [
        [name, np.mean(means[name]), np.mean(late[name]), "; ".join(noticed[name])]
        for name in names
    ]
    print(f"\n{title}, changes at {stream[1]}")
    print_table(["ranker", METRIC, f"first {AFTER} after", "noticed at"], rows)


if __name__ == "__main__":
    main()
