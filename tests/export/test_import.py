"""Models of LightGBM and XGBoost as rankers."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from rankloop.exceptions import DataError, ModelError
from rankloop.export import rounding_moves, verify
from rankloop.rankers.boosting.imported import Imported
from rankloop.rankers.boosting.ubjson import parse_ubjson
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


# A tree on feature 1 (x < 0.5 goes left, as missing values do), then one on feature 0.
XGBOOST = {
    "learner": {
        "attributes": {},
        "feature_names": [],
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "2"},
                "iteration_indptr": [0, 1, 2],
                "trees": [
                    {
                        "left_children": [1, -1, -1],
                        "right_children": [2, -1, -1],
                        "split_indices": [feature, 0, 0],
                        "split_conditions": [0.5, low, high],
                        "default_left": [1, 0, 0],
                        "split_type": [0, 0, 0],
                    }
                    for feature, low, high in ((1, -1.0, 2.0), (0, 8.0, 16.0))
                ],
            },
        },
        "learner_model_param": {"base_score": "[5E-1]", "num_class": "0", "num_feature": "2"},
        "objective": {"name": "rank:ndcg"},
    },
    "version": [3, 2, 0],
}
ROWS = np.array([[0.0, 0.5], [1.0, 0.25], [np.nan, np.nan]], np.float32)


def as_ubjson(value, typed):
    """Encode as XGBoost does: lengths are int64, and arrays of numbers may be typed."""
    if isinstance(value, dict):
        items = (_ubj_text(key) + as_ubjson(item, typed) for key, item in value.items())
        return b"{" + b"".join(items) + b"}"
    if isinstance(value, list):
        if typed and value and all(isinstance(item, float) for item in value):
            return b"[$d#L" + struct.pack(f">q{len(value)}f", len(value), *value)
        if typed and value and all(isinstance(item, int) for item in value):
            return b"[$l#L" + struct.pack(f">q{len(value)}i", len(value), *value)
        return b"[" + b"".join(as_ubjson(item, typed) for item in value) + b"]"
    if isinstance(value, str):
        return b"S" + _ubj_text(value)
    return (
        b"D" + struct.pack(">d", value)
        if isinstance(value, float)
        else struct.pack(">cq", b"L", value)
    )


def _ubj_text(text):
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()


def _changed(**attributes):
    record = json.loads(json.dumps(XGBOOST))
    record["learner"]["attributes"] = attributes
    return record


def _read(content, tmp_path, name="model.json"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return Imported.read(path)


def test_xgboost_by_hand(tmp_path):
    assert _read(XGBOOST, tmp_path).predict(ROWS).tolist() == [10.5, 15.5, 7.5]


def test_early_stopping_of_xgboost_is_honoured(tmp_path):
    record = _changed(best_iteration="0", best_score="0.9")
    assert _read(record, tmp_path).predict(ROWS).tolist() == [2.5, -0.5, -0.5]
    del record["learner"]["gradient_booster"]["model"]["iteration_indptr"]  # of older versions
    assert _read(record, tmp_path).predict(ROWS).tolist() == [2.5, -0.5, -0.5]


@pytest.mark.parametrize("typed", [False, True])
def test_ubj_is_the_same_model(typed, tmp_path):
    content = as_ubjson(_changed(best_iteration="0"), typed)
    assert _read(content, tmp_path, "model.ubj").predict(ROWS).tolist() == [2.5, -0.5, -0.5]
    assert parse_ubjson(as_ubjson(XGBOOST, typed)) == XGBOOST
    for end in range(2, len(content), 7):
        with pytest.raises(ModelError, match="damaged"):
            _read(content[:end], tmp_path, "cut.ubj")


CATBOOST = {
    "features_info": {
        "float_features": [
            {
                "feature_index": j,
                "flat_feature_index": j,
                "feature_id": name,
                "nan_value_treatment": nan,
            }
            for j, (name, nan) in enumerate((("price", "AsFalse"), ("age", "AsTrue")))
        ]
    },
    "oblivious_trees": [
        {
            "leaf_values": [1.0, 2.0, 4.0, 8.0],
            "splits": [
                {"border": 0.5, "float_feature_index": 0, "split_type": "FloatFeature"},
                {"border": 0.25, "float_feature_index": 1, "split_type": "FloatFeature"},
            ],
        }
    ],
    "scale_and_bias": [2, [100]],
}


def test_catboost_by_hand(tmp_path):
    ranker = _read(CATBOOST, tmp_path)
    assert ranker.feature_names_in_ == ("price", "age")
    rows = [[0.5, 0.25], [0.75, 0.25], [0.5, 0.5], [0.75, 0.5], [np.nan, np.nan]]
    assert ranker.predict(np.array(rows, np.float32)).tolist() == [102, 104, 108, 116, 108]


def test_what_catboost_has_besides_is_refused(tmp_path):
    record = json.loads(json.dumps(CATBOOST))
    record["features_info"]["categorical_features"] = [{"feature_index": 2}]
    with pytest.raises(DataError, match="categorical features cannot be imported"):
        _read(record, tmp_path)
    with pytest.raises(DataError, match="only symmetric trees"):
        _read({key: CATBOOST[key] for key in ("features_info", "scale_and_bias")}, tmp_path)
    with pytest.raises(ModelError, match="format='json'"):
        _read(b"CBM1\x08\x1c", tmp_path, "model.cbm")


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
            lambda t: t["learner"]["gradient_booster"].update(name="gblinear"),
            "trees .gbtree.",
        ),
        (lambda t: t["learner"]["objective"].update(name="count:poisson"), "count:poisson"),
        (lambda t: t["learner"].pop("gradient_booster"), "damaged"),
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
