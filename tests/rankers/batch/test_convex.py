"""The smooth batch rankers: their optimum by other solvers, weights as counts, paths, stops."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import scipy.optimize
from sklearn.svm import LinearSVC

import rankloop as rl
from rankloop.exceptions import DataError, MeasureError, NotFittedError
from rankloop.losses import ListNetLoss, PairwiseHinge, PairwiseLogistic, XENDCGLoss
from rankloop.rankers.batch import preconditioner
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.batch.loss_sum import PartLoss
from rankloop.rankers.batch.solver import Ridge, minimise
from rankloop.rankers.search import grid

from .convex_data import noisy

CASES = [
    (rl.RankSVM(C=0.003), PairwiseHinge(squared=True)),
    (rl.RankSVM(C=3.0), PairwiseHinge(squared=True)),
    (rl.rankers.RankNet(C=0.02), PairwiseLogistic()),
    (rl.ListNet(C=0.5), ListNetLoss()),
    (rl.XENDCG(C=2.0), XENDCGLoss()),
    (rl.XENDCG(C=0.5, gamma=0.3), XENDCGLoss(gamma=0.3)),
]
RANKERS = [ranker for ranker, _ in CASES]
ALL = [*RANKERS, rl.rankers.RankNet(C=0.02, hidden=3, rounds=30)]
each_case = pytest.mark.parametrize(("ranker", "loss"), CASES, ids=lambda case: repr(case))
each = pytest.mark.parametrize("ranker", RANKERS, ids=repr)
every = pytest.mark.parametrize("ranker", ALL, ids=repr)


def fitted(ranker, data, **options):
    return copy.deepcopy(ranker).fit(data, **options)


def objective(loss, C, data, w):
    """By the loss of one query; those of one grade teach nothing."""
    value = 0.0
    for query in data:
        judged = query.y[query.y >= 0]
        if len(judged) and np.ptp(judged) > 0:
            value += loss.value(query.X.astype(float) @ w, query.y)
    return w @ w / 2 + C * value


@pytest.mark.slow
@each_case
def test_the_optimum_is_that_of_another_solver(ranker, loss):
    data = noisy()
    seen = []
    model = fitted(ranker, data, on_round=seen.append)
    other = scipy.optimize.minimize(
        lambda w: objective(loss, ranker.C, data, w),
        np.zeros(data.n_features),
        method="BFGS",
        options={"gtol": 1e-6},
    )
    reached = objective(loss, ranker.C, data, model.weights_)
    assert reached == pytest.approx(seen[-1].objective, rel=1e-12)
    assert reached == pytest.approx(other.fun, rel=1e-7)
    assert reached <= other.fun * (1 + 1e-9)
    assert np.allclose(model.weights_, other.x, rtol=1e-2, atol=1e-4)


def differences(data):
    pairs = []
    for query in data:
        better = (query.y[:, None] > query.y[None, :]) & (query.y >= 0)[None, :]
        i, j = np.nonzero(better)
        pairs.append(query.X[i].astype(float) - query.X[j])
    return np.vstack(pairs)


def svm_objective(C, delta, w):
    return w @ w / 2 + C * (np.maximum(0, 1 - delta @ w) ** 2).sum()


def compare_with_linear_svc(data, C, rel=1e-6):
    delta = differences(data)
    sign = np.where(np.arange(len(delta)) % 2, 1.0, -1.0)  # it wants two classes
    svc = LinearSVC(loss="squared_hinge", dual=False, fit_intercept=False, C=C, tol=1e-8)
    svc.set_params(max_iter=10_000).fit(delta * sign[:, None], sign)
    theirs = svm_objective(C, delta, svc.coef_[0])
    ours = svm_objective(C, delta, rl.RankSVM(C=C).fit(data).weights_)
    assert ours == pytest.approx(theirs, rel=rel)


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
def test_ranksvm_is_a_linear_svm_on_pairs(C):
    compare_with_linear_svc(noisy(), C)


@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_ranksvm_is_a_linear_svm_on_pairs_of_real_data(C, data_dir):
    data = rl.data.letor_folds(data_dir / "MQ2008")[0].read()[2]
    compare_with_linear_svc(data, C, rel=1e-4)


@every
def test_rounds_go_down(ranker):
    seen = []
    model = fitted(ranker, noisy(), on_round=seen.append)
    values = [r.objective for r in seen]
    assert values == sorted(values, reverse=True)
    assert [r.number for r in seen] == list(range(1, model.rounds_ + 1))
    assert all(r.valid is None and r.best for r in seen)


@each
def test_a_path_ends_where_cold_starts_end(ranker):
    data = noisy()
    settings = [{"C": C} for C in (1e-3, 1e-2, 1e-1, 1.0)]
    rounds = 0
    for setting, warm in zip(settings, ranker.fit_path(data, settings), strict=True):
        cold = fitted(copy.deepcopy(ranker).set_params(**setting), data)
        assert warm.get_params() == cold.get_params()
        assert np.allclose(warm.weights_, cold.weights_, rtol=1e-4, atol=1e-6)
        rounds += cold.rounds_
    assert warm.rounds_ <= rounds
    assert not ranker.is_fitted


@each
def test_the_start_does_not_matter(ranker):
    """Far away, Newton's model is wrong: only the trust region leads home."""
    data = noisy()
    home = fitted(ranker, data).weights_
    for seed in range(5):
        far = copy.deepcopy(ranker).set_params(warm_start=True)
        far._reset(data.n_features)
        far.weights_ = 100 * np.random.default_rng(seed).normal(size=data.n_features)
        assert np.allclose(far.fit(data).weights_, home, rtol=1e-4, atol=1e-5)


