from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.rankers.online.solar_i import SolarI
from rankloop.rankers.online.solar_ii import SolarII
from rankloop.theory.adversary import play
from rankloop.theory.bounds import (
    pair_constant,
    ranking_constant,
    solar_i_bound,
    solar_i_measure_bound,
    solar_ii_bound,
    solar_ii_measure_bound,
    update_bound,
)
from rankloop.theory.margin import separating_weights
from rankloop.theory.solar import hinge_squares, pair_radius, squares, theorem_3_as_printed
from rankloop.theory.surrogates import measure_losses

from . import twins

MEASURES = ["nDCG", "nDCG@3", "AP"]
SMALL = {"n": 15, "m": 6, "d": 4}


def datasets():
    for seed in range(3):
        yield twins.simulated(seed, **SMALL)
        yield twins.noisy(seed, **SMALL)


def comparisons(data):
    rng = np.random.default_rng(0)
    learnt = SolarI(C=0.1).fit(data).weights_
    for w in (learnt / np.linalg.norm(learnt), rng.normal(size=data.n_features)):
        for length in (0.0, 0.1, 1.0):
            yield length * w


@pytest.mark.slow
@pytest.mark.parametrize("C", [1e-5, 0.1, 10.0])
def test_theorem_1(C):
    for data in datasets():
        total = np.square(twins.solar(data, "nDCG", C=C).losses).sum()
        for u in comparisons(data):
            assert 0 < total <= solar_i_bound(data, u, C).value


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.1, 1.0, 1e4])
def test_theorem_3_repaired(gamma):
    for data in datasets():
        run = twins.solar(data, "nDCG", gamma=gamma)
        losses = np.array([loss for loss in run.losses if loss > 0])
        deltas, chi = np.array(run.deltas), np.array(run.chi)
        # the identity behind it: the ranker's losses are the least squares problem's minimum
        v = np.linalg.solve(
            np.eye(data.n_features) + deltas.T @ deltas / gamma, deltas.sum(0) / gamma
        )
        minimum = v @ v + np.square(1 - deltas @ v).sum() / gamma
        assert (losses**2 / (chi + gamma)).sum() == pytest.approx(minimum)
        assert chi.max() <= pair_radius(data) ** 2 * (1 + 1e-9)
        for u in (v, *comparisons(data)):
            bound = solar_ii_bound(data, u, gamma)
            assert (losses**2).sum() <= bound.value
            hinges = np.maximum(0, 1 - deltas @ (2 * u)).sum() / gamma
            length = (4 * u @ u + np.square(2 * deltas @ u).sum() / gamma) / 4
            assert (losses**2).sum() <= (pair_radius(data) ** 2 + gamma) * (hinges + length)
            if u.any():
                assert len(deltas) <= update_bound(deltas, u, gamma, run.aggressive) + 1e-9


def test_the_bounds_on_pairs_are_reached():
    """Pairs at right angles: every loss is 1, and the best u leaves nothing to spare."""
    data = play(SolarI(), 0.5, 16, 2).data
    w = separating_weights(data) / 1.0
    for slack in (0.5, 20.0):
        u = w * (4 / (4 + slack))
        one = twins.solar(data, "nDCG", C=1 / (2 * slack))
        assert np.square(one.losses).sum() == 16
        assert solar_i_bound(data, u, 1 / (2 * slack)).value == pytest.approx(16, rel=1e-5)
        assert solar_ii_bound(data, u, slack).value == pytest.approx(16, rel=1e-5)


def test_theorem_3_as_printed_is_false():
    data = QueryDataset.from_arrays([[1.0], [0.0]], [1, 0], group=[2])
    run = twins.solar(data, "nDCG", gamma=0.1)
    total, u = np.square(run.losses).sum(), [1e-3]
    assert total == 1.0
    assert theorem_3_as_printed(run.deltas, run.chi, run.aggressive, u, 0.1) < 0
    assert total <= solar_ii_bound(data, u, 0.1).value


