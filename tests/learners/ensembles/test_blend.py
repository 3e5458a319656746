"""Blends: members apart, scores together, weights no further from equal than data says."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.learners.ensembles.mix import standardised
from rankloop.learners.ensembles.weights import shrunk_weights

SMALL = (rl.RankSVM(), rl.XENDCGBoost(trees=8))


def test_scores_are_the_mean_of_the_members(train, valid):
    blend = rl.Blend(SMALL, seeds=2).fit(train)
    scaler = rl.data.QueryMinMax()
    linear = rl.RankSVM().fit(scaler.transform(train)).predict(scaler.transform(valid))
    trees = [rl.XENDCGBoost(trees=8, random_state=s).fit(train).predict(valid) for s in (0, 1)]
    parts = [standardised(s, valid.offsets) for s in (linear, *trees)]
    assert np.allclose(blend.predict(valid), parts[0] / 2 + parts[1] / 4 + parts[2] / 4)
    assert blend.weights_.tolist() == [0.5, 0.25, 0.25]
    assert blend.rounds_ == 3


def test_the_default_has_both_kinds(train):
    blend = rl.Blend(seeds=2).fit(train.select(slice(0, 10)))
    kinds = [type(m).__name__ for m in blend.members_]
    assert kinds == ["Scaled"] * 2 + [*["XENDCGBoost"] * 2, *["LambdaMART"] * 2]
    assert blend.weights_.tolist() == [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]
    assert "XENDCG(C=0.03, power=0.5)" in blend.explain()[0]["member"]
    trees = [m.predict(train).tobytes() for m in blend.members_[2:]]
    assert len(set(trees)) == 4  # seeds draw other features


def test_members_that_refuse_the_data_are_left_out(train, valid):
    """Only of the default: a member that was asked for says why."""
    weights = np.random.default_rng(0).random(train.n_documents)
    heavy = dataclasses.replace(train, sample_weight=weights)
    assert "LambdaMART" not in str(rl.Blend(seeds=1).fit(heavy).members_)
    large = dataclasses.replace(train, y=train.y * 120)
    assert "Scaled" not in str(rl.Blend(seeds=1).fit(large).members_)
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
    for data, judge in ((train, narrow), (train, no_use), (with_nan(train), None)):
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
    members = [rl.learners.Lifted(rl.RankSVM(), "nystrom(rbf(1),20)"), rl.RankSVM()]
    parts = rl.Blend(members, seeds=1).fit(train).explain()
    assert [len(part["features"]) for part in parts] == [0, train.n_features]


def test_what_members_share_reaches_rankers_behind_a_scaler(train, valid):
    inner = rl.learners.RankNet(hidden=2, rounds=4)
    blend = rl.Blend([rl.Scaled(inner)], seeds=2, valid_measure="AP", patience=2).fit(
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
    assert blend.members_[0].rounds_ < 60
    assert len(rounds) == 1
    assert blend.weights_.tolist() == [1.0]


class Told(rl.RankSVM):
    """Ranks by one column, which tells the grade as well as it does."""

    column = 0

    def score_rows(self, X, offsets):
        return X[:, self.column].astype(float)


class Other(Told):
    column = 1


def told(n, noise, seed=0):
    """The first column knows the grades, the second knows them with noise, or nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 10 * n).astype(float)
    own = 0.5 * rng.normal(size=10 * n)
    X = np.c_[y + own, noise * rng.normal(size=10 * n) + y]
    return rl.QueryDataset.from_arrays(X, y, group=[10] * n)


def test_weights_are_shrunk_towards_equal():
    """Much validation data shows which is better; little does not; equals stay equal."""
    blend = rl.Blend([Told(), Other()])
    shares = {}
    for n in (2, 30, 3000):
        for noise in (0.5, 30.0):
            found = copy.deepcopy(blend).fit(told(5, noise, 1), valid=told(n, noise, 2))
            shares[n, noise] = found.weights_[0]
            assert np.isclose(found.weights_.sum(), 1)
    assert shares[3000, 30.0] > 0.9
    assert 0.5 <= shares[2, 30.0] <= shares[3000, 30.0]
    assert abs(shares[3000, 0.5] - 0.5) < 0.1


def test_queries_count_by_their_weights():
    """What is true of the first half only moves the weights where that half counts."""
    kinds, values = np.array([0, 1]), np.r_[np.full(30, 0.2), np.full(30, -0.2)]
    values += np.random.default_rng(0).normal(0, 0.05, 60)

    def measured(weights):
        return 0.5 + (weights[0] - 0.5) * values

    halves = np.repeat([1.0, 0.0], 30), np.repeat([0.0, 1.0], 30)
    found = [shrunk_weights(kinds, measured, half) for half in halves]
    assert found[0][0] > 0.9
    assert found[1][0] < 0.1
    assert np.array_equal(
        shrunk_weights(kinds, measured), shrunk_weights(kinds, measured, np.full(60, 3.0))
    )


def test_one_query_is_not_trusted():
    """However much it weighs beside others."""
    kinds, gains = np.array([0, 1]), np.random.default_rng(0).normal(0.05, 0.3, 1000)
    gains[0] = 0.3

    def measured(weights):
        return 0.5 + (weights[0] - 0.5) * gains

    for others in (0.0, 0.001):
        weights = np.r_[1.0, np.full(999, others)]
        assert shrunk_weights(kinds, measured, weights)[0] < 0.75
    assert shrunk_weights(kinds, measured)[0] > 0.9


def test_lifted_members_see_scaled_features(train, valid):
    member = rl.learners.Lifted(rl.RankSVM(), "nystrom(rbf(1),20)")
    blend = rl.Blend([member], seeds=1).fit(train)
    scaler = rl.data.QueryMinMax()
    alone = rl.learners.Lifted(rl.RankSVM(), "nystrom(rbf(1),20)").fit(scaler.transform(train))
    expected = standardised(alone.predict(scaler.transform(valid)), valid.offsets)
    assert np.allclose(blend.predict(valid), expected)


def test_seeds_of_one_member_weigh_the_same():
    blend = rl.Blend([Told(), rl.XENDCGBoost(trees=2)], seeds=3)
    blend.fit(told(20, 30.0, 1), valid=told(500, 30.0, 2))
    first, *seeds = blend.weights_
    assert len(set(seeds)) == 1
    assert first != 0.5


def test_saving_and_going_on(train, valid, tmp_path):
    blend = rl.Blend(SMALL, seeds=2).fit(train, valid=valid)
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
    with pytest.raises(DataError, match="at least one learner"):
        rl.Blend([]).fit(train)
    with pytest.raises(DataError, match="of the kind Ranker; found 'slam'"):
        rl.Blend(["slam"]).fit(train)
    with pytest.raises(DataError, match="seeds must be"):
        rl.Blend(SMALL, seeds=0).fit(train)
    with pytest.raises(DataError, match="trees must be"):
        rl.Blend([rl.LambdaMART(trees=0)]).fit(train)