class Watched(Ridge):
    """Knows whether products are taken where the solver stands: at the lowest point so far."""

    refused = 0

    def at(self, w):
        point = super().at(w)
        self.last = point.objective
        self.lowest = min(getattr(self, "lowest", np.inf), self.last)
        self.refused += self.last > self.lowest
        return point

    def return_to(self, point):
        super().return_to(point)
        self.last = point.objective

    def product(self, v):
        assert self.last == self.lowest
        return super().product(v)


@each_case
def test_a_step_up_is_not_taken(ranker, loss):
    data, refused = noisy(unjudged=0), 0
    for seed in range(5):
        far = 100 * np.random.default_rng(seed).normal(size=data.n_features)
        problem = Watched(PartLoss(data, loss), ranker.C)
        values = [problem.at(far).objective]
        values += [point.objective for point in minimise(problem, far, 1e-8)]
        assert values == sorted(values, reverse=True)
        refused += problem.refused
    assert refused or isinstance(loss, PairwiseHinge)


@each
def test_warm_start_at_the_optimum_stays_there(ranker):
    data = noisy()
    model = fitted(ranker, data)
    again = copy.deepcopy(model).set_params(warm_start=True).fit(data)
    assert again.rounds_ <= model.rounds_ + 2
    assert np.allclose(again.weights_, model.weights_, rtol=1e-4, atol=1e-5)


@each
def test_many_features_take_the_diagonal(ranker, monkeypatch):
    data = noisy()
    model = fitted(ranker, data)
    monkeypatch.setattr(preconditioner, "_WIDEST", 1)
    assert np.allclose(fitted(ranker, data).weights_, model.weights_, rtol=1e-3, atol=1e-4)


def repeated(data):
    """The data set in which documents and queries stand as often as their weights say."""
    X, y, sizes = [], [], []
    for query in data:
        copies = np.repeat(np.arange(len(query.y)), query.sample_weight.astype(int))
        for _ in range(int(query.weight)):
            X.append(query.X[copies])
            y.append(query.y[copies])
            sizes.append(len(copies))
    return rl.QueryDataset.from_arrays(np.vstack(X), np.concatenate(y), group=sizes)


