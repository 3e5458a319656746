"""Position bias of Expedia's searches: `python -m benchmarks.clicks_bias DATA [FIGURE]`.

What its random searches show is the truth as far as 307 of them can tell; the other estimators
see only the 642 searches in the ranker's order.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rankloop.clicks.bias.dual import DualLearning
from rankloop.clicks.bias.harvesting import AllPairs
from rankloop.clicks.bias.randomised import RandomTraffic
from rankloop.clicks.bias.regression import RegressionEM
from rankloop.clicks.bias.result import estimate_bias
from rankloop.clicks.log.table import from_click_table
from rankloop.plotting.bias import plot_bias
from rankloop.plotting.figures import save_figure

if TYPE_CHECKING:
    from rankloop.clicks.bias.result import BiasEstimator, PositionBias
    from rankloop.clicks.log.log import ClickLog

NOT_FEATURES = [
    "srch_id",
    "date_time",
    "prop_id",
    "position",
    "click_bool",
    "booking_bool",
    "gross_bookings_usd",
    "random_bool",
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clicks_bias", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds Expedia/searches.csv.xz")
    parser.add_argument("figure", type=Path, nargs="?", help="draw the estimates there")
    parser.add_argument("--ranks", type=int, default=16, help="positions told apart")
    parser.add_argument("--rounds", type=int, default=100, help="resamples for the intervals")
    chosen = parser.parse_args()
    table = pd.read_csv(chosen.data / "Expedia" / "searches.csv.xz")
    found = estimates(table, chosen.ranks, chosen.rounds)
    truth = found["random order"]
    sure = np.isin(truth.positions, (5, 11, 17, 23), invert=True)  # hardly ever a hotel there
    sure &= truth.positions < chosen.ranks  # the last one stands for all beyond
    print("position " + " ".join(f"{k:5d}" for k in truth.positions[sure]) + "   off")
    for name, bias in found.items():
        off = np.nanmean(np.abs(bias.examination - truth.examination)[sure][1:])
        print(
            f"{name:24s}" + " ".join(f"{p:5.2f}" for p in bias.examination[sure]) + f" {off:5.2f}"
        )
    print(f"{'  from':24s}" + " ".join(f"{p:5.2f}" for p in truth.low[sure]))
    print(f"{'  to':24s}" + " ".join(f"{p:5.2f}" for p in truth.high[sure]))
    if chosen.figure:
        save_figure(plot_bias(list(found.values()), list(found)), chosen.figure)


def estimates(table: pd.DataFrame, ranks: int, rounds: int) -> dict[str, PositionBias]:
    X = table.drop(columns=NOT_FEATURES).to_numpy(np.float64)
    log = from_click_table(table, query="srch_id", document="prop_id")
    by_place = from_click_table(
        table, query="srch_destination_id", page="srch_id", document="prop_id"
    )
    shuffled = table["random_bool"].to_numpy()[log.offsets[:-1]] == 1
    logged = log.select(~shuffled)

    def estimate(estimator: BiasEstimator, of: ClickLog) -> PositionBias:
        return estimate_bias(estimator, of, np.random.default_rng(0), rounds=rounds)

    return {
        "random order": estimate(RandomTraffic(ranks), log.select(shuffled)),
        "logged, click rate": estimate(RandomTraffic(ranks), logged),
        "logged, regression EM": estimate(RegressionEM(X[logged.rows], ranks), logged),
        "logged, dual learning": estimate(DualLearning(X[logged.rows], ranks), logged),
        "logged, all pairs": estimate(AllPairs(ranks), by_place.select(~shuffled)),
    }


if __name__ == "__main__":
    main()
