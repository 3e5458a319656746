"""Models of LightGBM and XGBoost as rankers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankloop.exceptions import DataError, ModelError
from rankloop.export import rounding_moves, verify
from rankloop.rankers.boosting.imported import Imported
from rankloop.rankers.ensembles.blend import Blend
from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.rankers.registry import make_ranker

from .rankers import DOCUMENTS, FEATURES, QUERIES, data


@pytest.fixture
def lightgbm_file(tmp_path):
    lgb = pytest.importorskip("lightgbm")
    rows = data(True)
    settings = {
        "objective": "lambdarank",
        "verbosity": -1,
        "min_data_in_leaf": 2,
        "num_leaves": 5,
        "min_data_per_group": 1,
        "cat_smooth": 0.0,
    }
    train = lgb.Dataset(rows.X, rows.y, group=rows.sizes, categorical_feature=[2])
    booster = lgb.train(settings, train, 6)
    booster.save_model(tmp_path / "lightgbm.txt")
    return booster, tmp_path / "lightgbm.txt"


@pytest.fixture
def xgboost_file(tmp_path):
    xgb = pytest.importorskip("xgboost")
    rows = data(True)
    train = xgb.DMatrix(rows.X, rows.y, qid=np.repeat(np.arange(QUERIES), DOCUMENTS))
    booster = xgb.train({"objective": "rank:ndcg", "max_depth": 3, "nthread": 1}, train, 6)
    booster.save_model(tmp_path / "xgboost.json")
    return booster.predict(train), tmp_path / "xgboost.json"


def test_lightgbm_scores_bit_for_bit(lightgbm_file):
    booster, path = lightgbm_file
    ranker = Imported.read(path)
    assert (ranker.predict(data(True)) == booster.predict(data(True).X)).all()


def test_xgboost_scores_within_rounding(xgboost_file):
    expected, path = xgboost_file
    scores = Imported.read(path).predict(data(True))
    assert np.abs(scores - expected).max() <= 1e-6 * np.abs(expected).max()
    assert np.abs(scores).max() > 0


def test_an_imported_model_is_a_ranker_like_others(xgboost_file):
    _, path = xgboost_file
    ranker = Imported.read(path)
    scores = ranker.predict(data(True))
    assert (loads(dumps(ranker)).predict(data(True)) == scores).all()
    assert verify(ranker, "c", data(True)).verdict == "exact"
    assert verify(ranker, "elasticsearch", data(True)).queries_reordered == 0
    named = make_ranker(f"imported:model={path}").fit(data())
    blend = Blend([named, make_ranker("xendcg")]).fit(data())
    assert (blend.members_[0].predict(data(True)) == scores).all()


def test_a_model_of_other_features_is_refused(xgboost_file, tmp_path):
    _, path = xgboost_file
    with pytest.raises(DataError, match=f"expects {FEATURES} features, but the data has 1"):
        Imported(str(path)).fit([[1.0], [2.0]], [0, 1], group=[2])


def test_what_cannot_be_read_is_explained(xgboost_file, tmp_path):
    _, path = xgboost_file
    told = json.loads(path.read_text())
    for change, reason in (
        (
            lambda t: t["ranker"]["gradient_booster"].update(name="gblinear"),
            "trees .gbtree.",
        ),
        (lambda t: t["ranker"]["objective"].update(name="count:poisson"), "count:poisson"),
        (lambda t: t["ranker"].pop("gradient_booster"), "damaged"),
    ):
        changed = json.loads(json.dumps(told))
        change(changed)
        other = tmp_path / "changed.json"
        other.write_text(json.dumps(changed))
        with pytest.raises((DataError, ModelError), match=reason):
            Imported.read(other)
    (tmp_path / "no.txt").write_text("hello")
    with pytest.raises(ModelError, match="neither a model that LightGBM wrote"):
        Imported.read(tmp_path / "no.txt")
    with pytest.raises(ModelError, match="cannot read"):
        Imported.read(tmp_path / "absent.txt")


def test_rows_that_rounding_moves_are_counted(lightgbm_file):
    _, path = lightgbm_file
    ranker = Imported.read(path)
    assert rounding_moves(ranker, data(True).X) == 0
    from rankloop.export import program_of

    tree = next(t for t in program_of(ranker).all_trees() if 0 not in t.members and t.splits)
    row = np.zeros((1, FEATURES))
    row[0, tree.feature[0]] = np.nextafter(tree.threshold[0], np.inf)
    narrow = float(np.float32(row[0, tree.feature[0]]))
    assert rounding_moves(ranker, row) == int(narrow <= tree.threshold[0])