@every
def test_weights_are_counts(ranker):
    data = noisy(weights=True)
    weighted, plain = fitted(ranker, data), fitted(ranker, repeated(data))
    assert np.allclose(weighted.predict(data), plain.predict(data), rtol=1e-4, atol=1e-4)
    without = dataclasses.replace(data, sample_weight=None, query_weight=None)
    other = fitted(ranker, without).predict(data)
    assert not np.allclose(weighted.predict(data), other, rtol=1e-2, atol=1e-2)


@every
def test_what_teaches_nothing_changes_nothing(ranker):
    data = noisy(unjudged=0)
    rng = np.random.default_rng(5)
    more = rl.QueryDataset.from_arrays(
        rng.normal(size=(60, data.n_features)),
        np.r_[-np.ones(20), np.ones(20), rng.integers(0, 3, 20)],
        qid=np.r_[np.arange(20) + data.query_ids[0], np.full(20, 1000), np.full(20, 1001)],
    )
    weights = np.r_[np.ones(len(data)), 1, 0]
    whole = rl.data.concat([data, more])
    assert len(whole) == len(weights)
    whole = dataclasses.replace(whole, query_weight=weights)
    model, other = fitted(ranker, data), fitted(ranker, whole)
    assert np.array_equal(model.predict(data), other.predict(data))
    assert other.n_queries_seen_ == len(data) + 2


@every
def test_nothing_to_learn(ranker):
    assert copy.deepcopy(ranker).fit(np.zeros((3, 2)), [0, 1, 2], group=[3]).predict([[0, 0]]) == [
        0
    ]


class StopError(Exception):
    pass


@every
@pytest.mark.parametrize("error", [KeyboardInterrupt, StopError])
def test_an_interrupt_leaves_a_usable_model(ranker, error):
    data, model = noisy(), copy.deepcopy(ranker)

    def interrupt(reached):
        if reached.number == 2:
            raise error

    with pytest.raises(error):
        model.fit(data, on_round=interrupt)
    assert model.rounds_ == 2
    scores = model.predict(data)
    assert np.isfinite(scores).all()
    model.set_params(warm_start=True).fit(data)
    assert model.rounds_ > 2
    if not getattr(model, "hidden", 0):
        whole = fitted(ranker, data)
        assert np.allclose(model.weights_, whole.weights_, rtol=1e-4, atol=1e-5)
    assert rl.evaluate(data, model.predict(data), "nDCG@10")["nDCG@10"] > 0.8


@every
def test_early_stopping_keeps_the_best_round(ranker):
    """On validation data of another target, more learning is worse."""
    train, valid = noisy(), noisy(seed=3)
    valid = dataclasses.replace(valid, y=np.where(valid.y < 0, -1, 3 - valid.y))
    seen = []
    model = fitted(
        copy.deepcopy(ranker).set_params(patience=2), train, valid=valid, on_round=seen.append
    )
    best = max(seen, key=lambda r: (r.valid, -r.number))
    assert model.rounds_ == best.number
    assert len(seen) <= best.number + 2
    shuffled = valid.shuffle(np.random.default_rng(0))
    assert rl.evaluate(shuffled, model.predict(shuffled))["nDCG@10"] == best.valid
    again = []
    fitted(ranker, train, on_round=again.append)
    assert again[best.number - 1].objective == best.objective


@every
def test_patience_none_goes_to_the_end(ranker):
    train, valid = noisy(), noisy(seed=3)
    seen = []
    model = fitted(ranker, train, valid=valid, on_round=seen.append)
    assert model.rounds_ == len(seen)
    assert np.array_equal(model.predict(train), fitted(ranker, train).predict(train))


