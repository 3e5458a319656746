"""Rankers of other libraries in our comparisons."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import MissingExtraError
from rankloop.experiments.peers import PEERS, read_peer

SMALL = ":trees=10,patience=5"


@pytest.fixture(scope="module")
def data():
    return mslr_like(45, np.random.default_rng(0), n_features=6, mean_length=10).data


@pytest.mark.parametrize("name", PEERS)
def test_in_the_same_table(data, name):
    pytest.importorskip(PEERS[name].package)
    found = rl.compare(data, ["constant", name + SMALL], folds=3, search=False)
    ours, theirs = found.rows
    assert theirs.mean > ours.mean
    assert all(cell.rounds <= 10 and cell.model_bytes > 0 for cell in found.results(name + SMALL))


@pytest.mark.parametrize("name", PEERS)
def test_gaps_and_categories(name):
    pytest.importorskip(PEERS[name].package)
    rng = np.random.default_rng(1)
    brand = rng.choice(["low", "mid", "top"], 300)
    frame = pd.DataFrame(
        {
            "qid": np.repeat(np.arange(30), 10),
            "label": (brand == "top") * 2 + (brand == "mid"),
            "brand": np.where(rng.random(300) < 0.1, None, brand),
            "noise": np.where(rng.random(300) < 0.5, np.nan, rng.random(300)),
        }
    )
    messy = rl.from_table(frame, allow_nan=True)
    found = rl.compare(messy, [name + SMALL], folds=3, search=False)
    assert found.rows[0].mean > 0.9


def test_real_valued_and_unjudged_grades(data):
    pytest.importorskip("lightgbm")
    y = np.where(np.arange(len(data.y)) % 9 == 0, -1, data.y / 2)
    odd = rl.QueryDataset(data.X, y, data.offsets, data.query_ids)
    found = rl.compare(odd, ["lightgbm" + SMALL], folds=3, search=False)
    assert 0 < found.rows[0].mean < 1


def test_parameters():
    cls, params = read_peer("xgboost:rate=0.3,size=4")
    assert cls(**params).get_params()["size"] == 4
    with pytest.raises(rl.DataError, match="xgboost has no parameter 'depth=4'"):
        read_peer("xgboost:depth=4")
    with pytest.raises(rl.DataError, match="must be a number"):
        read_peer("xgboost:rate=fast")


def test_what_is_not_installed_is_said_before_anything_runs(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    data = rl.QueryDataset.from_arrays(np.eye(30), np.arange(30) % 3, group=[3] * 10)
    told = []
    with pytest.raises(MissingExtraError, match=r"pip install 'rankloop\[peers\]'"):
        rl.compare(data, ["slam", "catboost"], folds=3, on_progress=lambda *a: told.append(a))
    assert not told
