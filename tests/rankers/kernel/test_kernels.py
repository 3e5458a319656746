"""Kernels: what they compute, that they are kernels, how they read and print."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise

from rankloop.exceptions import DataError
from rankloop.rankers.kernel.kernels import RBF, ChiSquared, Linear, Polynomial, Product, Sum
from rankloop.rankers.kernel.text import parse_kernel

numbers = st.floats(1 / 64, 100)
simple = st.one_of(
    st.just(Linear()),
    st.builds(RBF, numbers),
    st.builds(Polynomial, st.integers(1, 3), st.floats(0, 4), st.floats(0.25, 2)),
    st.builds(ChiSquared, numbers),
)
kernels = st.recursive(
    simple, lambda k: st.builds(Sum, k, k) | st.builds(Product, k, k), max_leaves=4
)
rows = st.integers(1, 12).flatmap(
    lambda n: arrays(np.float32, (n, 3), elements=st.floats(0, 1, width=32))
)


@settings(max_examples=60)
@given(kernel=kernels, X=rows)
def test_symmetric_and_positive_semi_definite(kernel, X):
    K = kernel(X, X)
    assert K.dtype == np.float32
    scale = max(np.abs(K).max(), 1e-30)
    assert np.allclose(K, K.T, rtol=0, atol=1e-5 * scale)
    values = np.linalg.eigvalsh((K.astype(float) + K.T) / 2)
    assert values.min() >= -1e-5 * scale * len(X)
    assert np.allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-4, atol=1e-5 * scale)


@settings(max_examples=60)
@given(kernel=kernels)
def test_text_reads_back(kernel):
    assert parse_kernel(str(kernel)) == kernel
    assert parse_kernel(kernel) is kernel


@given(left=kernels, right=kernels, X=rows)
@settings(max_examples=30)
def test_sums_and_products(left, right, X):
    assert np.array_equal((left + right)(X, X), left(X, X) + right(X, X))
    assert np.array_equal((left * right)(X, X), left(X, X) * right(X, X))


def test_as_scikit_learn():
    rng = np.random.default_rng(0)
    X, Z = rng.random((40, 5), np.float32), rng.random((30, 5), np.float32)
    theirs = {
        "linear": pairwise.linear_kernel(X, Z),
        "rbf(0.5)": pairwise.rbf_kernel(X, Z, gamma=1.0),
        "poly(3,0.5,2)": pairwise.polynomial_kernel(X, Z, degree=3, gamma=2, coef0=0.5),
        "chi2(0.5)": pairwise.chi2_kernel(X, Z, gamma=0.5),
    }
    for text, expected in theirs.items():
        assert np.allclose(parse_kernel(text)(X, Z), expected, rtol=1e-5), text


def test_a_place_far_from_zero_does_no_harm():
    X = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(np.float32)
    assert np.array_equal(RBF(1.0)(X + 1024, X + 1024), RBF(1.0)(X, X))


@pytest.mark.parametrize("text", ["linear", "rbf", "poly(2)", "chi2", "rbf(2)*linear+poly(2)"])
def test_no_rows(text):
    nothing, X = np.zeros((0, 2), np.float32), np.ones((3, 2), np.float32)
    kernel = parse_kernel(text)
    assert kernel(nothing, X).shape == (0, 3)
    assert kernel(X, nothing).shape == (3, 0)
    assert kernel.diagonal(nothing).shape == (0,)


BAD = [
    ("gauss(1)", "unknown kernel 'gauss' in 'gauss.1.'; known: linear, rbf, poly, chi2"),
    ("rbf(", "cannot read 'rbf.' as a kernel; write for example"),
    ("rbf(1,2)", "too many numbers for rbf"),
    ("rbf(x)", "'x' is not a number"),
    ("rbf(sigma2=1)", "cannot read"),
    ("linear-rbf", "cannot read"),
    ("__import__('os')", "unknown kernel '__import__'"),
    ("", "cannot read ''"),
    (3, "cannot read 3"),
    ("rbf(0)", "sigma2 of rbf must be a number above 0; found 0"),
    ("poly(1.5)", "degree of poly must be a whole number of at least 1; found 1.5"),
    ("poly(2,-1)", "offset of poly must be a number from 0"),
    ("chi2(-1)", "gamma of chi2 must be a number above 0; found -1"),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_bad_text(text, says):
    with pytest.raises(DataError, match=says):
        parse_kernel(text)


def test_chi2_refuses_features_below_0():
    with pytest.raises(DataError, match="features of at least 0; found -1"):
        ChiSquared()(np.array([[-1.0]], np.float32), np.zeros((1, 1), np.float32))