@each
def test_explain_names_features(ranker):
    data = noisy()
    parts = fitted(ranker, data).explain()
    weights = {part["feature"]: part["weight"] for part in parts}
    assert set(weights) == set("abcde")
    sizes = [abs(part["weight"]) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert weights["a"] > 0 > weights["b"]
    unnamed = fitted(ranker, dataclasses.replace(data, feature_names=None))
    assert {part["feature"] for part in unnamed.explain()} == set("12345")
    with pytest.raises(NotFittedError):
        copy.deepcopy(ranker).explain()


@every
def test_search_spaces_are_parameters(ranker):
    settings = list(grid(ranker.search_space))
    assert len(settings) > 5
    for setting in settings[:: len(settings) - 1]:
        fitted(copy.deepcopy(ranker).set_params(**setting), noisy(10))


def test_tolerance_is_a_share_of_the_objective():
    """At a loose tolerance the objective is as close as was promised, within a factor."""
    data = noisy(200, sizes=range(5, 40))
    for loss in (PairwiseHinge(squared=True), XENDCGLoss()):
        best = list(minimise(Ridge(PartLoss(data, loss), 0.1), np.zeros(5), 1e-13))[-1].objective
        for tolerance in (1e-2, 1e-4, 1e-6):
            found = list(minimise(Ridge(PartLoss(data, loss), 0.1), np.zeros(5), tolerance))[-1]
            assert best * (1 - 1e-12) <= found.objective <= best * (1 + 2 * tolerance)


def test_queries_weigh_by_their_gains():
    """A power is a weight of each query, and documents of weight 2 count as two."""
    data = keep_usable(noisy())
    gains = np.add.reduceat(np.exp2(data.y) - 1, data.offsets[:-1])
    model = rl.XENDCG(C=0.3, power=0.5).fit(data)
    told = rl.XENDCG(C=0.3).fit(dataclasses.replace(data, query_weight=gains**0.5))
    assert np.array_equal(model.weights_, told.weights_)
    assert not np.allclose(model.weights_, rl.XENDCG(C=0.3).fit(data).weights_, atol=1e-3)
    heavy = dataclasses.replace(data, sample_weight=np.full(data.n_documents, 2.0))
    rows = np.repeat(np.arange(data.n_documents), 2)
    copies = rl.QueryDataset(data.X[rows], data.y[rows], 2 * data.offsets, data.query_ids)
    weights = [rl.XENDCG(power=0.5, tolerance=1e-12).fit(d).weights_ for d in (heavy, copies)]
    assert np.allclose(*weights, atol=1e-6)


def test_grades_whose_gains_overflow():
    data = dataclasses.replace(noisy(), y=noisy().y * 200)
    with pytest.raises(DataError, match=r"found 1 x [46]00"):
        rl.XENDCG(power=1).fit(data)


BAD = [
    (rl.RankSVM(C=0), "C must be a number above 0; found 0"),
    (rl.ListNet(C=float("inf")), "C must be a number above 0; found inf"),
    (rl.ListNet(tolerance=0), "tolerance must be a number above 0 to 1; found 0"),
    (rl.XENDCG(gamma=2), "gamma must be a number from 0 to 1; found 2"),
    (rl.XENDCG(power=-1), "power must be a number from 0; found -1"),
    (rl.rankers.RankNet(hidden=-1), "hidden must be a whole number of at least 0; found -1"),
    (rl.rankers.RankNet(rounds=0), "rounds must be a whole number of at least 1; found 0"),
    (rl.rankers.RankNet(random_state=None), "random_state must be a whole number"),
    (rl.RankSVM(patience=0), "patience must be a whole number of at least 1; found 0"),
]


@pytest.mark.parametrize(("ranker", "says"), BAD, ids=lambda case: repr(case))
def test_bad_parameters(ranker, says):
    with pytest.raises(DataError, match=says):
        ranker.fit(noisy())
    assert not ranker.is_fitted


def test_a_bad_metric():
    with pytest.raises(MeasureError):
        rl.RankSVM(valid_measure="nonsense").fit(noisy())


@each
def test_real_data_is_learnt(ranker, data_dir):
    train, _, test = rl.data.letor_folds(data_dir / "OHSUMED")[0].read()
    test = test.shuffle(np.random.default_rng(0))
    model = type(ranker)().fit(train)
    assert rl.evaluate(test, model.predict(test), convention="letor3")["nDCG@10"] > 0.3
