"""XE_NDCG's theorems, by finite differences, random scores and arithmetic."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.losses.xendcg import XENDCGLoss
from rankloop.theory.xendcg import (
    XENDCG_LIPSCHITZ,
    generalisation_probability,
    lambdamart_lipschitz,
    negative_log_ndcg,
    series_radius,
    xendcg_bound,
)


def queries(seed, n=5, m=7):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n * m).astype(float)
    y[::m] = 1 + rng.integers(0, 3, n)  # something is relevant
    return QueryDataset.from_arrays(np.zeros((n * m, 1)), y, group=[m] * n), rng


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_theorem_1_for_any_scores_and_gammas(seed, scale):
    data, rng = queries(seed)
    scores = scale * rng.normal(size=data.n_documents)
    left = negative_log_ndcg(data, scores)
    for gamma in (0.0, 1.0, rng.random(data.n_documents)):
        bound = xendcg_bound(data, scores, gamma)
        assert bound.holds
        assert left <= bound.value + 1e-9


def test_queries_without_a_relevant_document_are_left_out():
    data = QueryDataset.from_arrays(np.zeros((4, 1)), [1, 0, 0, 0], group=[2, 2])
    bound = xendcg_bound(data, [0.0, 0.0, 5.0, 1.0])
    assert bound.value == pytest.approx(log(2))
    assert bound.quantities == {"queries": 1.0, "left out": 1.0}
    assert negative_log_ndcg(data, [1.0, 0.0, 0.0, 0.0]) == pytest.approx(-log(1 + 1))
    nothing = QueryDataset.from_arrays(np.zeros((2, 1)), [0, 0], group=[2])
    assert not xendcg_bound(nothing, [0.0, 0.0]).holds
    with pytest.raises(DataError, match="no query has a relevant document"):
        negative_log_ndcg(nothing, [0.0, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_proposition_2(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, 9).astype(float)
    loss = XENDCGLoss(tuple(rng.random(9)), epsilon=0.1 * seed)
    s, other = rng.normal(size=(2, 9)) * 3
    assert np.abs(loss.gradient(s, y)).sum() <= XENDCG_LIPSCHITZ
    moved = abs(loss.value(s, y) - loss.value(other, y))
    assert moved <= XENDCG_LIPSCHITZ * np.abs(s - other).max() + 1e-12


def test_proposition_1():
    """LambdaRank's gradient: pairs weighed by the change of nDCG, at most 1 each."""
    m, rng = 12, np.random.default_rng(0)
    y, s = rng.integers(0, 5, m), 3 * rng.normal(size=m)
    order = np.argsort(-s)
    rank = np.empty(m, int)
    rank[order] = np.arange(1, m + 1)
    ideal = ((2.0 ** np.sort(y)[::-1] - 1) / np.log2(np.arange(2, m + 2))).sum()
    gradient = np.zeros(m)
    for i in range(m):
        for j in range(m):
            if y[i] > y[j]:
                gap = abs(2.0 ** y[i] - 2.0 ** y[j]) / ideal
                change = gap * abs(1 / np.log2(1 + rank[i]) - 1 / np.log2(1 + rank[j]))
                pull = change / (1 + exp(s[i] - s[j]))
                gradient[i] -= pull
                gradient[j] += pull
    assert 0 < np.abs(gradient).sum() <= lambdamart_lipschitz(m)
    with pytest.raises(DataError, match="m must be at least 1"):
        lambdamart_lipschitz(0)


def test_gamma_per_document_and_unjudged_ones():
    y, s = np.array([2.0, -1.0, 0.0]), np.array([0.3, 9.0, -0.2])
    loss = XENDCGLoss((0.5, 0.9, 1.0))
    phi = np.array([4 - 0.5, 1 - 1.0]) / 3.5
    rho = np.exp([0.3, -0.2]) / np.exp([0.3, -0.2]).sum()
    assert loss.value(s, y) == pytest.approx(-phi @ np.log(rho))
    assert loss.gradient(s, y) == pytest.approx([rho[0] - phi[0], 0, rho[1] - phi[1]])
    with pytest.raises(DataError, match="3 values for 2 documents"):
        loss.value(s[:2], y[:2])
    with pytest.raises(DataError, match="between 0 and 1"):
        XENDCGLoss((0.5, 1.5))
    with pytest.raises(DataError, match="epsilon must be a number of at least 0"):
        XENDCGLoss(epsilon=-1)


def test_epsilon_makes_the_hessian_positive_definite():
    y, s = np.array([2.0, 0.0, 1.0]), np.array([0.3, 1.0, -0.2])
    flat = np.linalg.eigvalsh(XENDCGLoss().hessian(s, y)).min()
    assert flat == pytest.approx(0, abs=1e-12)
    loss = XENDCGLoss(epsilon=0.5)
    assert np.linalg.eigvalsh(loss.hessian(s, y)).min() > 1e-3
    step = 1e-5
    for i in range(3):
        moved = step * np.eye(3)[i]
        slope = (loss.gradient(s + moved, y) - loss.gradient(s - moved, y)) / (2 * step)
        assert loss.hessian(s, y)[i] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 50.0])
@pytest.mark.parametrize("m", [2, 9])
def test_claim_2(epsilon, m):
    """The radius of S is below 1 with an epsilon, and 1 without: then the series is no inverse."""
    s = 2 * np.random.default_rng(m).normal(size=m)
    rho = np.exp(s) / (np.exp(s).sum() + epsilon)
    D = np.diag(rho * (1 - rho))
    S = rho / (1 - rho[:, None]) * (1 - np.eye(m))
    hessian = XENDCGLoss(epsilon=epsilon).hessian(s, np.ones(m))
    assert np.allclose(D @ (np.eye(m) - S), hessian)
    r, radius = series_radius(s, epsilon), np.abs(np.linalg.eigvals(S)).max()
    assert r == pytest.approx(S.sum(axis=1).max())
    assert radius <= r + 1e-12
    if epsilon == 0:
        assert radius == pytest.approx(1) == r
        return
    assert r < 1
    inverse, terms = np.linalg.inv(np.eye(m) - S), np.eye(m) + S + S @ S
    assert np.abs(inverse - terms).max() <= r**3 / (1 - r) * (1 + 1e-9)
    huge = series_radius([1e3, -1e3], 1.0)
    assert huge == pytest.approx(1)


def test_claim_2_needs_two_scores():
    for scores, epsilon in (([1.0], 0.0), ([1.0, 2.0], -1.0), ([np.nan, 1.0], 0.0)):
        with pytest.raises(DataError, match="at least two finite scores"):
            series_radius(scores, epsilon)


def test_theorem_2_repaired_promises_less_than_printed():
    n, eps, lip = 2000, 0.2, XENDCG_LIPSCHITZ
    ours = generalisation_probability(n, eps, lip, 2.0)
    printed = 1 - 2 * exp(2.0 - 2 * n * eps**2 / lip**2)
    assert ours == pytest.approx(1 - 2 * exp(2.0 - n * eps**2 / (2 * lip**2)))
    assert 0 < ours < printed
    assert generalisation_probability(1, eps, lip, 50.0) == 0
    with pytest.raises(DataError, match="epsilon and lipschitz above 0"):
        generalisation_probability(n, 0.0, lip, 1.0)
