"""Corrected clicks on Expedia's searches: `python -m benchmarks.clicks_expedia DATA`.

Rankers learn from four fifths of the searches shown in the site's own order (a booking is grade 2,
a click 1), and are measured on the searches that were shown in random order, whose clicks no
position favours. Five random choices of the training searches; the mean and its standard error.
Examination is estimated from the training searches by regression EM, trust bias by EM over hotels
of the same destination; *oracle* takes examination from the random searches themselves, which a
site without random traffic does not have.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.clicks_bias import NOT_FEATURES
from rankloop import _core
from rankloop.clicks.bias.randomised import RandomTraffic
from rankloop.clicks.bias.regression import RegressionEM
from rankloop.clicks.bias.relevance import LogisticRelevance, as_features
from rankloop.clicks.corrections import (
    DoublyRobustCorrection,
    InversePropensity,
    Naive,
    training_data,
)
from rankloop.clicks.log.table import from_click_table
from rankloop.clicks.models.trust import TrustBias
from rankloop.clicks.offpolicy.examination import Examination
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.batch.listnet import ListNet
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.registry import make_ranker
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.clicks.corrections import Correction
    from rankloop.clicks.log.log import ClickLog

RANKS, CLIP = 16, 0.1
RANKERS = ("auto", "blend", "xendcg-boost")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clicks_expedia", description=__doc__
    )
    parser.add_argument("data", type=Path, help="the folder that holds Expedia/searches.csv(.xz)")
    parser.add_argument("--splits", type=int, default=5)
    chosen = parser.parse_args()
    path = next((chosen.data / "Expedia").glob("searches.csv*"))
    table = pd.read_csv(path)
    found: dict[str, list[float]] = {}
    for split in range(chosen.splits):
        for name, value in one_split(table, np.random.default_rng(split)):
            found.setdefault(name, []).append(value)
            print(f"split {split}, {name}: {value:.4f}", flush=True)
    print("\n| ranker, clicks | nDCG@10 on random searches |\n|---|---:|")
    for name, values in sorted(found.items(), key=lambda one: -float(np.mean(one[1]))):
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        print(f"| {name} | {np.mean(values):.4f} ± {error:.4f} |")


def one_split(table: pd.DataFrame, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """Measure every ranker with every correction."""
    logged = table[table["random_bool"] == 0]
    searches = logged["srch_id"].unique()
    kept = rng.permutation(searches)[: 4 * len(searches) // 5]
    train = logged[logged["srch_id"].isin(kept)]
    random = table[table["random_bool"] == 1]
    medians = train.drop(columns=NOT_FEATURES).median()
    test = test_data(random, medians)
    log, X, raw, grades = parts_of(train, medians)

    def measure(scores: NDArray[Any]) -> float:
        return evaluate(test, scores, "nDCG@10")["nDCG@10"]

    yield "random order", measure(rng.random(test.n_documents))
    for name, correction in corrections(train, random, log, raw).items():
        data = training_data(log, X, correction, grades=grades)
        for ranker in RANKERS:
            yield f"{ranker}, {name}", measure(make_ranker(ranker).fit(data).predict(test))
        yield f"LightGBM, {name}", measure(lightgbm(data, test))
    data = replace(training_data(log, X, grades=grades), sample_weight=None)
    clicked = np.repeat(np.add.reduceat(log.clicks, log.offsets[:-1]) > 0, log.sizes)
    yield "LightGBM, its position", measure(lightgbm(data, test, log.positions[clicked]))
    yield "Newton on pairs, naive", measure(on_pairs(log, X, None).predict(test))
    yield "Newton on pairs, PDGD's weights", measure(on_pairs(log, X, policy(log, X)).predict(test))


def parts_of(
    rows: pd.DataFrame, medians: pd.Series
) -> tuple[ClickLog, NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
    """Return the log, its features with missing ones filled, standardised ones, and grades."""
    log = from_click_table(rows, query="srch_id", document="prop_id")
    taken = rows if log.rows is None else rows.iloc[log.rows]
    features = taken.drop(columns=NOT_FEATURES)
    grades = taken["click_bool"].to_numpy(float) + taken["booking_bool"].to_numpy(float)
    X = features.fillna(medians).to_numpy(np.float32)
    return log, X, as_features(features.to_numpy(np.float64), log), grades


def test_data(rows: pd.DataFrame, medians: pd.Series) -> QueryDataset:
    data = QueryDataset.from_arrays(
        rows.drop(columns=NOT_FEATURES).fillna(medians).to_numpy(np.float32),
        rows["click_bool"].to_numpy(float) + rows["booking_bool"].to_numpy(float),
        qid=rows["srch_id"].to_numpy(),
    )
    return data.shuffle(np.random.default_rng(0))


def corrections(
    train: pd.DataFrame, random: pd.DataFrame, log: ClickLog, standardised: NDArray[np.float32]
) -> dict[str, Correction]:
    found: dict[str, Correction] = {"naive": Naive()}
    estimated = RegressionEM(standardised, RANKS).estimate(log)
    examination = Examination.of(np.maximum(estimated, 1e-3))
    found["IPS"] = InversePropensity(examination, CLIP)
    found["self-normalised IPS"] = InversePropensity(examination, CLIP, normalised=True)
    relevance = LogisticRelevance().fit(standardised, log.clicks.astype(float), log.row_counts)
    predicted = relevance.predict(standardised)
    found["DR"] = DoublyRobustCorrection(examination, predicted, CLIP)
    by_place = from_click_table(
        train, query="srch_destination_id", page="srch_id", document="prop_id"
    )
    try:
        found["affine"] = InversePropensity(
            Examination.of_trust(TrustBias(ranks=RANKS).fit(by_place)), CLIP
        )
    except DataError as error:  # the log may not tell trust from relevance
        warnings.warn(f"no affine correction: {error}", stacklevel=1)
    shuffled = from_click_table(random, query="srch_id", document="prop_id")
    truth = RandomTraffic(RANKS).estimate(shuffled)
    known = np.interp(np.arange(RANKS), np.flatnonzero(truth > 0), truth[truth > 0])
    found["IPS, oracle"] = InversePropensity(Examination.of(known), CLIP)
    return found


def lightgbm(
    data: QueryDataset, test: QueryDataset, position: NDArray[np.int32] | None = None
) -> NDArray[np.float64]:
    import lightgbm

    params = {
        "objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.05, "verbose": -1,
        "min_data_in_leaf": 50, "seed": 0, "num_threads": 1, "deterministic": True,
    }  # fmt: skip
    taken = lightgbm.Dataset(
        data.X, data.y, weight=data.sample_weight, group=np.diff(data.offsets), position=position
    )
    model = lightgbm.train(params, taken, num_boost_round=200)
    return np.asarray(model.predict(test.X))


def policy(log: ClickLog, X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Scores of a linear ranker that puts documents where the log has them."""
    grades = np.maximum(4.0 - np.floor(np.log2(log.positions)), 0.0)
    pages = np.repeat(np.arange(len(log)), log.sizes)
    data = QueryDataset.from_arrays(X, grades, qid=pages)
    ranker: Any = Prepared(ListNet(), "log")
    return np.asarray(ranker.fit(data).predict(data), np.float64)


def on_pairs(log: ClickLog, X: NDArray[np.float32], scores: NDArray[np.float64] | None) -> Any:
    """Second-order learning from pairs, clicked above not, by shares of reversals if scored."""
    rows, weights = [], []
    for first, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        clicked = np.flatnonzero(log.clicks[first:end])
        others = np.flatnonzero(~log.clicks[first:end])
        pairs = np.stack(np.meshgrid(clicked, others, indexing="ij"), -1).reshape(-1, 2)
        if len(pairs) == 0:
            continue
        share = np.full(len(pairs), 0.5)
        if scores is not None:
            share = _core.reversal_shares(scores[first:end], np.arange(end - first), pairs)
        rows.append(first + pairs)
        weights.append(2 * share / len(others))
    taken = np.concatenate(rows)
    ranker: Any = Prepared(NewtonXENDCG(prior=10.0), "log")
    data = QueryDataset.from_arrays(
        X[taken.ravel()],
        np.tile([1.0, 0.0], len(taken)),
        group=np.full(len(taken), 2),
        query_weight=np.concatenate(weights),
    )
    return ranker.fit(data)


if __name__ == "__main__":
    main()
