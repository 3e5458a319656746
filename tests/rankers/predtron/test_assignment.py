"""The exact assignment: against all permutations, SciPy, and its other way of solving."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from rankloop import _core

FUNCTIONS = {
    "1/i": lambda i: 1 / i,
    "-i": lambda i: -i,
    "-i^1.1": lambda i: -(i**1.1),
    "-i^2": lambda i: -(i**2),
    "-log(i)": lambda i: -np.log(i),
}
ALWAYS_BY_GRADES, ALWAYS_BY_PATHS, USUAL = 10**9, 0, -1


def solve(s, g, f, d, few=USUAL):
    positions = np.full(len(s), -1, np.int64)
    _core.assign_positions(s, g, f, d, positions, few)
    assert np.array_equal(np.sort(positions), np.arange(len(s)))
    return positions


def value(s, g, f, d, positions):
    return float(s @ f[positions] - g @ d[positions])


def optimum(s, g, f, d):
    _, columns = linear_sum_assignment(np.outer(s, f) - np.outer(g, d), maximize=True)
    return value(s, g, f, d, columns)


def case(m, grades, scale, function, rng, *, whole=False, steps=False):
    i = np.arange(1.0, m + 1)
    f = FUNCTIONS[function](i)
    d = (i <= m // 2).astype(float) if steps else 1 / np.log2(1 + i)
    y = rng.integers(0, grades, m)
    g = (2.0**y - 1) / max(1.0, (2.0 ** np.sort(y)[::-1] - 1) @ d)
    s = rng.integers(-2, 3, m) * 1.0 if whole else rng.normal(size=m)
    return scale * s, g, f / max(np.linalg.norm(f), 1e-9), d


@pytest.mark.parametrize("few", [ALWAYS_BY_GRADES, ALWAYS_BY_PATHS, USUAL])
@settings(max_examples=150)
@given(data=st.data())
def test_no_permutation_is_better(few, data):
    m = data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    parts = case(
        m,
        data.draw(st.integers(1, 5)),
        data.draw(st.sampled_from([0.0, 0.01, 0.1, 1.0, 100.0])),
        data.draw(st.sampled_from(list(FUNCTIONS))),
        rng,
        whole=data.draw(st.booleans()),
        steps=data.draw(st.booleans()),
    )
    best = max(value(*parts, np.array(p)) for p in permutations(range(m)))
    assert value(*parts, solve(*parts, few)) == pytest.approx(best, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("m", [30, 90])
@pytest.mark.parametrize("grades", [2, 3, 5, 12])
def test_same_optimum_as_scipy(function, m, grades):
    rng = np.random.default_rng(m + grades)
    for scale in (1e-3, 0.01, 0.1, 1.0, 10.0):
        for steps in (False, True):
            parts = case(m, grades, scale, function, rng, steps=steps)
            best = optimum(*parts)
            for few in (ALWAYS_BY_GRADES, ALWAYS_BY_PATHS):
                assert value(*parts, solve(*parts, few)) == pytest.approx(best, rel=1e-9, abs=1e-9)


@settings(max_examples=200)
@given(seed=st.integers(0, 10**6), grades=st.integers(3, 8), scale=st.floats(-3, 1))
def test_cycles_through_several_grades(seed, grades, scale):
    """No pair of grades gains, but three may: cycles must be found. Discounts are anything here."""
    rng = np.random.default_rng(seed)
    s, g, f, _ = case(14, grades, 10.0**scale, "-i^1.1", rng)
    d = rng.normal(size=14)
    best = optimum(s, g, f, d)
    assert value(s, g, f, d, solve(s, g, f, d, ALWAYS_BY_GRADES)) == pytest.approx(best, abs=1e-9)


def test_a_thousand_documents():
    rng = np.random.default_rng(0)
    parts = case(1000, 5, 0.1, "-i^1.1", rng)
    assert value(*parts, solve(*parts)) == pytest.approx(optimum(*parts), rel=1e-9)


def test_documents_of_a_grade_keep_the_order_of_scores():
    rng = np.random.default_rng(1)
    s, g, f, d = case(40, 3, 0.3, "-i^1.1", rng)
    positions = solve(s, g, f, d)
    for gain in set(g):
        mine = np.flatnonzero(g == gain)
        assert (np.diff(positions[mine[np.argsort(-s[mine])]]) > 0).all()


def test_without_scores_the_worst_ranking_and_with_large_ones_the_sorted():
    rng = np.random.default_rng(2)
    s, g, f, d = case(25, 4, 1.0, "-i", rng)
    worst = solve(np.zeros(25), g, f, d)
    assert (np.diff(g[np.argsort(worst)]) >= 0).all()
    assert np.array_equal(np.argsort(solve(1e6 * s, g, f, d)), np.argsort(-s))


def test_nothing_and_one():
    one = np.ones(1)
    assert solve(one, one, one, one).tolist() == [0]
    none = np.zeros(0)
    assert solve(none, none, none, none).tolist() == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_numbers_that_would_overflow(bad, place):
    parts = [np.array([1.0, 2.0]), np.ones(2), np.array([2.0, 1.0]), np.ones(2)]
    parts[place][1] = bad
    with pytest.raises(ValueError, match="finite and below 1e100"):
        solve(*parts)


def test_f_must_decrease():
    two = np.ones(2)
    for f in (two, np.array([1.0, 2.0]), np.array([1.0, np.nan])):
        with pytest.raises(ValueError, match="f must decrease"):
            solve(two, two, f, two)


def test_lengths_must_agree():
    one, two = np.ones(1), np.ones(2)
    with pytest.raises(ValueError, match="one length"):
        _core.assign_positions(two, one, two, two, np.zeros(2, np.int64))
