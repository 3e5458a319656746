"""Data for the examples: a fold of MQ2008 where you have it, simulated web search otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import rankloop as rl
from rankloop.data.simulate import mslr_like

MQ2008 = Path(os.environ.get("RANKLOOP_DATA", ".")) / "MQ2008"


def parts() -> tuple[rl.QueryDataset, rl.QueryDataset, rl.QueryDataset]:
    """Return data to train on, to validate with and to test on."""
    if (MQ2008 / "Fold1").is_dir():
        print(f"{MQ2008}, Fold 1")
        names = ("train", "vali", "test")
        train, valid, test = (rl.read_letor(MQ2008 / "Fold1" / f"{name}.txt") for name in names)
        return train, valid, test
    print("Simulated web search; set RANKLOOP_DATA to the folder of MQ2008 for real data")
    data = mslr_like(500, np.random.default_rng(0), n_features=12, mean_length=20).data
    return data.select(slice(0, 300)), data.select(slice(300, 400)), data.select(slice(400, 500))
