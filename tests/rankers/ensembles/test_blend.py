"""Blends: members apart, scores together, all kinds alike."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.rankers.batch.base import together
from rankloop.rankers.ensembles.mix import standardise

SMALL = (rl.RankSVM(), rl.XENDCGBoost(trees=8))


def test_scores_are_the_mean_of_the_members(train, valid):
    blend = rl.Blend(SMALL, seeds=2, refit=False).fit(train)
    scaler = rl.data.QueryMinMax()
    linear = rl.RankSVM().fit(scaler.transform(train)).predict(scaler.transform(valid))
    trees = [rl.XENDCGBoost(trees=8, random_state=s).fit(train).predict(valid) for s in (0, 1)]
    parts = [standardise(s, valid.offsets) for s in (linear, *trees)]
    assert np.allclose(blend.predict(valid), parts[0] / 2 + parts[1] / 4 + parts[2] / 4)
    assert blend.weights_.tolist() == [0.5, 0.25, 0.25]
    assert blend.rounds_ == 3


def test_the_default_has_both_kinds(train):
    blend = rl.Blend(seeds=2).fit(train)
    kinds = [type(m).__name__ for m in blend.members_]
    assert kinds == ["Auto", *["Prepared"] * 2, *["LambdaMART"] * 2]
    assert np.allclose(blend.weights_, [1 / 3, *[1 / 6] * 4])
    parts = blend.explain()
    assert parts[0]["member"] == "Auto(adapt=False)"
    assert "rank of a" in {name for part in parts for name in part["features"]}
    trees = [m.predict(train).tobytes() for m in blend.members_[1:]]
    assert len(set(trees)) == 4  # seeds draw other features


def test_members_that_refuse_the_data_are_left_out(train, valid):
    """Only of the default: a member that was asked for says why."""
    weights = np.random.default_rng(0).random(train.n_documents)
    heavy = dataclasses.replace(train, sample_weight=weights)
    assert "LambdaMART" not in str(rl.Blend(seeds=1).fit(heavy).members_)
    large = dataclasses.replace(train, y=train.y * 120)
    members = rl.Blend(seeds=1).fit(large).members_
    assert [type(m).__name__ for m in members] == ["Prepared", "LambdaMART"]
    assert members[1].start is None
    blend = rl.Blend([rl.LambdaMART(trees=3)], seeds=1).fit(train)
    before = blend.predict(valid)
    with pytest.raises(DataError, match="cannot use document weights"):
        blend.fit(heavy)
    assert np.array_equal(blend.predict(valid), before)


def test_errors_and_interrupts_lose_nothing(train, valid):
    blend = rl.Blend(SMALL, seeds=1).fit(train)
    before = blend.predict(valid)
    narrow = dataclasses.replace(valid, X=valid.X[:, :2], feature_names=None)
    no_use = dataclasses.replace(valid, y=np.zeros_like(valid.y))
    for data, judge in ((train, narrow), (train, no_use), (train, with_nan(valid))):
        with pytest.raises(DataError):
            blend.fit(data, valid=judge)
        assert np.array_equal(blend.predict(valid), before)
    with pytest.raises(DataError, match="missing values"):
        blend.predict(with_nan(valid))

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        blend.fit(train, on_round=stop)
    assert [type(m).__name__ for m in blend.members_] == ["RankSVM"]
    assert np.isfinite(blend.predict(valid)).all()


def with_nan(data):
    X = data.X.copy()
    X[0, 0] = np.nan
    return dataclasses.replace(data, X=X)


def test_going_on_with_data_that_a_member_refuses(train, valid):
    blend = rl.Blend([rl.RankSVM(), rl.LambdaMART(trees=3)], seeds=1, warm_start=True).fit(train)
    before, rounds = blend.predict(valid), [m.rounds_ for m in blend.members_]
    weights = np.random.default_rng(0).random(train.n_documents)
    with pytest.raises(DataError, match="cannot use document weights"):
        blend.fit(dataclasses.replace(train, sample_weight=weights))
    assert np.array_equal(blend.predict(valid), before)
    assert [m.rounds_ for m in blend.members_] == rounds


def test_members_that_cannot_tell_their_features(train):
    members = [rl.rankers.Lifted(rl.RankSVM(), "nystrom(rbf(1),20)"), rl.RankSVM()]
    parts = rl.Blend(members, seeds=1).fit(train).explain()
    assert [len(part["features"]) for part in parts] == [0, train.n_features]


def test_what_members_share_reaches_rankers_behind_a_scaler(train, valid):
    inner = rl.rankers.RankNet(hidden=2, rounds=4)
    blend = rl.Blend([rl.Prepared(inner, "log")], seeds=2, valid_measure="AP", patience=2).fit(
        train, valid=valid
    )
    assert [m.ranker_.random_state for m in blend.members_] == [0, 1]
    assert {(m.ranker_.valid_measure, m.ranker_.patience) for m in blend.members_} == {("AP", 2)}
    blend.set_params(valid_measure="P@1", warm_start=True, seeds=5).fit(train, valid=valid)
    assert {m.ranker_.valid_measure for m in blend.members_} == {"P@1"}


def test_members_stop_early(train, valid):
    rounds = []
    blend = rl.Blend([rl.XENDCGBoost(trees=60, rate=0.3, patience=3)], seeds=1)
    blend.fit(train, valid=valid, on_round=rounds.append)
    alone = rl.XENDCGBoost(trees=60, rate=0.3, patience=3).fit(train, valid=valid)
    assert blend.members_[0].rounds_ == alone.rounds_ < 60
    assert len(rounds) == 1
    assert blend.weights_.tolist() == [1.0]


def test_lifted_members_see_scaled_features(train, valid):
    member = rl.rankers.Lifted(rl.RankSVM(), "nystrom(rbf(1),20)")
    blend = rl.Blend([member], seeds=1).fit(train)
    scaler = rl.data.QueryMinMax()
    alone = rl.rankers.Lifted(rl.RankSVM(), "nystrom(rbf(1),20)").fit(scaler.transform(train))
    expected = standardise(alone.predict(scaler.transform(valid)), valid.offsets)
    assert np.allclose(blend.predict(valid), expected)


def test_saving_and_going_on(train, valid, tmp_path):
    blend = rl.Blend(SMALL, seeds=2, refit=False).fit(train, valid=valid)
    blend.save(tmp_path / "a")
    again = rl.load(tmp_path / "a")
    assert np.array_equal(again.predict(valid), blend.predict(valid))
    assert again.explain() == blend.explain()
    for one in (again, blend):
        one.set_params(warm_start=True).fit(valid)
    assert blend.members_[1].rounds_ == again.members_[1].rounds_ == 16
    assert np.array_equal(again.predict(valid), blend.predict(valid))


def test_raw_features_are_scaled_for_linear_members(train, valid):
    """Other units change no ranking."""
    units = np.array([1e6, 1e-3, 10, 1, 100], np.float32)
    scaled = [dataclasses.replace(d, X=d.X * units) for d in (train, valid)]
    one = rl.Blend(SMALL, seeds=1).fit(train).predict(valid)
    other = rl.Blend(SMALL, seeds=1).fit(scaled[0]).predict(scaled[1])
    assert np.allclose(one, other, atol=1e-3)


def test_errors(train):
    with pytest.raises(DataError, match="at least one ranker"):
        rl.Blend([]).fit(train)
    with pytest.raises(DataError, match="of the kind Ranker; found 'slam'"):
        rl.Blend(["slam"]).fit(train)
    with pytest.raises(DataError, match="seeds must be"):
        rl.Blend(SMALL, seeds=0).fit(train)
    with pytest.raises(DataError, match="trees must be"):
        rl.Blend([rl.LambdaMART(trees=0)]).fit(train)


def test_missing_values_reach_trees_as_they_are(train, valid, tmp_path):
    """Members that need numbers get medians and marks; trees get NaN, and see it at once."""
    X = train.X.copy()
    X[train.y >= 2, 2] = np.nan
    told = rl.QueryDataset.from_arrays(X, train.y, qid=train.qid, allow_nan=True)
    blend = rl.Blend([rl.RankSVM(), rl.XENDCGBoost(trees=8)], seeds=1).fit(told)
    linear, trees = blend.members_
    assert trees.n_features_in_ == 5
    assert linear.n_features_in_ == 6
    assert "3 is missing" in linear.feature_names_in_
    alone = rl.XENDCGBoost(trees=8, refit=True).fit(told)
    assert trees.booster_ == alone.booster_
    blend.save(tmp_path / "a")
    assert np.array_equal(rl.load(tmp_path / "a").predict(told), blend.predict(told))
    default = rl.Blend(seeds=1).fit(told)
    assert np.isfinite(default.predict(told)).all()
    assert default.members_[1].n_features_in_ == default.members_[2].n_features_in_ == 5
    assert default.members_[0].n_features_in_ == 6
    assert all(member.traits.takes_raw_features for member in default.members_)


def test_categories_reach_trees_as_they_are(train):
    rng = np.random.default_rng(0)
    kinds = rng.permutation(20)[rng.integers(0, 20, train.n_documents)]
    y = (kinds % 2).astype(float)
    data = rl.QueryDataset.from_arrays(
        np.c_[train.X[:, :2], kinds], y, qid=train.qid, feature_names=("a", "b", "kind")
    )
    members = [
        rl.RankSVM(),
        rl.XENDCGBoost(trees=3, leaves=2, rate=1.0),
        rl.Prepared(rl.XENDCGBoost(trees=3, leaves=2, rate=1.0), "none", ["raw", "rank"]),
    ]
    blend = rl.Blend(members, seeds=1, categorical=["kind"], refit=False).fit(data)
    for member in blend.members_[1:]:
        scores = member.predict(data)
        assert scores[y == 1].min() > scores[y == 0].max()
    unseen = dataclasses.replace(data, X=np.where(np.arange(3) == 2, 70, data.X).astype("f4"))
    assert np.isfinite(blend.predict(unseen)).all()
    described = rl.rankers.Described(rl.Blend(members, seeds=1)).fit(data)
    assert np.isfinite(described.predict(data)).all()
    with pytest.raises(DataError, match="categories must be whole numbers"):
        rl.Blend(members, categorical=["a"]).fit(data)


def test_refitting_uses_all_judgements(train, valid):
    """Early stoppers keep their rounds; all others learn both parts at once."""
    trees = rl.XENDCGBoost(trees=40, rate=0.3, patience=3)
    members = [trees, rl.Prepared(rl.RankSVM(), "log"), rl.Auto()]
    blend = rl.Blend(members, seeds=1).fit(train, valid=valid)
    both = together(train, valid)
    assert blend.n_queries_seen_ == len(both)
    rounds = copy.deepcopy(trees).fit(train, valid=valid).rounds_
    alone = [
        copy.deepcopy(trees).set_params(trees=rounds).fit(both),
        rl.Prepared(rl.RankSVM(refit=True), "log").fit(train, valid=valid),
        rl.Auto().fit(both),
    ]
    for member, same in zip(blend.members_, alone, strict=True):
        assert np.array_equal(member.predict(valid), same.predict(valid))
    without = rl.Blend(members, seeds=1, refit=False).fit(train, valid=valid)
    assert np.array_equal(without.members_[2].predict(valid), rl.Auto().fit(train).predict(valid))
