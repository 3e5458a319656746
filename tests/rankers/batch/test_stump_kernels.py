"""The compiled passes of boosting and their definitions in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankloop import _core
from rankloop.losses import Fidelity


def graded(rng, n=200, most=9, grades=(0, 0.5, 1, 3)):
    """Queries of 1 to `most` documents in ascending order of grade: scores, y, offsets, weights."""
    sizes = rng.integers(1, most + 1, n)
    y = np.concatenate([np.sort(rng.choice(np.array(grades, float), m)) for m in sizes])
    offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    return rng.normal(size=len(y)), y, offsets, rng.uniform(0.1, 2, len(y))


def pairs(y, offsets):
    """(query, better, worse)."""
    return [
        (q, i, j)
        for q, (a, b) in enumerate(itertools.pairwise(offsets))
        for i in range(a, b)
        for j in range(a, b)
        if y[i] > y[j]
    ]


@pytest.mark.parametrize("n", [0, 1, 3, 4, 1001])
def test_bin_sums(rng, n):
    bins = rng.integers(0, 256, (5, n)).astype(np.uint8)
    values, sums = rng.normal(size=n), np.full((5, 256), np.nan)
    _core.bin_sums(bins, values, sums, 2)
    for row, expected in zip(sums, bins, strict=True):
        assert row == pytest.approx(np.bincount(expected, values, 256), abs=1e-12)


def test_stumps_are_added_in_turn(rng):
    X = rng.integers(0, 3, (50, 4)).astype(np.float32)
    features, thresholds = rng.integers(0, 4, 9), rng.integers(0, 3, 9).astype(np.float32)
    alphas, scores = rng.normal(size=9), rng.normal(size=50)
    expected = scores.copy()
    for feature, threshold, alpha in zip(features, thresholds, alphas, strict=True):
        expected += alpha * (X[:, feature] > threshold)
    _core.add_stumps(X, features, thresholds, alphas, scores, 1)
    assert np.array_equal(scores, expected)
    for bad in (-1, 4):
        with pytest.raises(ValueError, match="a feature that there is not"):
            _core.add_stumps(X, np.array([bad]), thresholds[:1], alphas[:1], scores, 1)


def test_exponential_pairs(rng):
    s, y, offsets, w = graded(rng)
    above, below = np.empty_like(s), np.empty_like(s)
    _core.exponential_pairs(s, y, offsets, np.log(w), above, below, 1)
    better, worse = np.zeros_like(s), np.zeros_like(s)
    for _, i, j in pairs(y, offsets):
        mass = w[i] * w[j] * np.exp(s[j] - s[i])
        better[i] += mass
        worse[j] += mass
    assert np.exp(above) == pytest.approx(better, rel=1e-12)
    assert np.exp(below) == pytest.approx(worse, rel=1e-12)


def test_exponentials_do_not_overflow():
    s, y = np.array([5e4, 0, -5e4]), np.array([0.0, 1, 2])
    above, below = np.empty(3), np.empty(3)
    _core.exponential_pairs(s, y, np.array([0, 3]), np.zeros(3), above, below, 1)
    assert above.tolist() == [-np.inf, 5e4, 1e5]
    assert below.tolist() == [1e5, 5e4, -np.inf]


def test_fidelity_is_the_loss(rng):
    s, y, offsets, _ = graded(rng)
    counts = np.zeros(len(offsets) - 1)
    for q, _, _ in pairs(y, offsets):
        counts[q] += 1
    shares, potentials = 1 / np.maximum(counts, 1), np.empty_like(s)
    value = _core.fidelity_pairs(s, y, offsets, np.ones_like(s), shares, potentials, 1)
    queries = [slice(a, b) for a, b in itertools.pairwise(offsets)]
    loss = Fidelity()
    assert value == pytest.approx(sum(loss.value(s[q], y[q]) for q in queries), rel=1e-12)
    gradient = np.concatenate([loss.gradient(s[q], y[q]) for q in queries])
    assert potentials == pytest.approx(-2 * gradient, abs=1e-14)


def test_fidelity_splits(rng):
    s, y, offsets, w = graded(rng)
    shares = rng.uniform(0, 1, len(offsets) - 1)
    rankers = rng.integers(0, 2, (3, len(s))).astype(np.uint8)
    splits, expected = np.empty((2, 3)), np.zeros((2, 3))
    _core.fidelity_splits(s, y, offsets, w, shares, rankers, splits, 1)
    for q, i, j in pairs(y, offsets):
        p = 1 / (1 + np.exp(s[j] - s[i]))
        mass = shares[q] * w[i] * w[j] * (1 - p) * np.sqrt(p)
        expected[0] += mass * (rankers[:, i] > rankers[:, j])
        expected[1] += mass * (rankers[:, i] < rankers[:, j])
    assert splits == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("far", [800.0, 1e6])
def test_far_scores(far):
    s, potentials = np.array([0.0, far]), np.empty(2)
    for y, loss in (([0.0, 1.0], 0), ([1.0, 0.0], 1)):
        order = np.argsort(y)
        value = _core.fidelity_pairs(
            s[order], np.sort(y), np.array([0, 2]), np.ones(2), np.ones(1), potentials, 1
        )
        assert value == pytest.approx(loss, abs=1e-12)
        assert potentials == pytest.approx([0, 0], abs=1e-12)


def test_the_same_bits_for_any_number_of_threads(rng):
    s, y, offsets, w = graded(rng, n=700, most=60)
    n = len(s)
    assert n > 20_000
    bins = rng.integers(0, 40, (40, n)).astype(np.uint8)
    rankers = (bins[:3] > 20).astype(np.uint8)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    features = rng.integers(0, 4, 900)
    thresholds, alphas = rng.normal(size=900).astype(np.float32), rng.normal(size=900)
    results = []
    for threads in (1, 2, 5):
        sums, scores, splits = np.empty((40, 40)), np.zeros(n), np.empty((2, 3))
        above, below, potentials = np.empty(n), np.empty(n), np.empty(n)
        shares = np.ones(700)
        _core.bin_sums(bins, s, sums, threads)
        _core.add_stumps(X, features, thresholds, alphas, scores, threads)
        _core.exponential_pairs(s, y, offsets, np.log(w), above, below, threads)
        loss = _core.fidelity_pairs(s, y, offsets, w, shares, potentials, threads)
        _core.fidelity_splits(s, y, offsets, w, shares, rankers, splits, threads)
        results.append((sums, scores, splits, above, below, potentials, loss))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert np.array_equal(one, two)
