"""The collections on which quality is measured, each in five folds: training, validation, test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import rankloop as rl
from benchmarks.clicks_bias import NOT_FEATURES

if TYPE_CHECKING:
    from pathlib import Path

    from rankloop.data.dataset import QueryDataset

    Parts = tuple[QueryDataset, QueryDataset, QueryDataset]

FOLDS = 5
SETS = ("MQ2008", "OHSUMED", "MSLR-sample", "LightGBM-lambdarank", "Expedia")


def folds(folder: Path, name: str) -> list[Parts]:
    """Return the folds of a collection, with the documents of each query shuffled."""
    if (folder / name / "Fold1").is_dir():
        parts = [fold.read() for fold in rl.data.letor_folds(folder / name)]
    else:
        whole = expedia(folder) if name == "Expedia" else joined(folder / name)
        fifths = np.array_split(np.random.default_rng(0).permutation(len(whole)), FOLDS)
        parts = []
        for k in range(FOLDS):
            turned = fifths[k:] + fifths[:k]
            chosen = np.concatenate(turned[:3]), turned[3], turned[4]
            parts.append(tuple(whole.select(np.sort(rows)) for rows in chosen))
    rng = np.random.default_rng(1)
    return [tuple(part.shuffle(rng) for part in fold) for fold in parts]  # type: ignore[misc]


def joined(folder: Path) -> QueryDataset:
    """Return all files of a folder as one data set; a query id of two files is two queries."""
    files = [folder / f"{part}.txt" for part in ("train", "vali", "test")]
    return rl.data.concat([rl.read(file) for file in files if file.exists()])


def expedia(folder: Path) -> QueryDataset:
    """Return Expedia's searches in the order of time; a booking is grade 2, a click 1."""
    table = pd.read_csv(next((folder / "Expedia").glob("searches.csv*")))
    table = table.sort_values(["date_time", "srch_id"], kind="stable")
    features = table.drop(columns=NOT_FEATURES)
    return rl.QueryDataset.from_arrays(
        features.to_numpy(np.float32),
        (table["click_bool"] + table["booking_bool"]).to_numpy(np.float64),
        qid=table["srch_id"].to_numpy(),
        feature_names=tuple(features.columns),
        allow_nan=True,
    )
