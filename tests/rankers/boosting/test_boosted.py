"""What every ranker of boosted trees does: stop, go on, travel, explain itself."""

from __future__ import annotations

import copy
import dataclasses

import lightgbm
import numpy as np
import pytest

import rankloop as rl

from .kinds import each, fitted, quality


@each
def test_learns_what_bends(ranker, train, valid):
    model = copy.deepcopy(ranker).set_params(trees=40, rate=0.1).fit(train)
    assert quality(model, valid) > quality(rl.RankSVM().fit(train), valid) + 0.03


@each
def test_the_objective_falls(ranker, train):
    rounds = []
    fitted(ranker, train, on_round=rounds.append)
    assert [r.number for r in rounds] == list(range(1, 13))
    assert rounds[-1].objective < rounds[3].objective < rounds[0].objective


@each
def test_stopping_early_keeps_the_best(ranker, train, valid):
    """The best round is that of a model with so many trees, scored tree by tree or whole."""
    rounds = []
    model = copy.deepcopy(ranker).set_params(trees=60, patience=5, rate=0.3)
    model.fit(train, valid=valid, on_round=rounds.append)
    values = [r.valid for r in rounds]
    best = int(np.argmax(values)) + 1
    assert model.rounds_ == best == model.to_lightgbm().num_trees()
    assert len(rounds) == min(60, best + 5)
    assert np.isclose(quality(model, valid), max(values))
    alone = copy.deepcopy(model).set_params(trees=best).fit(train)
    assert np.array_equal(alone.predict(valid), model.predict(valid))


def test_without_patience_the_last_tree_stays(train, valid):
    model = rl.LambdaMART(trees=9, patience=None).fit(train, valid=valid)
    assert model.rounds_ == model.to_lightgbm().num_trees() == 9


def test_any_measure_and_convention(train, valid):
    values = {}
    for measure, convention in (("AP", "standard"), ("nDCG@3", "letor3"), ("ERR(max=3)@5", "mslr")):
        rounds = []
        model = rl.LambdaMART(trees=4, valid_measure=measure, convention=convention)
        model.fit(train, valid=valid, on_round=rounds.append)
        values[measure] = [r.valid for r in rounds]
        shuffled = valid.shuffle(np.random.default_rng(0))
        reached = rl.evaluate(shuffled, model.predict(shuffled), measure, convention)[measure]
        assert np.isclose(reached, max(values[measure]))
    with pytest.raises(ValueError, match="convention"):
        rl.LambdaMART(convention="none such").fit(train)


@pytest.mark.parametrize("kind", ["dart", "rf"])
def test_other_ways_of_boosting(kind, train, valid):
    """Trees are weighed anew: the best model is kept whole."""
    params = {"boosting": kind, "bagging_freq": 1, "bagging_fraction": 0.7}
    rounds = []
    model = rl.XENDCGBoost(trees=15, patience=4, params=params)
    model.fit(train, valid=valid, on_round=rounds.append)
    assert np.isclose(quality(model, valid), max(r.valid for r in rounds))


@each
def test_any_number_of_threads(ranker, noisy):
    data = noisy(400, d=8, seed=3)
    one, two, three = (
        copy.deepcopy(ranker).set_params(params={"num_threads": n}).fit(data) for n in (1, 2, 3)
    )
    assert one.booster_ == two.booster_ == three.booster_


@each
def test_seeds(ranker, train):
    ranker = copy.deepcopy(ranker).set_params(feature_fraction=0.5)
    one, same, other = (
        copy.deepcopy(ranker).set_params(random_state=seed).fit(train) for seed in (1, 1, 2)
    )
    assert one.booster_ == same.booster_
    assert not np.array_equal(one.predict(train), other.predict(train))


@each
def test_lightgbm_reads_the_model(ranker, train, tmp_path):
    model = fitted(ranker, train)
    model.save_text(tmp_path / "trees.txt")
    by_file = lightgbm.Booster(model_file=tmp_path / "trees.txt")
    by_text = lightgbm.Booster(model_str=model.booster_)
    for booster in (by_file, by_text, model.to_lightgbm()):
        assert np.array_equal(booster.predict(train.X, raw_score=True), model.predict(train))
    assert by_text.feature_name() == list(train.feature_names)


@each
def test_going_on(ranker, train, noisy, tmp_path):
    """Also after saving and loading; the first trees stay as they are."""
    more = noisy(30, seed=9)
    model = fitted(ranker, train)
    before = model.predict(train)
    model.save(tmp_path / "a")
    again = rl.load(tmp_path / "a")
    for one in (model, again):
        one.set_params(warm_start=True, trees=5).fit(more)
        assert one.rounds_ == one.to_lightgbm().num_trees() == 17
        first = one.to_lightgbm().predict(train.X, raw_score=True, num_iteration=12)
        assert np.array_equal(first, before)
    assert model.booster_ == again.booster_
    assert not np.array_equal(model.predict(train), before)


def test_going_on_lowers_the_objective(train):
    rounds = []
    model = rl.XENDCGBoost(1.0, trees=6, warm_start=True)
    for _ in range(2):
        model.fit(train, on_round=rounds.append)
    whole = []
    rl.XENDCGBoost(1.0, trees=12).fit(train, on_round=whole.append)
    assert np.allclose([r.objective for r in rounds], [r.objective for r in whole])


def test_going_on_with_validation_may_keep_nothing_new(train, valid, noisy):
    model = rl.XENDCGBoost(trees=30, warm_start=True).fit(train, valid=valid)
    before = model.rounds_
    model.set_params(patience=2, rate=1.0, trees=5).fit(noisy(3, seed=8), valid=valid)
    assert before < model.rounds_ <= before + 5  # the first new tree starts a new search
    assert model.to_lightgbm().num_trees() == model.rounds_


@each
def test_refitting(ranker, train, noisy):
    """Splits stay, values move: none of the way with decay 1, to the new data's with 0."""
    model, new = fitted(ranker, train), noisy(80, seed=12)
    flipped = dataclasses.replace(new, y=3 - new.y)
    same = copy.deepcopy(model).move_leaves(flipped, decay=1.0)
    assert np.allclose(same.predict(new), model.predict(new))
    moved = copy.deepcopy(model).move_leaves(flipped, decay=0.0)
    assert quality(moved, flipped) > quality(model, flipped) + 0.1
    leaves = [m.to_lightgbm().predict(new.X, pred_leaf=True) for m in (model, moved)]
    assert np.array_equal(*leaves)


def test_refitting_on_the_same_data_changes_little(train):
    """With all of the way to go, the trees find the values that they have."""
    model = rl.XENDCGBoost(1.0, trees=10).fit(train)
    again = copy.deepcopy(model).move_leaves(train, decay=0.0)
    assert np.allclose(again.predict(train), model.predict(train), atol=1e-5)


@each
def test_contributions_sum_to_the_score(ranker, train, valid):
    model = fitted(ranker, train)
    found = model.contributions(valid)
    assert found.shape == (valid.n_documents, 6)
    assert np.allclose(found.sum(axis=1), model.predict(valid))
    assert np.allclose(model.contributions(valid.query(2)), found[slice(*valid.offsets[2:4])])


@each
def test_importance(ranker, train):
    parts = fitted(ranker, train).explain()
    assert {part["feature"] for part in parts} == set("abcde")
    assert {part["feature"] for part in parts[:2]} == {"a", "b"}
    gains = [part["gain"] for part in parts]
    assert gains == sorted(gains, reverse=True)
    assert sum(part["splits"] for part in parts) > 12
