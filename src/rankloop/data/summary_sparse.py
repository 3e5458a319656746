"""What a summary finds in sparse rows, at the cost of their nonzeros."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.summary_scan import SENTINEL_SHARE, SENTINELS, Scan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.sparse_rows import SparseRows


def scan_sparse_columns(X: SparseRows, offsets: NDArray[np.int64]) -> Scan:
    """Return what :func:`rankloop.data.summary_scan.scan_columns` finds in the dense rows."""
    n, d = X.shape
    columns, values = X.own_indices, X.values
    stored = np.bincount(columns, minlength=d)
    known = ~np.isnan(values)
    missing = stored - np.bincount(columns[known], minlength=d)
    low, high = np.full(d, np.nan, np.float32), np.full(d, np.nan, np.float32)
    zeros = n - stored
    low[zeros > 0] = high[zeros > 0] = 0
    np.fmin.at(low, columns, values)
    np.fmax.at(high, columns, values)
    numbers = np.where(known, values, 0).astype(np.float64)
    total = np.bincount(columns, numbers, minlength=d)
    squares = np.bincount(columns, numbers * numbers, minlength=d)
    counted = np.maximum(n - missing, 1)
    return Scan(
        low.astype(np.float64),
        high.astype(np.float64),
        np.where(missing < n, total / counted, np.nan),
        np.sqrt(squares / counted),
        zeros,
        missing,
        _same_in_queries(X, offsets),
        _equal_columns(X, stored),
    )


def _rows(X: SparseRows) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(X)), np.diff(X.indptr))


def _same_in_queries(X: SparseRows, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which columns have one value in each query: all rows or none have an entry."""
    level = np.ones(X.shape[1], bool)
    if not X.nnz:
        return level
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)[_rows(X)]
    order = np.lexsort((X.own_indices, query))
    query, column, value = query[order], X.own_indices[order], X.values[order]
    starts = np.flatnonzero(np.r_[True, (query[1:] != query[:-1]) | (column[1:] != column[:-1])])
    counts = np.diff(np.r_[starts, len(query)])
    same = value == np.repeat(value[starts], counts)
    same |= np.isnan(value) & np.isnan(np.repeat(value[starts], counts))
    alike = np.logical_and.reduceat(same, starts) & (counts == sizes[query[starts]])
    level[column[starts[~alike]]] = False
    return level


def _equal_columns(X: SparseRows, stored: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """Return groups of columns with the same nonzeros in the same rows; empty ones are constant."""
    order = np.argsort(X.own_indices, kind="stable")
    rows, values = _rows(X)[order], X.values[order]
    ends = np.cumsum(stored)
    groups: dict[bytes, list[int]] = {}
    for j in np.flatnonzero(stored).tolist():
        own = slice(ends[j] - stored[j], ends[j])
        groups.setdefault(_digest(rows[own], values[own]), []).append(j)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def sparse_sentinels(X: SparseRows, scan: Scan) -> tuple[tuple[int, float], ...]:
    """Return (column, value) of each value that probably means missing."""
    candidates = np.isin(scan.minimum, SENTINELS)
    of_candidates = candidates[X.own_indices]
    columns, values = X.own_indices[of_candidates], X.values[of_candidates]
    low, high = scan.minimum[columns], scan.maximum[columns]

    def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(columns[which], minlength=X.shape[1])

    at_low = count(values == low)
    between = count((values > low) & (values < high)) + scan.zeros * (scan.maximum > 0)
    hides = candidates & (at_low == count(values < 0)) & (between > 0)
    hides &= at_low >= SENTINEL_SHARE * len(X)
    return tuple((int(j), float(scan.minimum[j])) for j in np.flatnonzero(hides))


def duplicate_sparse_documents(X: SparseRows, offsets: NDArray[np.int64]) -> int:
    """Count documents whose features equal those of an earlier one in the same query."""
    if X.shape[1] == 0:
        return 0
    bounds = pairwise((X.indptr - X.indptr[0]).tolist())
    rows = [_digest(X.own_indices[a:b], X.values[a:b]) for a, b in bounds]
    return len(rows) - sum(len(set(rows[a:b])) for a, b in pairwise(offsets.tolist()))


def _digest(places: NDArray[np.integer], values: NDArray[np.float32]) -> bytes:
    return blake2b(places.tobytes() + values.tobytes(), digest_size=16).digest()