def test_theorem_2_as_printed_is_false():
    """Ten relevant documents under 200 others, one step apart: one pair mends them all."""
    X = np.r_[np.zeros((200, 1)), np.ones((10, 1))]
    data = QueryDataset.from_arrays(X, np.r_[np.zeros(200), np.ones(10)], group=[210])
    C, u = 10.0, [1.0]
    loss = measure_losses(data, SolarI(C=C).predict_then_learn(data), "nDCG").sum()
    printed = pair_constant(data.y) * solar_i_bound(data, u, C).value
    assert printed == pytest.approx(0.23, abs=0.005)
    assert loss == pytest.approx(0.71, abs=0.01)
    assert loss <= solar_i_measure_bound(data, u, C).value


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("slack", [0.1, 1.0, 5e4])
def test_losses_of_changing_weights_bound_the_measure(measure, slack):
    """The link that replaces Lemma 4.1, query by query."""
    for data in datasets():
        radius = pair_radius(data)
        for run in (
            twins.solar(data, measure, C=1 / (2 * slack)),
            twins.solar(data, measure, gamma=slack),
        ):
            assert any(run.measured)
            for query, loss, total in zip(data, run.measured, run.by_query, strict=True):
                constant = ranking_constant(query.y, measure, radius, slack)
                assert loss <= constant * total + 1e-12


def test_small_steps_need_no_more_than_kappa():
    y = np.array([2.0, 1.0, 1.0, 0.0])
    assert ranking_constant(y, "nDCG", 1.0, 1e9) == pytest.approx(pair_constant(y), rel=1e-6)
    assert ranking_constant(y, "nDCG", 1.0, 0.1) > pair_constant(y)
    assert ranking_constant([0, 0], "nDCG", 1.0, 1.0) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_theorems_2_and_4_repaired(measure):
    for data in datasets():
        one, two = SolarI(C=0.1), SolarII(gamma=2.0)
        first = measure_losses(data, one.predict_then_learn(data), measure).sum()
        second = measure_losses(data, two.predict_then_learn(data), measure).sum()
        for u in comparisons(data):
            assert 0 < first <= solar_i_measure_bound(data, u, 0.1, measure).value
            assert 0 < second <= solar_ii_measure_bound(data, u, 2.0, measure).value


def test_the_rankers_are_those_of_the_theorems():
    for data in datasets():
        for ranker, twin in (
            (SolarI(C=0.1), twins.solar(data, "nDCG", C=0.1)),
            (SolarII(gamma=2.0), twins.solar(data, "nDCG", gamma=2.0)),
        ):
            losses = measure_losses(data, ranker.predict_then_learn(data), "nDCG")
            assert losses == pytest.approx(twin.measured, abs=1e-6)


def test_sums_over_pairs():
    data = twins.noisy(1, **SMALL)
    y = data.y.copy()
    y[::7] = -1
    data = replace(data, y=y)
    u = np.arange(1.0, 5.0) / 4
    gaps = [[(q.X[i] - q.X[j].astype(float)) @ u for i, j in twins.pairs(q.y)] for q in data]
    far = [np.linalg.norm(q.X[i] - q.X[j].astype(float)) for q in data for i, j in twins.pairs(q.y)]
    assert squares(data, u) == pytest.approx([sum((1 - g) ** 2 for g in gs) for gs in gaps])
    expected = [sum(max(0, 1 - g) ** 2 for g in gs) for gs in gaps]
    assert hinge_squares(data, u) == pytest.approx(expected)
    assert pair_radius(data) == pytest.approx(max(far))


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
def test_parameters_must_be_above_0(value):
    data = twins.simulated(0, **SMALL)
    with pytest.raises(DataError, match="C must"):
        solar_i_bound(data, np.ones(4), value)
    with pytest.raises(DataError, match="gamma must"):
        solar_ii_measure_bound(data, np.ones(4), value)
