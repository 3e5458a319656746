"""Elementary functions against many digits, and products against exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop._utils import arithmetic

mpmath = pytest.importorskip("mpmath", reason="mpmath gives the digits to compare with")
mpmath.mp.prec = 200

RANGES = {
    "exp": (mpmath.exp, [(-700, 700), (-1, 1)], 1.0),
    "exp2": (lambda x: mpmath.mpf(2) ** x, [(-1000, 1000), (-2, 2)], 1.1),
    "log": (mpmath.log, [(1e-300, 1e300), (0.5, 2), (0.99, 1.01)], 1.25),
    "log2": (lambda x: mpmath.log(x, 2), [(1e-300, 1e300), (0.5, 2), (1, 5000)], 1.75),
    "log1p": (mpmath.log1p, [(-0.9, 10), (-1e-9, 1e-9), (0, 1e10)], 1.6),
    "tanh": (mpmath.tanh, [(-5, 5), (-0.2, 0.2), (-1e-6, 1e-6)], 10.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RANGES)
def test_errors_in_units_of_the_last_place(name):
    exact, ranges, most = RANGES[name]
    rng = np.random.default_rng(0)
    for low, high in ranges:
        x = np.concatenate([rng.uniform(low, high, 2000), [low, high]])
        if low > 0 and high / low > 1e6:
            x = np.exp(rng.uniform(math.log(low), math.log(high), 2000))
        found = getattr(arithmetic, name)(x)
        for value, given_ in zip(found, x, strict=True):
            expected = exact(mpmath.mpf(float(given_)))
            unit = math.ulp(float(expected))
            assert abs(mpmath.mpf(float(value)) - expected) <= most * unit, given_


@pytest.mark.parametrize(("name", "exact"), [("sin", mpmath.sin), ("cos", mpmath.cos)])
def test_circles(name, exact):
    x = np.random.default_rng(0).uniform(-1e5, 1e5, 3000)
    for value, given_ in zip(getattr(arithmetic, name)(x), x, strict=True):
        assert abs(mpmath.mpf(float(value)) - exact(mpmath.mpf(float(given_)))) < 2.5e-16


@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.1, 2.0, 7.5, -0.7])
def test_powers(exponent):
    x = np.random.default_rng(0).uniform(1e-3, 1e3, 1000)
    for value, given_ in zip(arithmetic.power(x, exponent), x, strict=True):
        expected = mpmath.mpf(float(given_)) ** mpmath.mpf(exponent)
        most = 3 + 2 * abs(exponent * math.log2(given_))
        assert abs(mpmath.mpf(float(value)) - expected) <= most * math.ulp(float(expected))


def test_whole_powers_of_two_are_exact():
    k = np.arange(-1074, 1024)
    assert (arithmetic.exp2(k) == [math.ldexp(1.0, int(i)) for i in k]).all()
    assert (arithmetic.log2(np.ldexp(1.0, np.arange(-1000, 1000))) == np.arange(-1000, 1000)).all()


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", [np.inf, -np.inf, 1000, -1000, 0, -0.0], [np.inf, 0, np.inf, 0, 1, 1]),
        ("exp2", [np.inf, -np.inf, 2000, -2000], [np.inf, 0, np.inf, 0]),
        ("log", [np.inf, 0, -0.0, 1], [np.inf, -np.inf, -np.inf, 0]),
        ("log2", [np.inf, 0, 1, 2], [np.inf, -np.inf, 0, 1]),
        ("log1p", [np.inf, -1, 0], [np.inf, -np.inf, 0]),
        ("tanh", [np.inf, -np.inf, 1e300, 0], [1, -1, 1, 0]),
    ],
)
def test_edges(name, x, expected):
    function = getattr(arithmetic, name)
    assert function(np.array(x)).tolist() == expected
    assert np.isnan(function(np.array([np.nan]))).all()


def test_logarithms_of_less_than_nothing():
    for name in ("log", "log2", "log1p"):
        assert np.isnan(getattr(arithmetic, name)(np.array([-2.0]))).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (7, 5, 3), (50, 70, 300), (101, 17, 513)])
def test_products_of_rows(n, m, d, kind):
    rng = np.random.default_rng(n)
    x, z = rng.normal(size=(n, d)).astype(kind), rng.normal(size=(m, d)).astype(kind)
    found = arithmetic.row_pairs(x, z)
    exact = x.astype(np.float64) @ z.T.astype(np.float64)
    assert np.allclose(found, exact, atol=d * np.finfo(kind).eps * 4, rtol=0)
    alone = np.array([[arithmetic.row_pairs(a[None], b[None])[0, 0] for b in z[:5]] for a in x[:5]])
    assert np.array_equal(found[:5, :5], alone)  # an entry does not know its neighbours


@pytest.mark.parametrize("d", [1, 7, 8, 31, 32, 33, 46, 136, 700])
def test_a_score_does_not_know_its_place(d):
    rng = np.random.default_rng(d)
    x, w = rng.normal(size=(300, d)).astype(np.float32), rng.normal(size=d)
    scores = arithmetic.row_scores(x, w)
    for shift in range(1, 9):  # other rows before it, other alignment
        memory = np.empty(x.size + shift, np.float32)
        moved = memory[shift:].reshape(x.shape)
        moved[:] = x
        assert np.array_equal(arithmetic.row_scores(moved, w), scores)
        assert np.array_equal(arithmetic.row_scores(x[shift:], w), scores[shift:])
    assert np.allclose(scores, x.astype(np.float64) @ w, atol=1e-4)


def test_scores_that_overflow_are_the_largest_number():
    largest = np.finfo(np.float32).max
    x = np.array([[3e38, 3e38], [-3e38, -3e38], [3e38, -3e38], [1, 2]], np.float32)
    assert arithmetic.row_scores(x, np.array([2.0, 2.0])).tolist() == [largest, -largest, 0, 6]
    assert arithmetic.row_scores(x[3:], np.array([1e300, 0.0])).tolist() == [largest]


@given(st.lists(st.floats(-1e10, 1e10), min_size=1, max_size=30))
def test_sums_are_in_order(values):
    expected = 0.0
    for value in values:
        expected += value
    assert arithmetic.total(np.array(values)) == expected
    exact = sum(Fraction(v) * Fraction(v) for v in values)
    assert arithmetic.dot(np.array(values), np.array(values)) == pytest.approx(float(exact))
