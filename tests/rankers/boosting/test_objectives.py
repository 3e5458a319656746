"""What trees are grown on, against the formulas by matrices and the losses of one query."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

import rankloop as rl
from rankloop import _core, checks
from rankloop.exceptions import DataError
from rankloop.losses import ListNetLoss, XENDCGLoss
from rankloop.losses.registry import find_loss
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.boosting.objectives import (
    Shape,
    SoftmaxObjective,
    WholeObjective,
    ranks_and_gains,
)

from .twins import NativeRandom, cross_entropy, newton, xendcg_target

SMOOTH = {name: find_loss(name) for name in ("squared-hinge", "logistic", "listnet", "xendcg")}


def queries(data):
    return [slice(*data.offsets[q : q + 2]) for q in range(len(data))]


def at(objective, scores, tree=0):
    value = objective.at(scores, tree)
    return value, objective.gradient.astype(float), objective.hessian.astype(float)


@pytest.fixture
def scores(train):
    return np.random.default_rng(3).normal(size=train.n_documents)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_a_number_as_gamma(noisy, gamma):
    data = keep_usable(noisy(30, seed=4))
    s = np.random.default_rng(0).normal(size=data.n_documents)
    value, gradient, hessian = at(SoftmaxObjective(Shape.of(data), True, gamma=gamma), s)
    costs = [XENDCGLoss(gamma).value(s[q], data.y[q]) for q in queries(data)]
    assert np.isclose(value, np.mean(costs))
    for q in queries(data):
        g, h = newton(s[q], xendcg_target(data.y[q], gamma))
        assert np.allclose(gradient[q], g, atol=1e-6)
        assert np.allclose(hessian[q], h, atol=1e-6)


def test_listnet(train, scores):
    value, gradient, hessian = at(SoftmaxObjective(Shape.of(train), False), scores)
    costs = [ListNetLoss().value(scores[q], train.y[q]) for q in queries(train)]
    assert np.isclose(value, np.mean(costs))
    for q in queries(train):
        g, h = newton(scores[q], np.exp(train.y[q]) / np.exp(train.y[q]).sum())
        assert np.allclose(gradient[q], g, atol=1e-6)
        assert np.allclose(hessian[q], h, atol=1e-6)


def test_random_gammas_are_lightgbms_draws(train, scores):
    """Tree after tree, each query from its own generator."""
    objective = SoftmaxObjective(Shape.of(train), True, "random", seed=11)
    generators = [NativeRandom(11 + q) for q in range(len(train))]
    for tree in range(3):
        value, gradient, _ = at(objective, scores, tree)
        for generator, q in zip(generators, queries(train), strict=True):
            gamma = np.array([generator.next_float() for _ in range(q.stop - q.start)], float)
            g, _ = newton(scores[q], xendcg_target(train.y[q], gamma))
            assert np.allclose(gradient[q], g, atol=1e-6)
    means = [XENDCGLoss(0.5).value(scores[q], train.y[q]) for q in queries(train)]
    assert np.isclose(value, np.mean(means))


def test_tight_gammas_give_the_least_value(train, scores):
    """Against every corner of [0, 1]^m for short queries: the least of a ratio is at a corner."""
    data = keep_usable(train.select(train.sizes <= 8))
    s = np.random.default_rng(3).normal(size=data.n_documents)
    value, gradient, _ = at(SoftmaxObjective(Shape.of(data), True, "tight"), s)
    costs = []
    for q in queries(data):
        m = q.stop - q.start
        corners = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
        targets = [xendcg_target(data.y[q], c) for c in corners if (2.0 ** data.y[q] - c).any()]
        best = min(targets, key=lambda phi: cross_entropy(s[q], phi))
        costs.append(cross_entropy(s[q], best))
        g, _ = newton(s[q], best)
        assert np.allclose(gradient[q], g, atol=1e-6)
    assert np.isclose(value, np.mean(costs))


def test_tight_gammas_are_never_looser(train, scores):
    shape = Shape.of(train)
    tight = SoftmaxObjective(shape, True, "tight").at(scores, 0)
    for gamma in (0.0, 0.5, 1.0):
        assert tight <= SoftmaxObjective(shape, True, gamma=gamma).at(scores, 0) + 1e-12


@pytest.mark.parametrize("kind", ["number", "tight"])
@pytest.mark.parametrize("gains", [True, False])
def test_weights_are_counts(noisy, kind, gains):
    data = noisy(20, seed=5, sample_weight=True, query_weight=True)
    s = np.random.default_rng(1).normal(size=data.n_documents)
    value, gradient, hessian = at(SoftmaxObjective(Shape.of(data), gains, kind), s)
    total, place = 0.0, 0
    for q, rows in enumerate(queries(data)):
        count = data.sample_weight[rows].astype(int)
        copies = np.repeat(np.arange(rows.start, rows.stop), count)
        offsets = np.array([0, len(copies)])
        alone = rl.QueryDataset(data.X[copies], data.y[copies], offsets, np.zeros(1))
        one, g, h = at(SoftmaxObjective(Shape.of(alone), gains, kind), s[copies])
        starts = np.r_[0, np.cumsum(count)[:-1]]
        weight = data.query_weight[q]
        assert np.allclose(gradient[rows], weight * np.add.reduceat(g, starts), atol=1e-5)
        assert np.allclose(hessian[rows], weight * np.add.reduceat(h, starts), atol=1e-5)
        total, place = total + weight * one, rows.stop
    assert place == data.n_documents
    assert np.isclose(value, total / len(data))


@pytest.mark.parametrize("kind", ["number", "random", "tight"])
def test_any_number_of_threads(noisy, kind, monkeypatch):
    data = noisy(3000, seed=6)
    s = np.random.default_rng(1).normal(size=data.n_documents)
    found = []
    for n in (1, 2, 5):
        monkeypatch.setattr("rankloop.rankers.boosting.objectives.threads", lambda n=n: n)
        found.append(at(SoftmaxObjective(Shape.of(data), True, kind), s, 3))
    for value, gradient, hessian in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(gradient, found[0][1])
        assert np.array_equal(hessian, found[0][2])


@pytest.mark.parametrize("kind", ["number", "random", "tight"])
def test_extremes_stay_finite(kind):
    y = np.array([5000.0, 0.0, 4999.5, 3.0, 1.0, 1.0])
    shape = Shape(y, np.array([0, 4, 5, 6, 6]), None, None)
    for s in (np.zeros(6), np.array([1e4, -1e4, 0, 0, 1, 1]), np.array([-1e4, 1e4, 0, 0, 1, 1])):
        value, gradient, hessian = at(SoftmaxObjective(shape, True, kind), s)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert not gradient[4:].any()


def test_the_core_refuses_wrong_sizes(train):
    places = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="one place a document"):
        _core.softmax_trees(
            train.y,
            train.y,
            train.offsets,
            None,
            None,
            gains=True,
            gamma_kind=0,
            gamma=1.0,
            seed=0,
            draw=0,
            terms=2,
            gradient=places,
            hessian=places,
            threads=1,
        )


@pytest.mark.parametrize("name", SMOOTH)
def test_compiled_losses(name, train, scores):
    value, gradient, hessian = at(WholeObjective(SMOOTH[name], train), scores)
    assert np.isclose(
        value, np.mean([SMOOTH[name].value(scores[q], train.y[q]) for q in queries(train)])
    )
    for q in queries(train):
        assert np.allclose(gradient[q], SMOOTH[name].gradient(scores[q], train.y[q]), atol=1e-4)
    q, step = queries(train)[3], 1e-5
    for i in range(q.start, q.stop):
        aside = step * (np.arange(train.n_documents) == i)
        rise = SMOOTH[name].gradient((scores + aside)[q], train.y[q])
        fall = SMOOTH[name].gradient((scores - aside)[q], train.y[q])
        assert np.isclose(hessian[i], (rise - fall)[i - q.start] / (2 * step), atol=1e-3)


def test_every_smooth_convex_loss_has_a_name():
    """Fidelity is smooth but has no curvature to step by; FRank minimises it."""
    losses = [s for s in checks.discover() if isinstance(s, checks.Loss)]
    found = {type(loss) for loss in losses if loss.smooth and loss.convex}
    assert found <= {type(loss) for loss in SMOOTH.values()}


def test_ranks_and_gains():
    y = np.array([40.0, 0.5, 0.0, 40.0])
    ranks, gains = ranks_and_gains(y, lambda grades: grades)
    assert ranks.tolist() == [2, 1, 0, 2]
    assert gains.tolist() == [0, 0.5 / 40, 1]
    many = np.linspace(0, 1, 5000)
    ranks, gains = ranks_and_gains(many, lambda grades: grades)
    assert len(gains) == 1001
    assert np.abs(gains[ranks] - many).max() <= 0.0005 + 1e-12
    for bad in (lambda g: -g, lambda g: g + np.inf, lambda g: 1 / (1 + g)):
        with pytest.raises(DataError, match="gains must be finite"):
            ranks_and_gains(y, bad)


def native(data, trees, seed, **more):
    params = {
        "objective": "rank_xendcg",
        "num_leaves": 6,
        "min_data_in_leaf": 5,
        "learning_rate": 0.1,
        "objective_seed": seed,
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
        **more,
    }
    lgb_data = lightgbm.Dataset(data.X, label=data.y, group=data.sizes)
    return lightgbm.train(params, lgb_data, trees)


def test_native_and_our_own_gradients_grow_the_same_trees(train, monkeypatch):
    data = keep_usable(train)
    options = {"trees": 15, "leaves": 6, "min_data_in_leaf": 5, "rate": 0.1, "random_state": 7}
    by_lightgbm = native(data, 15, 7).predict(data.X, raw_score=True)
    ours = rl.XENDCGBoost(**options).fit(data)
    assert np.allclose(ours.predict(data), by_lightgbm, atol=1e-9)
    monkeypatch.setattr("rankloop.rankers.boosting.xendcg._LARGEST_NATIVE", -1)
    own = rl.XENDCGBoost(**options).fit(data)
    assert "objective=rank_xendcg" in ours.booster_
    assert "objective=rank_xendcg" not in own.booster_
    assert np.allclose(own.predict(data), by_lightgbm, atol=1e-5)
