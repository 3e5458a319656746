"""The simulated data of the papers' experiments, each with the weights that rank it perfectly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.memory import check_fits, row_blocks
from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated data, and the weights whose scores order its grades (None if there are none)."""

    data: QueryDataset
    weights: NDArray[np.float64] | None = None


def separable(
    n_queries: int,
    rng: np.random.Generator,
    *,
    n_documents: int = 20,
    n_features: int = 20,
    n_grades: int = 5,
    margin: float = 1.0,
) -> Simulated:
    """Simulate data that a unit vector ranks with a margin: w.x_i - w.x_j >= margin if R_i > R_j.

    In the paper, grades are uniform over the documents, each grade has a Gaussian, and w is
    a normalised Gaussian vector that "induced separability with margin". It does not say how. Here,
    grade g
    is N(c_g w, I) with w.x truncated to c_g - 1 .. c_g + 1, and c_g is margin + 2 from c_{g-1},
    symmetric about 0. Grades are drawn independently, so a query may lack one.

    Parameters
    ----------
    n_queries, n_documents, n_features : at least 1
    rng : the source of randomness
    n_grades : at least 2
    margin : above 0

    Examples
    --------
    >>> simulated = separable(100, np.random.default_rng(0))
    >>> simulated.data
    QueryDataset(100 queries, 2,000 documents, 20 features, grades 0 to 4)
    >>> query = simulated.data.query(0)
    >>> scores = query.X @ simulated.weights
    >>> bool(scores[query.y == 4].min() >= scores[query.y < 4].max() + 1.0)
    True

    References
    ----------
    Perceptron-like algorithms for online learning to rank: section 8 (figure 1), eq. 21.
    """
    check_rng(rng)
    check_counts(n_queries=n_queries, n_documents=n_documents, n_features=n_features)
    if n_grades < 2 or not (np.isfinite(margin) and margin > 0):
        raise DataError(
            f"n_grades must be at least 2 and margin above 0; found {n_grades} and {margin}"
        )
    w = _unit(rng.standard_normal(n_features))
    n = n_queries * n_documents
    check_fits(n, n_features)
    y = rng.integers(n_grades, size=n).astype(np.float64)
    t = rng.standard_normal(n)
    while len(outside := np.flatnonzero(np.abs(t) > 1)):
        t[outside] = rng.standard_normal(len(outside))
    step = margin + 2
    # rounding to float32 moves a score by 2^-24 of the largest norm: leave room for it
    step += 2.0**-22 * (n_grades * step + np.sqrt(n_features) + 10)
    t += (y - (n_grades - 1) / 2) * step
    X = rng.standard_normal((n, n_features), dtype=np.float32)
    for rows in row_blocks(*X.shape):
        x = X[rows].astype(np.float64)
        X[rows] = x + np.outer(t[rows] - x @ w, w)
    return Simulated(equal_lists(X, y, n_documents), w)


def predtron_gaussian(
    n_queries: int,
    rng: np.random.Generator,
    *,
    n_documents: int = 10,
    n_features: int = 20,
    noise: float = 0.3,
    weights: ArrayLike | None = None,
) -> Simulated:
    """Simulate documents around m centres, with thresholds that are closer for lower grades.

    Row i of a query is N(mu_i, noise^2 I); its grade is m - j where
    z_{j+1} <= w.x < z_j, with z_1 = inf, z_j = 1/j and z_{m+1} = -inf: m grades, 0 to m - 1.

    The paper does not give m, p, mu_i, the variance or w. Here w is a random unit vector and
    mu_i = (1/i + 1/(i+1))/2 w, the middle of the i-th interval: without noise a query has each
    grade once, best first. (Shuffle the documents if their order must not reveal the grades.)

    Parameters
    ----------
    n_queries, n_documents, n_features : at least 1
    rng : the source of randomness
    noise : standard deviation, at least 0
    weights : w, to simulate more of the same; default: drawn

    References
    ----------
    Predtron: section 6, figures 1a (n from 10 to 100) and 1b (n = 30, m varies).
    """
    check_rng(rng)
    check_counts(n_queries=n_queries, n_documents=n_documents, n_features=n_features)
    if not (np.isfinite(noise) and noise >= 0):
        raise DataError(f"noise must be a number of at least 0; found {noise}")
    w = (
        _unit(rng.standard_normal(n_features))
        if weights is None
        else _check_weights(weights, n_features)
    )
    check_fits(n_queries * n_documents, n_features)
    X = rng.standard_normal((n_queries * n_documents, n_features), dtype=np.float32)
    X *= np.float32(noise)
    i = np.arange(1, n_documents + 1)
    centres = np.outer((1 / i + 1 / (i + 1)) / 2, w) / (w @ w)
    X.reshape(n_queries, n_documents, n_features)[:] += centres.astype(np.float32)
    return Simulated(equal_lists(X, _threshold_grades(X, w, n_documents), n_documents), w)


