"""What it costs to follow changes where there are none: `python -m benchmarks.following DATA`.

One pass of `auto` and `auto:adapt=False` over each collection, nDCG@10 before learning from each
query. Queries are shuffled, anew for each seed, so that nothing can change; Expedia's searches and
MovieLens' sittings also come in their order of time, where something may.
Differences are paired by query; their standard errors are over orders, or over queries where there
is one order alone. A notice in shuffled queries is false.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rankloop as rl
from benchmarks.changes import METRIC, whole
from benchmarks.features import FIELDS, GROUPS, STARS
from benchmarks.quality_data import expedia
from rankloop.cli.tables import print_table
from rankloop.rankers import Described

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

SHUFFLED = ("MQ2007-partial", "MQ2008", "OHSUMED", "MSLR-sample", "LightGBM-lambdarank", "Expedia")
IN_TIME = ("Expedia in time", "MovieLens-events")


def orders(folder: Path, name: str, seeds: int) -> Iterator[QueryDataset]:
    """Return a collection in several random orders, or once in the order of time."""
    if name == "Expedia in time":
        yield expedia(folder)
    elif name == "MovieLens-events":
        path = folder / name / "events.jsonl"
        features = GROUPS["with taste"]
        yield rl.compute_features(path, features=features, fields=FIELDS, feedback=STARS)
    else:
        data = expedia(folder) if name == "Expedia" else whole(folder, name)
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            yield data.select(rng.permutation(len(data))).shuffle(rng)


def one_pass(text: str, data: QueryDataset) -> tuple[NDArray[np.float64], int]:
    """Return the measure of each query, and how many changes were noticed."""
    inner = rl.make_ranker(text)
    ranker = Described(inner, description=data.features) if data.has_missing else inner
    scores = ranker.predict_then_learn(data)
    values = rl.evaluate(data, scores, METRIC).results[0].values
    adaptive = getattr(ranker, "ranker_", ranker)
    return np.asarray(values, np.float64), len(getattr(adaptive, "changes_", ()))


def compare(folder: Path, name: str, seeds: int) -> list[object]:
    """Return the row of a collection."""
    differences, queries, noticed, means = [], 0, 0, []
    for data in orders(folder, name, seeds):
        plain, _ = one_pass("auto:adapt=False", data)
        values, count = one_pass("auto", data)
        differences.append(values - plain)
        means.append(np.nanmean(plain))
        queries += len(data)
        noticed += count
    each = differences[0][~np.isnan(differences[0])]
    if len(differences) > 1:
        each = np.array([np.nanmean(difference) for difference in differences])
    error = each.std(ddof=1) / len(each) ** 0.5
    order = "of time" if name in IN_TIME else f"{len(differences)} random"
    change = f"{each.mean():+.4f} ± {error:.4f}"
    return [name, order, f"{np.mean(means):.4f}", change, f"{queries:,}", noticed]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=[*SHUFFLED, *IN_TIME])
    parser.add_argument("--seeds", type=int, default=10)
    chosen = parser.parse_args()
    rows = [compare(chosen.data, name, chosen.seeds) for name in chosen.sets]
    columns = ["collection", "order", "auto:adapt=False", "auto", "queries", "noticed"]
    print_table(columns, rows)


if __name__ == "__main__":
    main()
