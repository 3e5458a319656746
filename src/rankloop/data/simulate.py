"""Simulated data: those of the papers, and data that resemble web search."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.memory import check_fits
from rankloop.data.simulate_papers import (
    Simulated,
    predtron_gaussian,
    predtron_sparse,
    separable,
)
from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "SIMULATORS",
    "Simulated",
    "mslr_like",
    "predtron_gaussian",
    "predtron_sparse",
    "separable",
]

GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
"""How often grades 0 to 4 occur in MSLR-WEB30K, about."""

_FACTORS = 8
_QUERY_SHARE = 0.3  # of a factor's variance, common to a query's documents
_LENGTH_SPREAD = 0.8  # deviation of the logarithm of a list's length
_PILOT = 200_000  # documents drawn to find the grades' thresholds
# groups of columns: counts, real scores, flags, useless noise; the rest belong to the query
_SHARES = np.array([0.45, 0.25, 0.10, 0.15])


def mslr_like(
    n_queries: int,
    rng: np.random.Generator,
    *,
    n_features: int = 136,
    mean_length: float = 120.0,
    list_length: int | None = None,
    noise: float = 1.0,
    grade_shares: Sequence[float] = GRADE_SHARES,
    block_rows: int = 4096,
) -> Simulated:
    """Simulate web search: skewed grades, lists of different lengths, raw features of many kinds.

    Eight hidden Gaussian factors F, partly shared by a query's documents, determine the relevance

        u = F0 + tanh(2 F1) + F2 F3 / 2 - F4^2 / 2 + F0 [F5 > 1/2] + noise * N(0, 1),

    which is cut at the quantiles that give grades their shares; by default grades 0 to 4 have those
    of MSLR-WEB (52, 32, 13, 2 and 1 percent). Columns, in this order, each follow one factor
    closely or loosely: 45% counts with heavy tails, 25% real scores, 10% flags (0 or 1), 15% noise
    that follows none; the rest are the same for all documents of a query. The first queries do not
    depend on the number of queries. No linear weights order the grades.

    Parameters
    ----------
    n_queries, n_features : at least 1
    rng : random generator
    mean_length : documents per query, on average; lengths are lognormal, at least 1
    list_length : exactly this many documents per query instead
    noise : standard deviation of the noise in the relevance, at least 0
    grade_shares : how often grades 0, 1, ... occur, about; at least two, which add up to 1
    block_rows : number of rows made at a time; the result does not depend on it

    Cost: about 2 s, and the 0.4 GB of the result, for 6,000 queries of 120 documents.

    Examples
    --------
    >>> mslr_like(50, np.random.default_rng(0), list_length=120).data
    QueryDataset(50 queries, 6,000 documents, 136 features, grades 0 to 4)
    """
    check_rng(rng)
    check_counts(n_queries=n_queries, n_features=n_features, block_rows=block_rows)
    if list_length is not None:
        check_counts(list_length=list_length)
    if not (np.isfinite(mean_length) and mean_length >= 1 and np.isfinite(noise) and noise >= 0):
        raise DataError(
            f"mean_length must be at least 1 and noise at least 0; found {mean_length} and {noise}"
        )
    shares = _check_shares(grade_shares)
    check_fits(n_queries, n_features)  # at the least; lengths alone may be too many
    # one stream for each kind of draw: blocks continue where the last one ended
    shape_rng, pilot_rng, length_rng, query_rng, factor_rng, feature_rng, noise_rng = rng.spawn(7)
    columns = _Columns(n_features, shape_rng)
    pilot = pilot_rng.standard_normal((_PILOT, _FACTORS), dtype=np.float32)
    thresholds = np.quantile(
        _relevance(pilot, noise * pilot_rng.standard_normal(_PILOT)), np.cumsum(shares)[:-1]
    )
    if list_length is None:
        centre = np.log(mean_length) - _LENGTH_SPREAD**2 / 2
        lengths = np.rint(length_rng.lognormal(centre, _LENGTH_SPREAD, n_queries))
        sizes = np.maximum(lengths, 1).astype(np.int64)
    else:
        sizes = np.full(n_queries, list_length, np.int64)
    offsets = np.r_[0, np.cumsum(sizes)]
    check_fits(offsets[-1], n_features)
    X = np.empty((offsets[-1], n_features), np.float32)
    y = np.empty(offsets[-1])
    first = 0
    while first < n_queries:
        fitting = int(np.searchsorted(offsets, offsets[first] + block_rows, side="right")) - 1
        end = max(fitting, first + 1)
        query = np.repeat(np.arange(end - first), sizes[first:end])
        rows = slice(offsets[first], offsets[end])
        of_queries = query_rng.standard_normal((end - first, _FACTORS), dtype=np.float32)
        factors = factor_rng.standard_normal((len(query), _FACTORS), dtype=np.float32)
        factors *= np.float32(np.sqrt(1 - _QUERY_SHARE))
        factors += np.float32(np.sqrt(_QUERY_SHARE)) * of_queries[query]
        u = _relevance(factors, noise * noise_rng.standard_normal(len(query)))
        y[rows] = np.searchsorted(thresholds, u, side="right")
        feature_rng.standard_normal(dtype=np.float32, out=X[rows])
        columns.shape(X[rows], factors, of_queries[query])
        first = end
    return Simulated(QueryDataset(X, y, offsets, np.arange(1, n_queries + 1, dtype=np.int64)))


def _check_shares(shares: Sequence[float]) -> NDArray[np.float64]:
    found = np.asarray(shares, np.float64)
    if found.ndim != 1 or len(found) < 2 or not (found > 0).all() or abs(found.sum() - 1) > 1e-9:
        raise DataError(
            "grade_shares must be two or more numbers above 0 that add up to 1; "
            f"found {np.asarray(shares).tolist()}"
        )
    return found


def _relevance(F: NDArray[np.float32], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    f = F.T.astype(np.float64)
    u: NDArray[np.float64] = (
        f[0] + np.tanh(2 * f[1]) + f[2] * f[3] / 2 - f[4] ** 2 / 2 + f[0] * (f[5] > 0.5)
    )
    u += noise
    return u


class _Columns:
    """How each column follows from its factor and its own noise."""

    def __init__(self, d: int, rng: np.random.Generator) -> None:
        ends = np.rint(np.cumsum(_SHARES) * d).astype(int).tolist()
        edges = [0, *ends, d]
        self.counts, _, self.flags, useless, self.of_query = (
            slice(a, b) for a, b in itertools.pairwise(edges)
        )
        self.factor = np.arange(d) % _FACTORS
        tie = rng.uniform(0.3, 0.95, d)
        tie[useless] = 0
        self.tie = tie.astype(np.float32)
        self.own = np.sqrt(1 - tie**2).astype(np.float32)
        self.spread = rng.uniform(0.5, 2.0, d).astype(np.float32)
        self.level = rng.uniform(0.0, 5.0, d).astype(np.float32)
        self.cut = rng.uniform(0.0, 2.0, d).astype(np.float32)

    def shape(
        self, X: NDArray[np.float32], F: NDArray[np.float32], of_query: NDArray[np.float32]
    ) -> None:
        """Turn standard Gaussian noise into features, in place."""
        X *= self.own  # no matrix products: their rounding would depend on the block's shape
        X += F[:, self.factor] * self.tie
        X[:, self.of_query] = of_query[:, self.factor[self.of_query]]
        X *= self.spread
        X[:, self.flags] = X[:, self.flags] > self.cut[self.flags]
        counts = X[:, self.counts]
        np.floor(np.exp(counts + self.level[self.counts]), out=counts)


SIMULATORS: Mapping[str, Callable[..., Simulated]] = {
    "separable": separable,
    "predtron": predtron_gaussian,
    "predtron-sparse": predtron_sparse,
    "mslr-like": mslr_like,
}
"""Every simulator by its name: each takes `n_queries` and `rng`, and options by keyword."""