def predtron_sparse(
    n_queries: int,
    rng: np.random.Generator,
    *,
    n_documents: int = 10,
    n_features: int = 100,
    n_relevant: int = 5,
    weights: ArrayLike | None = None,
) -> Simulated:
    """Simulate uniform features of which only a few are relevant: the case for an l1 margin.

    x is uniform on [-1, 1]^p; grades as in :func:`predtron_gaussian`. The paper does not give w
    or its sparsity; here `n_relevant` weights, chosen at random, are +1/s or -1/s, so that
    the l1 norm of w is 1.

    Parameters
    ----------
    n_queries, n_documents, n_features : at least 1
    rng : the source of randomness
    n_relevant : s, from 1 to n_features
    weights : w, to simulate more of the same; default: drawn

    References
    ----------
    Predtron: section 6, figure 1c (s fixed, p grows).
    """
    check_rng(rng)
    check_counts(n_queries=n_queries, n_documents=n_documents, n_features=n_features)
    if not 1 <= n_relevant <= n_features:
        raise DataError(f"n_relevant must be from 1 to {n_features}; found {n_relevant}")
    if weights is None:
        w = np.zeros(n_features)
        chosen = rng.choice(n_features, n_relevant, replace=False)
        w[chosen] = rng.choice([-1.0, 1.0], n_relevant) / n_relevant
    else:
        w = _check_weights(weights, n_features)
    check_fits(n_queries * n_documents, n_features)
    X = rng.random((n_queries * n_documents, n_features), dtype=np.float32)
    X *= 2
    X -= 1
    return Simulated(equal_lists(X, _threshold_grades(X, w, n_documents), n_documents), w)


def equal_lists(X: NDArray[np.float32], y: NDArray[np.float64], m: int) -> QueryDataset:
    """Group rows into queries of m documents each, numbered from 1."""
    offsets = np.arange(0, len(X) + 1, m, dtype=np.int64)
    return QueryDataset(X, y, offsets, np.arange(1, len(offsets), dtype=np.int64))


def _threshold_grades(
    X: NDArray[np.float32], w: NDArray[np.float64], m: int
) -> NDArray[np.float64]:
    # from the stored float32, so that grades and features agree; grade = thresholds reached
    thresholds = 1 / np.arange(m, 1, -1)
    scores = np.concatenate([X[rows].astype(np.float64) @ w for rows in row_blocks(*X.shape)])
    return np.searchsorted(thresholds, scores, side="right").astype(np.float64)


def _unit(w: NDArray[np.float64]) -> NDArray[np.float64]:
    return w / np.linalg.norm(w)


def _check_weights(weights: ArrayLike, n_features: int) -> NDArray[np.float64]:
    w = np.asarray(weights, np.float64)
    if w.shape != (n_features,) or not np.isfinite(w).all() or not w.any():
        raise DataError(f"weights must be {n_features} finite numbers, not all 0; found {w}")
    return w
