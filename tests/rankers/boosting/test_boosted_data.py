"""What boosted trees can be given: missing values, any grades, weights, bad parameters."""

from __future__ import annotations

import copy
import dataclasses
import sys

import lightgbm
import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, MissingExtraError, ModelError, NotFittedError
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.model_files.saving import from_tree, to_tree

from .kinds import each, fitted, quality


@each
def test_missing_values(ranker, train, valid):
    """NaN is a value of its own: it tells the grade here, and is allowed from arrays too."""
    X = train.X.copy()
    X[train.y >= 2, 2] = np.nan
    model = copy.deepcopy(ranker).fit(X, train.y, qid=train.qid)
    known = rl.QueryDataset.from_arrays(X, train.y, qid=train.qid, allow_nan=True)
    assert np.array_equal(fitted(ranker, known).predict(X), model.predict(X))
    assert model.explain()[0]["feature"] == "3"
    scores = model.predict(X)
    assert np.quantile(scores[train.y >= 2], 0.05) > np.quantile(scores[train.y < 2], 0.95)
    again = from_tree(to_tree(model))  # with thresholds that all known values are below
    assert np.array_equal(again.predict(X), scores)
    with pytest.raises(DataError, match="finite"):
        model.predict(np.full((2, 5), np.inf))


def test_categories(train):
    """Equal categories are one group, wherever their numbers stand."""
    rng = np.random.default_rng(0)
    kinds = rng.permutation(20)[rng.integers(0, 20, train.n_documents)]
    y = (kinds % 2).astype(float)
    data = rl.QueryDataset.from_arrays(
        np.c_[train.X[:, :2], kinds], y, qid=train.qid, feature_names=("a", "b", "kind")
    )
    by_name = rl.XENDCGBoost(1.0, trees=3, leaves=2, rate=1.0, categorical=["kind"]).fit(data)
    by_column = rl.XENDCGBoost(1.0, trees=3, leaves=2, rate=1.0, categorical=[2]).fit(data)
    assert np.array_equal(by_name.predict(data), by_column.predict(data))
    scores = by_name.predict(data)
    assert scores[y == 1].min() > scores[y == 0].max()
    plain = rl.XENDCGBoost(1.0, trees=3, leaves=2, rate=1.0).fit(data).predict(data)
    assert plain[y == 1].min() <= plain[y == 0].max()


@each
def test_monotone_constraints(ranker, train):
    model = copy.deepcopy(ranker).set_params(increasing=["b"], decreasing=[2]).fit(train)
    grid = np.repeat(train.X[:20], 30, axis=0)
    for column, sign in ((1, 1), (2, -1)):
        rows = grid.copy()
        rows[:, column] = np.tile(np.linspace(-3, 3, 30), 20)
        steps = np.diff(model.predict(rows).reshape(20, 30), axis=1)
        assert (sign * steps >= 0).all()
    free = fitted(ranker, train)
    rows = grid.copy()
    rows[:, 1] = np.tile(np.linspace(-3, 3, 30), 20)
    assert (np.diff(free.predict(rows).reshape(20, 30), axis=1) < 0).any()


@each
def test_query_weights_are_counts(ranker, noisy):
    """But for the documents that a leaf needs, and the bins: both made the same here."""
    if isinstance(ranker, rl.rankers.YetiRank):
        pytest.skip("copies of a query draw noise of their own")
    data = noisy(20, seed=5, query_weight=True)
    data = dataclasses.replace(data, X=np.round(data.X * 2) / 2)
    queries = np.repeat(np.arange(20), data.query_weight.astype(int))
    parts = [
        dataclasses.replace(data.select([q]), query_ids=np.array([k]))
        for k, q in enumerate(queries)
    ]
    copies = rl.data.concat([dataclasses.replace(p, query_weight=None) for p in parts])
    gamma = {"gamma": 1.0} if getattr(ranker, "gamma", None) == "random" else {}  # draws differ
    options = {"min_data_in_leaf": 1, "leaves": 4, "params": {"min_data_in_bin": 1}, **gamma}
    model = copy.deepcopy(ranker).set_params(**options)
    one, other = fitted(model, data), fitted(model, copies)
    assert np.allclose(one.predict(data), other.predict(data), atol=1e-5)


