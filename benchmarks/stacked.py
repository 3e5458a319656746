"""What going on learning adds to a frozen model: trees alone, and inside `Stacked`.

`python -m benchmarks.stacked DATA [--orders N] [--prior P ...]`, where DATA holds MQ2008 in five
folds, OHSUMED in five folds, and Expedia/searches.csv (or .xz). On the folds, trees are trained on
the training part and stop early on the validation part, from which also the weight of their score
comes. The test part is then a stream, in several random orders: each query is ranked, and learnt
from after that. On Expedia, searches are taken in the order of time: the first half trains, the
next tenth validates, the rest is the stream; grades are clicks plus bookings, missing values are
training medians. Shown: mean nDCG@10 (standard) on the streams and the difference to the frozen
model, with its standard error over queries. `auto` learns the training and the validation part
first, query by query.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import rankloop as rl
from benchmarks.quality_data import expedia, folds
from rankloop.cli.tables import print_table
from rankloop.rankers.wrappers.stacked import Stacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.base import OnlineRanker

    Parts = tuple[QueryDataset, QueryDataset, QueryDataset]

METRIC = "nDCG@10"


def in_time(folder: Path) -> list[Parts]:
    """Return Expedia's searches in the order of time: half, a tenth, the rest."""
    whole = expedia(folder)
    ends = [0, len(whole) // 2, len(whole) * 6 // 10, len(whole)]
    parts = [whole.select(slice(first, end)) for first, end in pairwise(ends)]
    known = [column[~np.isnan(column)] for column in parts[0].X.T]
    medians = np.array([np.median(column) if len(column) else 0 for column in known], np.float32)
    rng = np.random.default_rng(0)
    train, valid, test = (
        replace(part, X=np.where(np.isnan(part.X), medians, part.X)).shuffle(rng) for part in parts
    )
    return [(train, valid, test)]


def values(data: QueryDataset, scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the measure of every query."""
    return np.asarray(rl.evaluate(data, scores, METRIC).results[0].values, np.float64)


def progressive(ranker: OnlineRanker, test: QueryDataset, orders: int) -> NDArray[np.float64]:
    """Return the measure of every query when it came, a mean over orders; one order is as given."""
    rng = np.random.default_rng(5)
    found = np.zeros(len(test))
    for _ in range(orders):
        order = np.arange(len(test)) if orders == 1 else rng.permutation(len(test))
        stream = test.select(order)
        live = rl.loads(ranker.dumps())
        found[order] += values(stream, live.predict_then_learn(stream))
    return found / orders


def one_part(parts: Parts, orders: int, priors: list[float]) -> dict[str, NDArray[np.float64]]:
    """Return the measure of every query of the stream, by system."""
    train, valid, test = parts
    frozen = rl.XENDCGBoost(trees=500, rate=0.05, patience=50).fit(train, valid=valid)
    found = {"frozen trees": values(test, frozen.predict(test))}
    auto = rl.Auto().partial_fit(train).partial_fit(valid)
    found["auto, frozen"] = values(test, auto.predict(test))
    found["auto, going on"] = progressive(auto, test, orders)
    for prior in priors:
        stacked = Stacked.over(frozen, valid, prior=prior)
        found[f"stacked, prior {prior:g}"] = progressive(stacked, test, orders)
    return found


def main() -> None:
    """Measure, and print a table a collection."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stacked", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--orders", type=int, default=30, help="of each fold's stream")
    parser.add_argument("--prior", type=float, nargs="+", default=[100.0])
    chosen = parser.parse_args()
    for name in ("Expedia", "MQ2008", "OHSUMED"):
        once = name == "Expedia"
        parts = in_time(chosen.data) if once else folds(chosen.data, name)
        each = [one_part(one, 1 if once else chosen.orders, chosen.prior) for one in parts]
        rows = []
        for system in each[0]:
            got = np.concatenate([one[system] for one in each])
            known = np.isfinite(got)  # others have no good document
            gain = (got - np.concatenate([one["frozen trees"] for one in each]))[known]
            got = got[known]
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            rows.append([system, f"{got.mean():.4f}", f"{gain.mean():+.4f} ± {error:.4f}"])
        print_table([f"{name}, {len(got)} queries", METRIC, "against frozen trees"], rows)


if __name__ == "__main__":
    main()
