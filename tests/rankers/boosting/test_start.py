"""Trees that add to the scores of another ranker."""

from __future__ import annotations

import copy
import dataclasses

import lightgbm
import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.boosting.objectives import Shape, SoftmaxObjective

from .kinds import quality

START = rl.Prepared(rl.XENDCG(), "log", ["minmax", "rank"])


def test_the_score_is_the_sum(train, valid):
    model = rl.LambdaMART(trees=10, start=START).fit(train)
    linear = copy.deepcopy(START).fit(train).predict(valid)
    trees = model.to_lightgbm().predict(valid.X, raw_score=True)
    assert np.array_equal(model.predict(valid), linear + trees)
    assert not np.array_equal(
        model.to_lightgbm().predict(valid.X), rl.LambdaMART(trees=10).fit(train).predict(valid)
    )


def test_the_trees_are_lightgbms_with_these_scores(train):
    model = rl.LambdaMART(trees=10, leaves=7, min_data_in_leaf=5, rate=0.1, start=START).fit(train)
    taught = keep_usable(train)
    scores = copy.deepcopy(START).fit(train).predict(taught)
    params = {
        "objective": "lambdarank",
        "learning_rate": 0.1,
        "num_leaves": 7,
        "min_data_in_leaf": 5,
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(taught.X, taught.y, group=taught.sizes, init_score=scores)
    theirs = lightgbm.train(params, data, 10).predict(taught.X, raw_score=True)
    assert np.allclose(model.predict(taught), scores + theirs, atol=1e-9)


def test_our_own_gradients_start_there_too(train):
    rounds = []
    start = rl.XENDCG()
    rl.XENDCGBoost(1.0, trees=1, rate=1e-9, start=start).fit(train, on_round=rounds.append)
    taught = keep_usable(train)
    scores = rl.XENDCG().fit(train).predict(taught)
    objective = SoftmaxObjective(Shape.of(taught), True)
    assert np.isclose(rounds[0].objective, objective.at(scores, 0), atol=1e-6)


def test_it_helps_where_the_truth_is_linear_and_never_costs_much(noisy):
    data = noisy(300, seed=8)
    linear = dataclasses.replace(data, y=np.clip(np.round(data.X[:, :3].sum(axis=1)), 0, 3))
    train, valid, test = (linear.select(slice(k, k + 100)) for k in (0, 100, 200))
    plain = rl.LambdaMART().fit(train, valid=valid)
    started = rl.LambdaMART(start=rl.XENDCG()).fit(train, valid=valid)
    assert quality(started, test) > quality(plain, test) + 0.01


def test_no_tree_at_all_may_be_best(train, valid):
    """Nothing is better than a start that knows the grades."""
    told, seen = (
        dataclasses.replace(d, X=np.c_[d.X[:, :4], d.y].astype(np.float32)) for d in (train, valid)
    )
    model = rl.LambdaMART(trees=20, patience=3, start=Told(), refit=True).fit(told, valid=seen)
    assert model.rounds_ == 0
    assert model.booster_ == ""
    assert np.array_equal(model.predict(seen), seen.X[:, 4])


class Told(rl.RankSVM):
    """Ranks by the last column, which is the grade."""

    def _score_rows(self, X, offsets):
        return X[:, -1].astype(float)


def test_early_stopping_measures_the_sum(train, valid):
    rounds = []
    model = rl.LambdaMART(trees=30, patience=5, start=START)
    model.fit(train, valid=valid, on_round=rounds.append)
    assert np.isclose(quality(model, valid), max(r.valid for r in rounds))


@pytest.mark.parametrize("ranker", [rl.LambdaMART(trees=8), rl.XENDCGBoost(1.0, trees=8)])
def test_going_on(ranker, train):
    """Twice eight trees are sixteen, also after saving and loading."""
    whole = copy.deepcopy(ranker).set_params(trees=16, start=START).fit(train)
    half = copy.deepcopy(ranker).set_params(start=START).fit(train)
    again = rl.loads(half.dumps())
    for one in (half, again):
        one.set_params(warm_start=True).fit(train)
        assert one.rounds_ == one.to_lightgbm().num_trees() == 16
        assert np.allclose(one.predict(train), whole.predict(train), atol=1e-6)


def test_saving(train, valid, tmp_path):
    model = rl.LambdaMART(trees=5, start=START).fit(train)
    model.save(tmp_path / "a")
    again = rl.load(tmp_path / "a")
    assert np.array_equal(again.predict(valid), model.predict(valid))
    assert again.digest() == model.digest()
    with pytest.raises(DataError, match="add to the scores of a Prepared, which LightGBM's format"):
        model.save_text(tmp_path / "b")


def test_explaining(train, valid):
    model = rl.LambdaMART(trees=5, start=START).fit(train)
    start, trees = model.explain()
    assert start["member"].startswith("Prepared")
    assert trees["features"][0] in train.feature_names
    query = valid.query(0)
    assert np.allclose(model.contributions(query).sum(axis=1), model.predict(query))


def test_moving_leaves(train, noisy):
    model = rl.LambdaMART(trees=8, start=START).fit(train)
    own = rl.XENDCGBoost(1.0, trees=8, start=START).fit(train)
    assert np.allclose(
        copy.deepcopy(own).move_leaves(train, decay=0.0).predict(train),
        own.predict(train),
        atol=1e-5,
    )
    for one in (model, own):
        before = one.predict(train)
        assert np.allclose(copy.deepcopy(one).move_leaves(train, decay=1.0).predict(train), before)


def test_missing_values_only_if_the_start_takes_them(train):
    X = train.X.copy()
    X[::3, 1] = np.nan
    data = rl.QueryDataset.from_arrays(X, train.y, qid=train.qid, allow_nan=True)
    with pytest.raises(DataError, match="needs finite numbers"):
        rl.LambdaMART(trees=3, start=START).fit(data)
    described = rl.rankers.Described(START)
    model = rl.LambdaMART(trees=3, start=described).fit(data)
    assert np.isfinite(model.predict(data)).all()


def test_errors(train):
    with pytest.raises(DataError, match="start must be"):
        rl.LambdaMART(start="linear").fit(train)
    with pytest.raises(DataError, match="C must be"):
        rl.LambdaMART(start=rl.XENDCG(C=0)).fit(train)
