"""Refitting: rounds from the validation set, then all judgements."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rankloop as rl
from rankloop.rankers.batch.base import hold_out, together

STOP_EARLY = [
    rl.XENDCGBoost(trees=30, rate=0.3, patience=3),
    rl.LambdaMART(trees=30, rate=0.3, patience=3),
    rl.LambdaMART(trees=30, rate=0.3, patience=3, start=rl.XENDCG()),
    rl.rankers.YetiRank(trees=30, rate=0.3, patience=3),
    rl.XENDCGBoost(trees=30, rate=0.3, patience=3, params={"boosting": "dart"}),
    rl.rankers.AdaRank(rounds=20, patience=3),
    rl.rankers.RankBoost(rounds=20, patience=3),
    rl.rankers.FRank(rounds=20, patience=3),
    rl.rankers.CoordinateAscent(rounds=3, restarts=1, steps=5, patience=1),
    rl.rankers.RankNet(hidden=2, rounds=8, patience=2),
    rl.rankers.KeepRank(passes=4, patience=1),
]
each = pytest.mark.parametrize("ranker", STOP_EARLY, ids=repr)


@pytest.mark.slow
@each
def test_the_rounds_stay_and_the_data_grow(ranker, train, valid):
    found = copy.deepcopy(ranker).fit(train, valid=valid)
    again = copy.deepcopy(ranker).set_params(refit=True).fit(train, valid=valid)
    both = together(train, valid)
    assert again.rounds_ == found.rounds_
    assert again.n_queries_seen_ == len(both) == 100
    assert not np.array_equal(again.predict(valid), found.predict(valid))
    limit = next(n for n in ("trees", "rounds", "passes") if n in ranker._parameters())
    if found.rounds_:
        rounds = {limit: found.rounds_, "patience": None}
        alone = copy.deepcopy(ranker).set_params(**rounds).fit(both)
        assert np.array_equal(alone.predict(valid), again.predict(valid))


def test_every_ranker_that_stops_early_can():
    from rankloop.rankers.registry import ranker_class, ranker_names

    for name in ranker_names():
        known = ranker_class(name)._parameters()
        if known.get("patience") is not None:
            assert known["refit"] is False, name


def test_without_a_validation_set(train):
    """Every fifth query takes its place; with too few, there is nothing to find."""
    ranker = rl.XENDCGBoost(trees=30, rate=0.3, patience=3, refit=True)
    parts = hold_out(train)
    alone = copy.deepcopy(ranker).fit(train)
    with_parts = copy.deepcopy(ranker).fit(parts[0], valid=parts[1])
    assert alone.rounds_ == with_parts.rounds_ < 30
    assert alone.n_queries_seen_ == len(train)
    few = train.select(slice(0, 4))
    assert copy.deepcopy(ranker).fit(few).rounds_ == 30
    convex = rl.RankSVM(refit=True).fit(train)
    assert np.array_equal(convex.predict(train), rl.RankSVM().fit(train).predict(train))


def test_without_patience_both_are_learnt_at_once(train, valid):
    both = together(train, valid)
    one = rl.RankSVM(refit=True).fit(train, valid=valid)
    assert np.array_equal(one.predict(valid), rl.RankSVM().fit(both).predict(valid))


def test_an_interrupt_keeps_the_rounds_found(train, valid, monkeypatch):
    """What comes after them is all or nothing."""

    def stop(*_):
        raise KeyboardInterrupt

    ranker = rl.XENDCGBoost(trees=6, refit=True, patience=50)
    monkeypatch.setattr(type(ranker), "_run_again", stop)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(train, valid=valid)
    assert ranker.rounds_ == 6
    same = rl.XENDCGBoost(trees=6).fit(train)
    assert np.array_equal(ranker.predict(valid), same.predict(valid))


def test_going_on_with_refit(train, valid):
    model = rl.XENDCGBoost(trees=5).fit(train)
    model.set_params(warm_start=True, refit=True, trees=20, rate=0.3, patience=2)
    model.fit(train, valid=valid)
    assert 5 < model.rounds_ <= 25
    assert model.rounds_ == model.to_lightgbm().num_trees()


def test_saved_with_the_model(train, valid, tmp_path):
    model = rl.LambdaMART(trees=10, refit=True).fit(train, valid=valid)
    model.save(tmp_path / "a")
    again = rl.load(tmp_path / "a")
    assert again.refit is True
    assert np.array_equal(again.predict(valid), model.predict(valid))