@pytest.mark.parametrize(
    "y", [[0, 40, 1000, 1, 0, 40], [0.5, 0.25, 3.7, 1.1, 0, 2], [0, 1e6, 2, 0, 3, 1]]
)
@each
def test_any_grades(ranker, y, train):
    grades = np.array(y, float)[np.minimum(train.y.astype(int) + 2, 5)]
    data = dataclasses.replace(train, y=grades)
    model = fitted(ranker, data)
    assert np.isfinite(model.predict(data)).all()
    assert model.rounds_ == 12


def test_grades_are_ranks_to_lambdamart(train):
    """Other numbers with the same gains: the same trees."""
    linear = rl.LambdaMART(gain="linear", trees=8).fit(train)
    scaled = rl.LambdaMART(gain="linear", trees=8).fit(dataclasses.replace(train, y=100 * train.y))
    powers = dataclasses.replace(train, y=np.log2(1 + train.y))
    exponential = rl.LambdaMART(trees=8).fit(powers)
    assert np.allclose(linear.predict(train), scaled.predict(train))
    assert np.allclose(linear.predict(train), exponential.predict(train))
    assert not np.allclose(linear.predict(train), rl.LambdaMART(trees=8).fit(train).predict(train))


def test_lambdamart_is_lightgbms(train):
    data = keep_usable(train)
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
    theirs = lightgbm.train(params, lightgbm.Dataset(data.X, data.y, group=data.sizes), 10)
    ours = rl.LambdaMART(trees=10, leaves=7, min_data_in_leaf=5, rate=0.1).fit(train)
    assert np.allclose(ours.predict(train), theirs.predict(train.X, raw_score=True), atol=1e-9)


def test_long_queries_and_document_weights_are_refused_by_lambdamart(noisy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_001, 2))
    with pytest.raises(DataError, match="10,001 documents; LightGBM's lambdarank takes at most"):
        rl.LambdaMART().fit(X, np.arange(10_001) % 2, group=[10_001])
    with pytest.raises(DataError, match="document weights"):
        rl.LambdaMART().fit(noisy(sample_weight=True))
    assert rl.XENDCGBoost(trees=1).fit(X, np.arange(10_001) % 2, group=[10_001]).rounds_ == 1


def test_the_best_of_several(train, valid):
    model = rl.XENDCGBoost("best-of-3", trees=8).fit(train, valid=valid)
    seeds = [k * 2**20 for k in range(3)]
    each_one = [rl.XENDCGBoost(trees=8, random_state=s).fit(train, valid=valid) for s in seeds]
    best = max(each_one, key=lambda one: quality(one, valid))
    assert model.booster_ == best.booster_
    assert model.gamma == "best-of-3"
    assert len({one.booster_ for one in each_one}) == 3
    with pytest.raises(DataError, match="on validation data; pass valid="):
        rl.XENDCGBoost("best-of-3").fit(train)


@each
def test_nothing_to_learn(ranker, train, monkeypatch):
    """As a part of the data may be that a ranker which consists of others gives to them."""
    monkeypatch.setattr("rankloop.rankers.base.check_differences", lambda *_: None)
    data = dataclasses.replace(train, y=np.ones(train.n_documents))
    model = fitted(ranker, data)
    assert not model.predict(data).any()
    assert not model.contributions(data).any()
    assert model.booster_ == ""
    assert model.move_leaves(train).booster_ == ""
    assert all(part["splits"] == 0 for part in model.explain())
    again = from_tree(to_tree(model))
    assert not again.predict(data).any()
    with pytest.raises(DataError, match="no trees"):
        model.to_lightgbm()


