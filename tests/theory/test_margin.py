from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankloop.data.dataset import QueryDataset
from rankloop.data.simulate import mslr_like, separable
from rankloop.exceptions import DataError
from rankloop.theory.margin import best_margin, margin, max_norm, separating_weights

from .twins import margin_by_pairs, noisy, pairs, simulated


@st.composite
def small_data(draw):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    n, d = sum(sizes), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d))  # ties between documents too
    return QueryDataset.from_arrays(X, rng.integers(-1, 4, n), group=sizes)


@given(small_data(), st.integers(0, 1000))
def test_margin_is_that_of_the_closest_pair(data, seed):
    w = np.random.default_rng(seed).normal(size=data.n_features)
    assert margin(data, w) == pytest.approx(margin_by_pairs(data, w), abs=1e-9)
    assert margin(data, 7 * w) == pytest.approx(margin(data, w), abs=1e-9)


def test_margin_of_simulated_data():
    simulation = separable(200, np.random.default_rng(0), margin=0.7)
    assert 0.7 <= margin(simulation.data, simulation.weights) < 0.8
    assert margin(simulation.data, -simulation.weights) < 0


def test_margin_without_pairs_is_infinite():
    data = QueryDataset.from_arrays([[1.0], [2.0], [3.0]], [1, 1, -1], group=[3])
    assert margin(data, [1.0]) == np.inf
    with pytest.raises(DataError, match="different grades"):
        best_margin(data)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0], [np.nan, 1.0]])
def test_bad_weights(weights):
    data = QueryDataset.from_arrays([[1.0, 0], [0, 1]], [0, 1], group=[2])
    with pytest.raises(DataError, match="weights"):
        margin(data, weights)


def test_missing_features_are_refused():
    data = QueryDataset.from_arrays([[np.nan], [0.0]], [0, 1], group=[2], allow_nan=True)
    with pytest.raises(DataError, match="missing"):
        margin(data, [1.0])


def hard_margin(data):
    """The textbook problem: min |u|^2 with u.delta >= 1 for every pair, listed."""
    deltas = np.array([q.X[i] - q.X[j] for q in data for i, j in pairs(q.y)], float)
    solved = minimize(
        lambda u: u @ u,
        separating_weights(data) * 1.5,
        jac=lambda u: 2 * u,
        constraints={"type": "ineq", "fun": lambda u: deltas @ u - 1, "jac": lambda u: deltas},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert solved.success
    return 1 / np.linalg.norm(solved.x)


@pytest.mark.parametrize("seed", range(5))
def test_best_margin_solves_the_textbook_problem(seed):
    data = simulated(seed, n=6, m=5, d=4)
    found = best_margin(data)
    assert found.margin == pytest.approx(hard_margin(data), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_best_margin_on_a_circle(seed):
    """Two features: every direction tried."""
    data = simulated(seed, n=10, m=5, d=2)
    angles = np.linspace(0, 2 * np.pi, 2001)
    tried = max(margin(data, [np.cos(a), np.sin(a)]) for a in angles)
    assert tried - 1e-9 <= best_margin(data).margin <= tried + 0.05


@pytest.mark.parametrize(("d", "n"), [(3, 40), (20, 200), (100, 50)])
def test_best_margin_comes_with_a_certificate(d, n):
    simulation = separable(n, np.random.default_rng(d), n_features=d)
    found = best_margin(simulation.data)
    gamma, w = found
    assert found.separable
    assert np.linalg.norm(w) == pytest.approx(1.0)
    assert gamma == pytest.approx(margin(simulation.data, w), rel=1e-12)
    assert margin(simulation.data, simulation.weights) <= gamma <= found.upper
    assert found.upper - gamma <= 1e-6 * gamma
    u = separating_weights(simulation.data)
    assert margin(simulation.data, u) * np.linalg.norm(u) == pytest.approx(1.0, rel=1e-6)


def test_the_certificate_is_a_point_of_the_hull():
    """No unit vector beats it: the upper bound is below the margin of none of many tried."""
    data = simulated(3, n=10, d=3)
    rng = np.random.default_rng(0)
    tried = rng.normal(size=(2000, 3)) * 0.05 + best_margin(data).weights
    assert max(margin(data, w) for w in tried) <= best_margin(data).upper + 1e-12


@pytest.mark.parametrize(
    "data",
    [
        noisy(0),
        mslr_like(20, np.random.default_rng(0), n_features=10, mean_length=20).data,
        QueryDataset.from_arrays([[1.0], [1.0]], [0, 1], group=[2]),
        QueryDataset.from_arrays([[1.0], [0.0], [0.0], [1.0]], [0, 1, 0, 1], group=[2, 2]),
    ],
    ids=["noisy", "web", "twins", "contradiction"],
)
def test_says_when_data_is_not_separable(data):
    found = best_margin(data)
    assert not found.separable
    assert found.margin <= 0 == found.upper
    assert margin(data, found.weights) <= 0
    with pytest.raises(DataError, match="no linear ranker"):
        separating_weights(data)


@given(small_data())
def test_separable_as_a_linear_program_says(data):
    from scipy.optimize import linprog

    deltas = np.array([q.X[i] - q.X[j] for q in data for i, j in pairs(q.y)], float)
    if len(deltas) == 0:
        return
    solved = linprog(np.zeros(data.n_features), -deltas, -np.ones(len(deltas)), bounds=(None, None))
    assert best_margin(data).separable == (solved.status == 0)


def test_max_norm():
    data = QueryDataset.from_arrays([[3.0, 4.0], [0.0, 1.0]], [0, -1], group=[2])
    assert max_norm(data) == 5.0
    assert max_norm(data.select([False])) == 0.0
