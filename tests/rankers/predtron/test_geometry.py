"""Link functions: gradients of the halved squared norms, and their inverses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankloop.exceptions import DataError
from rankloop.rankers.predtron.geometry import Euclidean, Group, RNorm, Schatten, as_geometry

NORMS = {
    "euclidean": lambda W, r: np.linalg.norm(W),
    "rnorm": lambda W, r: np.sum(np.abs(W) ** r) ** (1 / r),
    "group": lambda W, r: np.sum(np.linalg.norm(W, axis=0) ** r) ** (1 / r),
    "schatten": lambda W, r: np.sum(np.linalg.svd(W, compute_uv=False) ** r) ** (1 / r),
}
MADE = {
    "euclidean": (Euclidean(), 2.0),
    "rnorm": (RNorm(1.3), 1.3),
    "group": (Group(1.5), 1.5),
    "schatten": (Schatten(1.2), 1.2),
}
every = pytest.mark.parametrize("name", MADE)


@every
def test_the_dual_is_the_gradient_of_half_the_squared_norm(name):
    geometry, r = MADE[name]
    W, step = np.random.default_rng(0).normal(size=(3, 5)), 1e-6
    gradient = geometry.dual(W)
    for i in np.ndindex(W.shape):
        aside = np.zeros_like(W)
        aside[i] = step
        rise = NORMS[name](W + aside, r) ** 2 / 2 - NORMS[name](W - aside, r) ** 2 / 2
        assert gradient[i] == pytest.approx(rise / (2 * step), rel=1e-5, abs=1e-7)


@every
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e150]))
@example(seed=15491, scale=1e-150)  # small singular values, whose squares underflow
def test_there_and_back(name, seed, scale):
    geometry, _ = MADE[name]
    W = scale * np.random.default_rng(seed).normal(size=(3, 4))
    assert np.allclose(geometry.weights(geometry.dual(W)), W, rtol=1e-8, atol=1e-8 * scale)
    assert np.allclose(geometry.dual(geometry.weights(W)), W, rtol=1e-8, atol=1e-8 * scale)


@every
def test_homogeneous_and_dual_norms_agree(name):
    geometry, r = MADE[name]
    D = np.random.default_rng(1).normal(size=(3, 4))
    W = geometry.weights(D)
    assert np.allclose(geometry.weights(5 * D), 5 * W)
    q = r / (r - 1)
    # <W, grad psi(W)> = |W|^2 = |D|_*^2
    assert (W * D).sum() == pytest.approx(NORMS[name](W, r) ** 2)
    assert NORMS[name](W, r) == pytest.approx(NORMS[name](D, q))


@every
def test_zero_stays_zero(name):
    geometry, _ = MADE[name]
    assert not geometry.weights(np.zeros((2, 3))).any()
    one = np.zeros((2, 3))
    one[0, 1] = 2.0
    assert np.allclose(geometry.weights(one), one)


def test_special_cases():
    rng = np.random.default_rng(2)
    D = rng.normal(size=(3, 4))
    for geometry in (RNorm(2), Group(2), Schatten(2)):
        assert np.allclose(geometry.weights(D), D), "r = 2 is Euclidean"
    row = rng.normal(size=(1, 9))
    assert np.allclose(Group(1.4).weights(row), RNorm(1.4).weights(row)), "columns of one entry"
    diagonal = np.diag(rng.random(4))
    assert np.allclose(Schatten(1.4).weights(diagonal), RNorm(1.4).weights(diagonal))
    assert np.allclose(Schatten(1.4).weights(row), row), "one singular value"


def test_exponents():
    assert RNorm().exponent(1000) == pytest.approx(np.log(1000) / (np.log(1000) - 1))
    for n in (0, 1, 2, 7):
        assert RNorm().exponent(n) == 2.0
    assert 1 < RNorm().exponent(8) <= 2


def test_bad_geometries():
    with pytest.raises(DataError, match="one of euclidean, rnorm, group, schatten"):
        as_geometry("l1")
    for r in (1, 2.5, "x"):
        with pytest.raises(DataError, match="r must be a number above 1 to 2"):
            RNorm(r)
    with pytest.raises(DataError, match="use geometry rnorm"):
        Group().check((1, 5))
    with pytest.raises(DataError, match="use geometry euclidean"):
        Schatten().check((5, 1))
