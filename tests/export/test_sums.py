"""Trees that start from another ranker, and the whole blend, with missing values too."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.export import export, verify

START = rl.Prepared(rl.XENDCG(), "log", ["minmax", "rank"])
TREES = {"trees": 5, "leaves": 5, "min_data_in_leaf": 2}
RANKERS = {
    "start": rl.LambdaMART(**TREES, start=rl.Prepared(rl.XENDCG(), "standard", ["minmax", "rank"])),
    "ranks": rl.Prepared(rl.XENDCGBoost(**TREES), "none", ["raw", "rank"]),
    "blend": rl.Blend(
        [
            rl.Auto(),
            rl.Prepared(rl.XENDCGBoost(**TREES), "none", ["raw", "rank"]),
            rl.LambdaMART(**TREES, start=rl.rankers.Described(START)),
        ],
        seeds=1,
    ),
}


def data(missing):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(90, 4)) * 4) / 4
    y = np.clip(np.round(X[:, 0] + X[:, 1] ** 2), 0, 3)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return rl.QueryDataset.from_arrays(X, y, group=[9] * 10, allow_nan=True)


@pytest.mark.matrix
@pytest.mark.parametrize("target", ["json", "c", "onnx", "sql"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", RANKERS)
def test_they_score_as_we_do(name, missing, target):
    if target == "onnx":
        pytest.importorskip("onnxruntime")
    if name == "start" and missing:
        pytest.skip("its start needs numbers")
    rows = data(missing)
    ranker = RANKERS[name].copy().fit(rows)
    found = verify(ranker, target, rows, **({"dialect": "sqlite"} if target == "sql" else {}))
    assert found.largest <= 1e-6


def test_no_trees():
    rows = data(False)
    ranker = rl.LambdaMART(start=START).fit(rows, valid=rows.select(slice(0, 2)))
    ranker.booster_, ranker.rounds_ = "", 0
    assert verify(ranker, "json", rows).largest <= 1e-6


def test_search_engines_take_sums_that_look_at_no_query():
    rows = data(False)
    alone = rl.LambdaMART(**TREES, start=rl.XENDCG()).fit(rows)
    with pytest.raises(DataError):
        export(RANKERS["start"].copy().fit(rows), "solr")
    assert verify(alone, "c", rows).rows_different == 0
