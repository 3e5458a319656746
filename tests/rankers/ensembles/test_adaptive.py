"""Rankers that follow changes: who is in them, what they weigh, and what they notice."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers import Adaptive
from rankloop.rankers.ensembles import histories
from rankloop.rankers.ensembles.noticing import Memory


def stream(n=90, seed=0, turned=None):
    """Queries with a hidden linear taste, which is reversed from query `turned` on."""
    data = separable(n, np.random.default_rng(seed), n_documents=10, n_features=5).data
    if turned is None:
        return data
    X = data.X.copy()
    X[data.offsets[turned] :] *= -1
    return rl.QueryDataset(X, data.y, data.offsets, data.query_ids)


def ndcg(data, scores, first, end):
    values = rl.evaluate(data, scores, "nDCG@10").results[0].values
    return np.nanmean(values[first:end])


def standardised(scores):
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread > 0 else 0 * scores


def relative_loss(scores, y):
    target = (2.0**y - 1) / (2.0**y - 1).sum()
    rho = np.exp(scores - scores.max())
    rho /= rho.sum()
    some = target > 0
    divergence = (target[some] * np.log(target[some] / rho[some])).sum()
    return np.sqrt((2.0**y - 1).sum()) * divergence


def test_a_plain_twin_ranks_and_weighs_the_same():
    data = stream(70, turned=45)
    ranker = Adaptive(rl.NewtonXENDCG())
    scores = ranker.predict_then_learn(data)
    experts = [[rl.NewtonXENDCG(), 0, keep] for keep in (1.0, 0.99, 0.96)]
    weights = np.array([0.9025, 0.0475, 0.05])
    for t, query in enumerate(data):
        if t and t % 20 == 0:
            experts.append([rl.NewtonXENDCG(), t, 1.0])
            weights = np.append(0.995 * weights, 0.005)
        seen = [e[0].predict(query) if e[0].is_fitted else np.zeros(len(query.y)) for e in experts]
        expected = sum(
            w * standardised(s.astype(float)) for w, s in zip(weights, seen, strict=True)
        )
        own = scores[data.offsets[t] : data.offsets[t + 1]]
        assert own == pytest.approx(expected, abs=1e-5)
        weights = weights * np.exp([-relative_loss(s.astype(float), query.y) for s in seen])
        weights = 0.999 * weights / weights.sum() + 0.001 / len(weights)
        for expert, _, keep in experts:
            if keep < 1 and t and t % 5 == 0:
                expert.discount_past(keep**5)
            expert.learn(query.X, query.y)
    assert ranker.experts_["weights"] == pytest.approx(weights, rel=1e-6)
    assert ranker.experts_["births"].tolist() == [0, 0, 0, 20, 40, 60]
    for member, (expert, *_) in zip(ranker.members_, experts, strict=True):
        assert member.weights_ == pytest.approx(expert.weights_)


@pytest.mark.parametrize("name", ["full", "low-rank", "diagonal"])
def test_what_is_forgotten_returns_to_the_prior(name):
    ranker = rl.NewtonXENDCG(prior=3.0, covariance=name, directions=2).partial_fit(stream(20))
    before, weights = ranker.precision_, ranker.weights_
    after = ranker.copy().discount_past(0.3).precision_
    prior = 3.0 * (np.ones(5) if name == "diagonal" else np.eye(5))
    assert after == pytest.approx(0.3 * before + 0.7 * prior)
    assert np.array_equal(ranker.copy().discount_past(0.3).weights_, weights)
    assert ranker.copy().discount_past(1e-12).precision_ == pytest.approx(prior, abs=1e-8)


def test_wide_precision_is_forgotten_by_the_same_formula():
    rng = np.random.default_rng(0)
    ranker = rl.NewtonXENDCG().learn(rng.normal(size=(40, 101)), np.arange(40) % 3)
    expected = 0.7 * ranker.precision_ + 0.3 * 10 * np.eye(101)
    assert ranker.discount_past(0.7).precision_ == pytest.approx(expected, abs=1e-9)


def test_the_first_expert_is_what_never_adapts():
    data = stream(70, turned=40)
    plain, auto = rl.Auto(adapt=False), rl.Auto()
    plain.partial_fit(data)
    auto.partial_fit(data)
    first = [member.digest() for member in auto.members_[:2]]
    assert first == [member.digest() for member in plain.members_]
    assert plain.mix_.tolist() == [0.5, 0.5]
    assert len(auto.members_) == 7


@pytest.mark.parametrize("make", [rl.Auto, lambda: Adaptive(rl.SolarII(gamma=10.0))])
def test_after_a_change_it_ranks_as_well_as_before(make):
    data = stream(400, turned=250)
    ranker = make()
    scores = ranker.predict_then_learn(data)
    before, after = ndcg(data, scores, 150, 250), ndcg(data, scores, 310, 400)
    assert after > before - 0.03
    (noticed,) = ranker.changes_
    assert 250 < noticed < 300
    assert ranker.memory_ < 180


def test_where_nothing_changes_nothing_is_lost_or_noticed():
    data = stream(300, seed=3)
    ranker, plain = rl.Auto(), rl.Auto(adapt=False)
    scores, those = ranker.predict_then_learn(data), plain.predict_then_learn(data)
    assert ndcg(data, scores, 0, 300) > ndcg(data, those, 0, 300) - 0.002
    assert ranker.changes_ == ()
    assert ranker.memory_ > 150
    assert ranker.moved_weights() == []


def test_what_moved_is_named():
    rng = np.random.default_rng(1)
    names = ("price", "stars", "age")
    ranker = rl.Auto()
    for n in range(300):
        X = rng.random((10, 3), np.float32)
        worth = X @ ((1, 1, 0) if n < 180 else (-1, 1, 0))
        y = np.argsort(np.argsort(worth)) // 4
        data = rl.QueryDataset.from_arrays(X, y.astype(float), group=[10], feature_names=names)
        ranker.partial_fit(data)
    moved = ranker.moved_weights()
    assert moved[0]["feature"] == "price"
    assert moved[0]["now"] < 0 < moved[0]["before"]


def test_a_shuffled_fit_trains_the_first_expert_alone():
    data = stream(50)
    ranker = rl.Auto(random_state=1).fit(data)
    plain = rl.Auto(adapt=False, random_state=1).fit(data)
    assert [m.digest() for m in ranker.members_] == [m.digest() for m in plain.members_]
    assert np.array_equal(ranker.predict(data), plain.predict(data))
    ranker.partial_fit(data)  # from here on, order counts
    assert ranker.experts_["births"].tolist() == [0, 60, 60, 60, 80, 100]


@pytest.mark.parametrize("parameters", [{"passes": 2}, {"random_state": 1}])
def test_a_wrapped_ranker_knows_that_a_fit_shuffles(parameters):
    data = stream(50)
    ranker = rl.rankers.Described(rl.Auto(**parameters)).fit(data)
    plain = rl.rankers.Described(rl.Auto(adapt=False, **parameters)).fit(data)
    assert len(ranker.ranker_.members_) == 2
    assert np.array_equal(ranker.predict(data), plain.predict(data))


def test_what_cannot_forget_has_no_copies_that_do():
    class Stubborn(rl.Slam):
        def _discount_past(self, keep):
            raise DataError("no")

    ranker = Adaptive(Stubborn()).partial_fit(stream(50))
    assert (ranker.experts_["keeps"] == 1).all()
    assert ranker.experts_["births"].tolist() == [0, 20, 40]


def test_a_ranker_that_fits_a_scaler_belongs_outside():
    with pytest.raises(DataError, match=r"put it outside, as in Prepared\(Adaptive"):
        Adaptive(rl.Prepared(rl.Slam(), scale="log")).fit(stream(5))
    assert rl.Prepared(Adaptive(rl.Slam()), scale="log").fit(stream(45)).is_fitted


def test_merging_keeps_what_all_have():
    data = stream(150)
    base = rl.Auto().partial_fit(data.select(slice(0, 50)))
    sides = [base.copy().partial_fit(data.select(slice(a, b))) for a, b in ((50, 100), (100, 150))]
    merged = sides[0].copy().merge([sides[1]], base)
    assert merged.experts_["births"].tolist() == [0, 20, 40]
    assert (merged.experts_["keeps"] == 1).all()
    plain = [side.members_[0].ranker_ for side in (*sides, base)]
    expected = plain[0].precision_ + plain[1].precision_ - plain[2].precision_
    assert merged.members_[0].ranker_.precision_ == pytest.approx(expected)
    merged.partial_fit(data)  # those that forget start anew
    assert (merged.experts_["keeps"] < 1).sum() == 2


def test_weights_of_documents_and_queries_count_in_the_losses():
    data = stream(30)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, data.n_documents).astype(float)
    weighted = rl.Auto().partial_fit(
        data.X, data.y, group=data.sizes, sample_weight=weights, query_weight=np.full(30, 2.0)
    )
    unjudged = rl.Auto().partial_fit(
        data.X,
        np.where(weights > 0, data.y, -1),
        group=data.sizes,
        sample_weight=np.where(weights > 0, weights, 1),
        query_weight=np.full(30, 2.0),
    )
    assert weighted.digest() == unjudged.digest()
    nothing = weighted.copy().partial_fit(
        data.X, data.y, group=data.sizes, query_weight=np.zeros(30)
    )
    first = nothing.experts_["weights"][:4]  # only new experts took their shares
    assert first / first.sum() == pytest.approx(
        weighted.experts_["weights"][:4] / weighted.experts_["weights"][:4].sum()
    )


def test_files_hold_all_and_damaged_ones_are_refused():
    ranker = rl.Auto().partial_fit(stream(50))
    again = rl.loads(ranker.dumps())
    more = stream(50, seed=5)
    assert again.partial_fit(more).digest() == ranker.partial_fit(more).digest()
    for name, value in (
        ("seats", np.zeros((1, 2), np.int64)),
        ("weights", np.zeros(len(ranker.experts_["weights"]))),
        ("keeps", np.ones(2)),
    ):
        state = ranker._state()
        state["experts_"][name] = value
        with pytest.raises(ModelError):
            rl.Auto()._restore(state)


def test_some_expert_is_about_as_old_as_any_change():
    births, worst = [0], 0.0
    for now in range(histories.EVERY, 10_000, histories.EVERY):
        births.append(now)
        if len(births) > 1 + histories.MOST:
            del births[histories.crowded(births, now)]
        ages = [max(now - birth, histories.EVERY) for birth in births]
        worst = max(worst, *(old / young for old, young in pairwise(ages)))
    assert len(births) == 1 + histories.MOST
    assert worst <= 12


def test_a_dip_is_no_change():
    seen = Memory(level=100.0)
    for query in range(19):
        seen = seen.after(20.0, query)
    seen = seen.after(80.0, 19)
    assert (seen.changes, seen.low) == ((), 0)
    for query in range(20, 40):
        seen = seen.after(20.0, query)
    assert seen.changes == (39,)
    assert seen.level == 20.0


def test_a_change_is_noticed_once_also_when_the_expert_that_ranks_stops():
    data = stream(800, turned=250)
    ranker = rl.Auto().partial_fit(data)
    (noticed,) = ranker.changes_
    assert 250 < noticed < 300
    assert not {240, 260, 280} & set(ranker.experts_["births"].tolist())


def test_experts_of_many_features_are_small():
    rng = np.random.default_rng(0)
    ranker = rl.Auto().learn(rng.random((3, 1200), np.float32), [0, 1, 2])
    kinds = [member.ranker_.covariance for member in ranker.members_]
    assert kinds == ["full", "full", "diagonal", "diagonal"]
