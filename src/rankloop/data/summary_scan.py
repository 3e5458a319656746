"""What a summary finds in the features: in blocks of dense rows, or in nonzeros of sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.memory import row_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.sparse_rows import SparseRows

SENTINELS = (-1.0, -99.0, -999.0, -9999.0)
"""A feature that is never negative but for one of these, in at least 5% of rows, hides gaps."""
SENTINEL_SHARE = 0.05


@dataclass(frozen=True)
class Scan:
    """The result of one pass over the columns: arrays with one value per feature."""

    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    mean: NDArray[np.float64]
    rms: NDArray[np.float64]
    zeros: NDArray[np.int64]
    missing: NDArray[np.int64]
    level: NDArray[np.bool_]
    equal: tuple[tuple[int, ...], ...]


def scan_columns(X: NDArray[np.float32], offsets: NDArray[np.int64]) -> Scan:
    """Read every value once, a block of rows at a time."""
    n, d = X.shape
    low, high = np.full(d, np.nan, np.float32), np.full(d, np.nan, np.float32)
    total, squares = np.zeros(d), np.zeros(d)
    zeros, missing = np.zeros(d, np.int64), np.zeros(d, np.int64)
    level = np.ones(d, bool)
    groups = [list(range(d))] if d > 1 and n else []  # columns equal so far
    inside = np.ones(n, bool)  # the row before is of the same query
    inside[offsets[:-1][offsets[:-1] < n]] = False
    for rows in row_blocks(n, d):
        block = _copy(X, rows)
        groups = [part for group in groups for part in _split(group, block)]
        zeros += np.count_nonzero(block == 0, axis=0)
        low = np.fmin(low, np.fmin.reduce(block, axis=0))
        high = np.fmax(high, np.fmax.reduce(block, axis=0))
        if np.isnan(block).any():
            missing += np.count_nonzero(np.isnan(block), axis=0)
            block[np.isnan(block)] = 0
        total += block.sum(axis=0, dtype=np.float64)
        squares += np.einsum("ij,ij->j", block, block, dtype=np.float64)
        first = max(rows.start - 1, 0)
        alive = np.flatnonzero(level)  # few remain after a block or two
        if len(alive):
            some = X[first : rows.stop, alive]
            same = (some[1:] == some[:-1]) | (np.isnan(some[1:]) & np.isnan(some[:-1]))
            level[alive] = same[inside[first + 1 : rows.stop]].all(axis=0)
    known = np.maximum(n - missing, 1)
    mean = np.where(missing < n, total / known, np.nan)
    return Scan(
        low.astype(np.float64),
        high.astype(np.float64),
        mean,
        np.sqrt(squares / known),
        zeros,
        missing,
        level,
        tuple(map(tuple, groups)),
    )


def _split(group: list[int], block: NDArray[np.float32]) -> list[list[int]]:
    """Divide columns by their values in this block; a single column is no longer a duplicate."""
    parts: dict[bytes, list[int]] = {}
    for j in group:
        parts.setdefault(block[:, j].tobytes(), []).append(j)
    return [part for part in parts.values() if len(part) > 1]


def sentinels(X: NDArray[np.float32], scan: Scan) -> tuple[tuple[int, float], ...]:
    """Return (column, value) of each value that probably means missing; see SENTINELS."""
    candidates = np.flatnonzero(np.isin(scan.minimum, SENTINELS))
    low, high = scan.minimum[candidates], scan.maximum[candidates]
    at_low, negative, between = np.zeros((3, len(candidates)), np.int64)
    for rows in row_blocks(len(X), len(candidates)):
        some = X[rows, candidates]
        at_low += (some == low).sum(axis=0)
        negative += (some < 0).sum(axis=0)
        between += ((some > low) & (some < high)).sum(axis=0)  # 0: just two values, as -1 and 1
    hides = (at_low == negative) & (between > 0) & (at_low >= SENTINEL_SHARE * len(X))
    return tuple(zip(candidates[hides].tolist(), low[hides].tolist(), strict=True))


def duplicate_documents(X: NDArray[np.float32], offsets: NDArray[np.int64]) -> int:
    """Count documents whose features equal those of an earlier one in the same query.

    It compares 128-bit digests, so it needs 16 bytes per document of one query at a time.
    """
    n, d = X.shape
    if d == 0:
        return 0
    starts = set(offsets[:-1].tolist())
    seen: set[bytes] = set()
    distinct = 0
    for rows in row_blocks(n, d):
        for row, values in enumerate(_copy(X, rows), rows.start):
            if row in starts:
                distinct += len(seen)
                seen = set()
            seen.add(blake2b(values, digest_size=16).digest())
    return int(n) - distinct - len(seen)


def _copy(X: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
    """Copy some rows, in C order, with -0 turned into 0, so that equal values are equal bytes."""
    return np.add(X[rows], np.float32(0), order="C")


def scan_sparse_columns(X: SparseRows, offsets: NDArray[np.int64]) -> Scan:
    """Return what :func:`scan_columns` finds in the dense rows."""
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
        entries = slice(ends[j] - stored[j], ends[j])
        groups.setdefault(_digest(rows[entries], values[entries]), []).append(j)
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