@each
def test_features_that_tell_nothing(ranker, train):
    data = dataclasses.replace(train, X=np.ones_like(train.X))
    scores = fitted(ranker, data).predict(data)
    assert np.ptp(scores) == 0


@pytest.mark.parametrize("validated", [False, True])
@each
def test_trees_of_one_leaf_can_be_read_again(ranker, validated, train, valid):
    """LightGBM writes them in two ways: without a weight if it has read the tree from text."""
    model = copy.deepcopy(ranker).set_params(min_data_in_leaf=train.n_documents)
    model.fit(train, valid=valid if validated else None)
    again = from_tree(to_tree(model))
    assert np.array_equal(again.predict(valid), model.predict(valid))
    assert np.ptp(again.predict(valid)) == 0
    assert np.ptp(again.copy().fit(train).predict(valid)) == 0


def test_the_best_of_several_without_a_split(train, valid):
    model = rl.XENDCGBoost("best-of-2", min_data_in_leaf=train.n_documents)
    assert np.ptp(model.fit(train, valid=valid).predict(valid)) == 0


def test_an_interrupt_leaves_a_model(train):
    def stop(done):
        if done.number == 5:
            raise KeyboardInterrupt

    model = rl.XENDCGBoost(trees=50)
    with pytest.raises(KeyboardInterrupt):
        model.fit(train, on_round=stop)
    assert model.rounds_ == 5
    same = rl.XENDCGBoost(trees=5).fit(train)
    assert np.array_equal(model.predict(train), same.predict(train))
    again = from_tree(to_tree(model))
    assert np.array_equal(again.predict(train), same.predict(train))


BAD = [
    ({"trees": 0}, "trees must be a whole number of at least 1; found 0"),
    ({"rate": 0.0}, "rate must be a number above 0 to 1; found 0"),
    ({"leaves": 1}, "leaves must be a whole number of at least 2; found 1"),
    ({"feature_fraction": 1.5}, "feature_fraction must be"),
    ({"random_state": -1}, "random_state must be"),
    ({"gamma": 2.0}, "gamma must be a number from 0 to 1; found 2"),
    ({"gamma": "tighter"}, "gamma must be random, tight, best-of-10 or a number"),
    ({"params": {"num_leafs": 3}}, "LightGBM has no parameter 'num_leafs'"),
    ({"params": {"eta": 0.1}}, "'eta' cannot be set in params; use rate"),
    ({"params": {"objective": "binary"}}, "use another ranker"),
    ({"params": 3}, "params must be a dictionary"),
    ({"increasing": ["z"]}, "increasing: there is no feature 'z'; the names are a, b"),
    ({"categorical": [5]}, "expected names, or columns from 0 to 4; found 5"),
    ({"categorical": [0]}, "categories must be whole numbers from 0"),
    ({"increasing": ["a"], "decreasing": [0]}, "both increasing and decreasing"),
    ({"patience": 0}, "patience must be"),
]


@pytest.mark.parametrize(("params", "says"), BAD)
def test_bad_parameters_change_nothing(params, says, train):
    model = rl.XENDCGBoost(trees=3).fit(train)
    before = model.booster_
    with pytest.raises(DataError, match=says):
        model.set_params(**params).fit(train)
    assert model.booster_ == before


def test_bad_parameters_of_others(train):
    with pytest.raises(DataError, match="gain must be exponential or linear"):
        rl.LambdaMART(gain="cubic").fit(train)
    with pytest.raises(DataError, match="unknown loss 'hinge'"):
        rl.rankers.LossBoost("hinge").fit(train)
    with pytest.raises(NotFittedError):
        rl.rankers.LossBoost().contributions(train.X)


def test_all_of_lightgbms_parameters_pass_through(train):
    model = rl.XENDCGBoost(trees=4, params={"max_depth": 1, "max_bin": 7}).fit(train)
    assert model.to_lightgbm().trees_to_dataframe()["node_depth"].max() == 2
    assert "[max_bin: 7]" in model.booster_


