"""Streams that can break rankers: outliers, changes of scale, collinear columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Query = tuple[NDArray[np.float32], NDArray[np.float64]]

KINDS = (
    "one cell of 1e20",
    "one cell of 3e38",
    "a query of scale 1e10",
    "a query of scale 1e-10",
    "all cells the largest number",
    "equal columns of scale 1e8",
    "constant columns",
    "collinear columns",
    "equal documents",
    "one document",
    "one grade",
    "no document judged",
    "grades up to 30",
)
"""The kinds of difficult queries."""


def hostile_queries(
    n_queries: int, rng: np.random.Generator, share: float = 0.5
) -> Iterator[Query]:
    """Yield queries with 8 features; a share of them is of one of the :data:`KINDS`."""
    weights = rng.normal(size=8)
    for _ in range(n_queries):
        X, y = plain_query(rng, weights)
        if rng.random() < share:
            X, y = spoil(X, y, KINDS[rng.integers(len(KINDS))], rng)
        yield X.astype(np.float32), y


def plain_query(rng: np.random.Generator, weights: NDArray[np.float64]) -> Query:
    """Make a query with grades 0 to 2 that the weights rank perfectly."""
    X = rng.random((int(rng.integers(2, 16)), len(weights)), np.float32)
    places = np.argsort(np.argsort(X @ weights))
    return X, np.floor(3 * places / len(X))


def spoil(
    X: NDArray[np.float32], y: NDArray[np.float64], kind: str, rng: np.random.Generator
) -> Query:
    """Return a query with one thing wrong; every value stays finite."""
    X, y = X.copy(), y.copy()
    cell = rng.integers(len(X)), rng.integers(X.shape[1])
    match kind:
        case "one cell of 1e20":
            X[cell] = 1e20
        case "one cell of 3e38":
            X[cell] = -3e38
        case "a query of scale 1e10":
            X *= np.float32(1e10)
        case "a query of scale 1e-10":
            X *= np.float32(1e-10)
        case "all cells the largest number":
            X[:] = np.where(X > 0.5, 1, -1) * np.finfo(np.float32).max
        case "equal columns of scale 1e8":
            X[:] = X[:, :1] * np.float32(1e8)
        case "constant columns":
            X[:, ::2] = 7
        case "collinear columns":
            X[:, 4:] = X[:, :4] * 3 + 1
        case "equal documents":
            X[:] = X[0]
        case "one document":
            X, y = X[:1], y[:1]
        case "one grade":
            y[:] = 1
        case "no document judged":
            y[:] = -1
        case "grades up to 30":
            y *= 15
    return X, y


def outlier(data: QueryDataset, query: int, value: float) -> QueryDataset:
    """Return one query of a data set, with this value as the second feature of document 4."""
    spoilt = data.select(slice(query, query + 1))
    X = spoilt.X.copy()
    X[3, 1] = value
    return QueryDataset(X, spoilt.y, spoilt.offsets, spoilt.query_ids)
