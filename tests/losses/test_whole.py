"""Losses of whole data sets: their per-query definitions, their slopes, weights as counts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.losses import ListNetLoss, PairwiseHinge, PairwiseLogistic, SlamLoss, XENDCGLoss
from rankloop.losses.whole import WholeLoss, _code

LOSSES = [
    PairwiseHinge(squared=True),
    PairwiseLogistic(),
    ListNetLoss(),
    XENDCGLoss(),
    XENDCGLoss(gamma=0.25),
]
GRADES = {
    "five": [0, 1, 2, 3, 4],
    "binary": [0, 1],
    "one": [2],
    "nought": [0],
    "real": np.linspace(0, 3, 40) ** 1.1,
}
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)
each_grades = pytest.mark.parametrize("grades", GRADES)


def queries(rng, grades="five", *, sizes=range(12), n=60, weights=False, unjudged=0.15):
    """Empty and single-document queries among them; weights are whole, some of them 0."""
    group = rng.choice(list(sizes), n)
    m = group.sum()
    y = rng.choice(np.array(GRADES[grades], float), m)
    y[rng.random(m) < unjudged] = -1
    return QueryDataset(
        np.zeros((m, 1), np.float32),
        y,
        np.r_[0, np.cumsum(group)].astype(np.int64),
        np.arange(n),
        sample_weight=rng.integers(0, 4, m).astype(float) if weights else None,
        query_weight=rng.integers(0, 4, n).astype(float) if weights else None,
    )


def scores_for(rng, data, scale=2.0, ties=False):
    s = rng.normal(size=data.n_documents) * scale
    return np.round(s) if ties else s


def by_query(loss, data, scores):
    """The definition: one query after the other, repeated as its weights say."""
    value, gradient = 0.0, np.zeros(data.n_documents)
    for q, query in enumerate(data):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        copies = np.ones(len(query.y)) if query.sample_weight is None else query.sample_weight
        of = np.repeat(np.arange(len(query.y)), copies.astype(int))
        s, y = scores[rows][of], query.y[of]
        value += query.weight * loss.value(s, y)
        found = query.weight * loss.gradient(s, y)
        gradient[rows] = np.bincount(of, found, len(query.y))
    return value, gradient


@pytest.mark.matrix
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@each_grades
@each_loss
def test_it_is_the_sum_over_queries(loss, grades, weights, ties, rng):
    data = queries(rng, grades, weights=weights)
    for scale in (0.0, 0.3, 5.0):
        scores = scores_for(rng, data, scale, ties)
        value, gradient = WholeLoss(loss, data).at(scores)
        expected, slope = by_query(loss, data, scores)
        assert value == pytest.approx(expected, rel=1e-11, abs=1e-11)
        assert gradient == pytest.approx(slope, rel=1e-10, abs=1e-10)


@each_loss
def test_long_lists(loss, rng):
    data = queries(rng, "real", sizes=[300, 401], n=4)
    scores = scores_for(rng, data)
    value, gradient = WholeLoss(loss, data).at(scores)
    expected, slope = by_query(loss, data, scores)
    assert value == pytest.approx(expected, rel=1e-11)
    assert gradient == pytest.approx(slope, rel=1e-9, abs=1e-9)


@pytest.mark.matrix
@pytest.mark.parametrize("weights", [False, True])
@each_grades
@each_loss
def test_curvature_is_the_slope_of_the_gradient(loss, grades, weights, rng):
    """Random scores: no pair stands within a step of the hinge."""
    data = queries(rng, grades, weights=weights)
    scores, step = scores_for(rng, data), 1e-6
    whole = WholeLoss(loss, data)
    for _ in range(3):
        direction = rng.normal(size=data.n_documents)
        whole.at(scores)
        found = whole.curvature(direction)
        up, down = (whole.at(scores + sign * step * direction)[1] for sign in (1, -1))
        assert found == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("scale", [2.0, 300.0, 1000.0])
@pytest.mark.parametrize("weights", [False, True])
@each_loss
def test_the_diagonal_is_that_of_the_curvature(loss, weights, scale, rng):
    data = queries(rng, n=12, weights=weights)
    whole = WholeLoss(loss, data)
    whole.at(scores_for(rng, data, scale))
    table = np.array([whole.curvature(e) for e in np.eye(data.n_documents)])
    assert whole.diagonal() == pytest.approx(np.diag(table), rel=1e-10, abs=1e-12)
    assert np.allclose(table, table.T, rtol=1e-10, atol=1e-12)
    assert np.linalg.eigvalsh(table).min() > -1e-9


@pytest.mark.parametrize("scale", [100.0, 300.0, 1e3, 1e6])
@each_loss
def test_extreme_scores(loss, scale, rng):
    """Wide scores take other ways through the code: products of exponentials would overflow."""
    data = queries(rng, sizes=[20, 33], n=10)
    scores = scores_for(rng, data, scale)
    whole = WholeLoss(loss, data)
    value, gradient = whole.at(scores)
    expected, slope = by_query(loss, data, scores)
    assert value == pytest.approx(expected, rel=1e-9)
    assert gradient == pytest.approx(slope, rel=1e-9, abs=1e-9)
    assert np.isfinite(whole.curvature(scores)).all()


@each_loss
def test_scores_far_from_nought(loss, rng):
    data = queries(rng)
    scores = scores_for(rng, data)
    value, gradient = WholeLoss(loss, data).at(scores)
    moved, same = WholeLoss(loss, data).at(scores + 1e6)
    assert moved == pytest.approx(value, rel=1e-7)
    assert same == pytest.approx(gradient, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weights", [False, True])
@each_loss
def test_any_number_of_threads_gives_the_same_bits(loss, weights, rng):
    data = queries(rng, sizes=range(60), n=2000, weights=weights)
    scores, direction = scores_for(rng, data), scores_for(rng, data)
    kind, gamma = _code(loss)
    found = []
    for threads in (1, 2, 3, 7):
        core = _core.WholeLoss(
            kind, gamma, data.y, data.offsets, data.sample_weight, data.query_weight
        )
        value, gradient = core.at(scores, threads)
        parts = (gradient, core.product(direction, threads), core.diagonal(threads))
        found.append((value, *(part.tobytes() for part in parts)))
    assert len(set(found)) == 1


def test_products_of_features(rng):
    n, d = 9000, 37
    X = rng.normal(size=(n, d)).astype(np.float32) + 5
    w, r, h = rng.normal(size=d), rng.normal(size=n), rng.random(n)
    h[:50] = 0
    offsets = np.r_[0, 50, 50, np.arange(100, n + 1, 20)].astype(np.int64)
    wide = X.astype(float)
    scatter = np.zeros((d, d))
    for first, end in pairwise(offsets):
        own, rows = h[first:end], wide[first:end]
        if own.sum() > 0:
            gaps = rows - own @ rows / own.sum()
            scatter += gaps.T @ (own[:, None] * gaps)
    for found, expected in (
        ([_core.row_products(X, w, t) for t in (1, 2, 5)], wide @ w),
        ([_core.column_products(X, r, t) for t in (1, 2, 5)], r @ wide),
        ([_core.column_spreads(X, offsets, h, t) for t in (1, 2, 5)], np.diag(scatter)),
        ([_core.query_scatter(X, offsets, h, t) for t in (1, 2, 5)], scatter),
    ):
        assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert all(np.array_equal(found[0], other) for other in found)


def test_cholesky(rng):
    rows = rng.normal(size=(40, 9))
    matrix = rows.T @ rows
    upper = _core.cholesky(matrix)
    assert np.triu(upper).T @ np.triu(upper) == pytest.approx(matrix)
    b = rng.normal(size=9)
    assert matrix @ _core.cholesky_solve(upper, b) == pytest.approx(b)
    with pytest.raises(ValueError, match="not positive definite"):
        _core.cholesky(-matrix)
    with pytest.raises(ValueError, match="square"):
        _core.cholesky(rows)


def test_errors(rng):
    data = queries(rng)
    whole = WholeLoss(PairwiseLogistic(), data)
    n = data.n_documents
    with pytest.raises(ValueError, match="no curvature before the first scores"):
        whole.curvature(np.zeros(n))
    with pytest.raises(ValueError, match="no curvature before the first scores"):
        whole.diagonal()
    with pytest.raises(DataError, match=f"expected {n} numbers in scores; found shape"):
        whole.at(np.zeros(n + 1))
    with pytest.raises(DataError, match="scores must be finite; the value of row 0 is nan"):
        whole.at(np.full(n, np.nan))
    for loss in (PairwiseHinge(), SlamLoss()):
        with pytest.raises(DataError, match="has no compiled version for whole data sets; use"):
            WholeLoss(loss, data)
    with pytest.raises(ValueError, match="offsets do not fit the rows"):
        _core.WholeLoss(0, 0.0, data.y, data.offsets[:-1], None, None)
    with pytest.raises(ValueError, match="one weight a feature"):
        _core.row_products(data.X, np.zeros(2), 1)


def test_nothing_at_all():
    empty = QueryDataset(
        np.zeros((0, 2), np.float32), np.zeros(0), np.zeros(1, np.int64), np.zeros(0)
    )
    for loss in LOSSES:
        whole = WholeLoss(loss, empty)
        assert whole.at([]) == (0, pytest.approx([]))
        assert whole.diagonal().shape == (0,)
