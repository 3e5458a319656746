"""What the features of recent rankings look like: missing values, means, quantiles and changes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.features.columns import Features
    from rankloop.serving.live_features.fold import Matrix

    Column = NDArray[np.float32]

_RANKINGS = 200  # rankings that count as recent, and as many first ones to compare with
_ROWS = 50  # items of each


class ColumnStatistics(msgspec.Struct):
    """One column in recent rankings.

    missing : the share of missing values
    mean, low, middle, high : of the numbers that are known; low and high leave out a twentieth each
    different : the number of different categories, for a category
    shift : how far the mean is from that of the first rankings of this process, in standard
        deviations of those; for a category, the share of items by which the distributions differ
    """

    name: str
    missing: float
    mean: float | None = None
    low: float | None = None
    middle: float | None = None
    high: float | None = None
    shift: float = 0.0
    different: int | None = None


class Recent:
    """The first and the latest rankings of a process; nothing of it is stored.

    Memory: some 20,000 rows of features.
    """

    def __init__(self) -> None:
        self.items, self.unknown = 0, 0
        self._columns = 0
        self._first: list[NDArray[np.float32]] = []
        self._latest: deque[NDArray[np.float32]] = deque(maxlen=_RANKINGS)

    def add(self, matrix: Matrix) -> None:
        """Add the features of a ranking."""
        if matrix.columns != self._columns:  # other features: start again
            self._columns = matrix.columns
            self._first, self._latest = [], deque(maxlen=_RANKINGS)
        self.items += len(matrix.X)
        self.unknown += len(matrix.unknown)
        rows = matrix.X[:_ROWS]
        self._latest.append(rows)
        if len(self._first) < _RANKINGS:
            self._first.append(rows)

    def columns(self, features: Features) -> list[ColumnStatistics]:
        """Return the statistics of each column; empty before the first ranking."""
        latest, first = list(self._latest), list(self._first)
        if not latest or latest[0].shape[1] != len(features):
            return []
        now, before = np.concatenate(latest), np.concatenate(first)
        return [
            (_describe_category if feature.kind == "category" else _describe)(
                feature.name, now[:, column], before[:, column]
            )
            for column, feature in enumerate(features)
        ]


def _describe_category(name: str, now: Column, before: Column) -> ColumnStatistics:
    """Count codes: their means would say nothing."""
    new, old = now[~np.isnan(now)], before[~np.isnan(before)]
    missing = float(np.isnan(now).mean())
    codes, n = np.unique(new, return_counts=True)
    if not len(new) or not len(old):
        return ColumnStatistics(name, missing, different=len(codes))
    every = np.union1d(codes, old)
    shares = [
        np.bincount(np.searchsorted(every, part), minlength=len(every)) / len(part)
        for part in (new, old)
    ]
    moved = float(np.abs(shares[0] - shares[1]).sum() / 2)
    return ColumnStatistics(name, missing, shift=moved, different=len(n))


def _describe(name: str, now: Column, before: Column) -> ColumnStatistics:
    absent = np.isnan(now)
    known = now[~absent].astype(np.float64)
    missing = float(absent.mean())
    if not len(known):
        return ColumnStatistics(name, missing)
    low, middle, high = np.quantile(known, [0.05, 0.5, 0.95]).tolist()
    old = before[~np.isnan(before)].astype(np.float64)
    spread = float(old.std()) if len(old) else 0.0
    shift = (float(known.mean()) - float(old.mean())) / spread if spread > 0 else 0.0
    return ColumnStatistics(name, missing, float(known.mean()), low, middle, high, shift)
