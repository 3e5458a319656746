"""What a summary finds in the features, in passes over blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.blocks import row_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