def test_damaged_trees_are_a_model_error(train):
    tree = to_tree(rl.XENDCGBoost(trees=3).fit(train))
    tree["state"]["booster_"] = "tree\nversion=v4\nnonsense"
    with pytest.raises(ModelError, match="damaged: its header has the line 'nonsense'"):
        from_tree(tree)
    tree = to_tree(rl.XENDCGBoost(trees=3).fit(train))
    tree["state"].update(n_features_in_=7, feature_names_in_=[])
    with pytest.raises(ModelError, match="the trees expect 5 features, not 7"):
        from_tree(tree)


def test_names_that_lightgbm_cannot_take(train):
    names = ("a b", "a:b", "c", 'd"', "[e]")
    model = rl.XENDCGBoost(trees=3).fit(dataclasses.replace(train, feature_names=names))
    assert {part["feature"] for part in model.explain()} == set(names)


def test_what_to_install(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankloop\[trees\]'"):
        rl.XENDCGBoost().fit(train)


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_real_data_is_learnt(name, data_dir):
    train, valid, test = rl.data.letor_folds(data_dir / name)[0].read()
    model = rl.XENDCGBoost(trees=60).fit(train, valid=valid)
    noise = np.random.default_rng(0).normal(size=test.n_documents)
    chance = rl.evaluate(test, noise, "nDCG@10")["nDCG@10"]
    assert quality(model, test) > chance + 0.08


def test_real_valued_grades_of_real_data(data_dir):
    """Yandex's are averages; LightGBM alone would refuse them, or cut them off."""
    data = rl.read(*sorted((data_dir / "YandexIMat2009-sample").iterdir()))
    train, test = data.select(slice(0, 70)), data.select(slice(70, 104))
    for ranker in (rl.LambdaMART(trees=30), rl.XENDCGBoost(trees=30)):
        model = ranker.fit(train)
        assert quality(model, test) > 0.7
    with pytest.raises(lightgbm.basic.LightGBMError, match="label should be int type"):
        lightgbm.train(
            {"objective": "lambdarank", "verbosity": -1},
            lightgbm.Dataset(train.X, train.y, group=train.sizes),
            1,
        )


@each
@pytest.mark.parametrize("scattered", [False, True])
def test_what_teaches_nothing_leaves_no_trace(ranker, train, scattered):
    """Queries of one grade, and unjudged documents between others, as if they were not there."""
    whole = train.y.copy()
    rng = np.random.default_rng(0)
    whole[np.repeat(rng.random(len(train)) < 0.2, train.sizes)] = 1
    if scattered:
        whole[rng.random(len(whole)) < 0.3] = -1
    data = dataclasses.replace(train, y=whole)
    assert len(keep_usable(data)) < len(train)
    assert fitted(ranker, data).booster_ == fitted(ranker, keep_usable(data)).booster_
    again = fitted(ranker, data).set_params(warm_start=True)
    same = fitted(ranker, keep_usable(data)).set_params(warm_start=True)
    assert again.fit(data).booster_ == same.fit(keep_usable(data)).booster_


@pytest.mark.parametrize("low", [0.0, 0.5])
@pytest.mark.parametrize(
    "ranker", [rl.XENDCGBoost(), rl.XENDCGBoost(1.0), rl.rankers.ListNetBoost()]
)
def test_weights_below_one(ranker, train, valid, low):
    """A part of a document is less of it, and nothing worse."""
    rng = np.random.default_rng(0)
    heavy = dataclasses.replace(train, sample_weight=rng.uniform(low, 1, train.n_documents))
    rounds = []
    model = copy.deepcopy(ranker).set_params(trees=30, rate=0.1).fit(heavy, on_round=rounds.append)
    assert len(rounds) == 30
    assert rounds[-1].objective < rounds[0].objective
    alone = copy.deepcopy(ranker).set_params(trees=30, rate=0.1).fit(train)
    assert quality(model, valid) > quality(alone, valid) - 0.03
