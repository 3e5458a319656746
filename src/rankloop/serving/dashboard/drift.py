"""Whether the features of requests have changed over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_RECENT = 0.005  # the weight of the newest ranking among the recent ones
_CELLS = 64  # in which the codes of a category are counted; codes share them by their remainder


class Shift(NamedTuple):
    """How a feature has changed.

    shift : for numbers, the distance of the two means in standard deviations; for categories, the
        share of recent items by which their distribution differs from that of all, from 0 to 1
    missing, was_missing : the share of missing values, recently and in all rankings
    is_category : which of the two the shift is
    """

    shift: float
    missing: float
    was_missing: float
    is_category: bool


class Drift:
    """How far the features of the newest rankings are from those of all examined rankings.

    Missing values are counted, and belong to no mean.

    Parameters
    ----------
    categorical : whether each column holds codes of categories

    >>> drift = Drift([False, True])
    >>> for _ in range(1000):
    ...     drift.add(np.array([[-1.0, 3], [1.0, np.nan]]))
    >>> for _ in range(300):
    ...     drift.add(np.array([[3.0, 4], [5.0, np.nan]]))
    >>> [(round(column.shift, 1), column.missing) for column in drift.shifts()]
    [(1.1, 0.0), (0.5, 0.5)]
    """

    def __init__(self, categorical: Sequence[bool]) -> None:
        width = len(categorical)
        self.categorical = tuple(categorical)
        self.rankings = 0
        self._rows = 0.0
        self._n, self._mean, self._squares, self._recent = (np.zeros(width) for _ in range(4))
        self._seen = np.zeros(width)  # rankings in which a column was known
        self._missing, self._absent = np.zeros(width), np.zeros(width)
        codes = [j for j, flag in enumerate(categorical) if flag]
        self._counts = {j: np.zeros(_CELLS) for j in codes}
        self._mix = {j: np.zeros(_CELLS) for j in codes}

    def add(self, X: NDArray[np.generic]) -> None:
        """Add a ranking."""
        rows = np.asarray(X, np.float64)
        if not len(rows) or rows.shape[1] != len(self.categorical):
            return
        known = ~np.isnan(rows)
        self.rankings += 1
        self._rows += len(rows)
        absent = 1 - known.mean(axis=0)
        self._absent += absent * len(rows)
        self._missing += max(_RECENT, 1 / self.rankings) * (absent - self._missing)
        self._add_numbers(np.where(known, rows, 0.0), known)
        for j, counts in self._counts.items():
            codes = rows[known[:, j], j].astype(np.int64) % _CELLS
            if len(codes):
                cells = np.bincount(codes, minlength=_CELLS).astype(np.float64)
                counts += cells
                step = max(_RECENT, 1 / self._seen[j])
                self._mix[j] += step * (cells / len(codes) - self._mix[j])

    def _add_numbers(self, values: Floats, known: NDArray[np.bool_]) -> None:
        """Add the means and spreads of what is known; for codes they mean nothing."""
        m = known.sum(axis=0)
        there = m > 0
        self._seen += there
        mean = values.sum(axis=0) / np.maximum(m, 1)
        spread = (np.where(known, values - mean, 0.0) ** 2).sum(axis=0)
        away = mean - self._mean
        total = np.maximum(self._n + m, 1)
        self._squares += np.where(there, spread + away**2 * self._n * m / total, 0.0)
        self._mean += np.where(there, away * m / total, 0.0)
        self._n += m
        step = np.maximum(_RECENT, 1 / np.maximum(self._seen, 1))
        self._recent += np.where(there, step * (mean - self._recent), 0.0)

    def shifts(self) -> list[Shift]:
        """Return the shift of every feature; 0 if it never varies, or was never known."""
        spread = np.sqrt(self._squares / np.maximum(self._n, 1.0))
        away = self._recent - self._mean
        moved = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
        for j, counts in self._counts.items():
            usual = counts / max(counts.sum(), 1.0)
            moved[j] = np.abs(self._mix[j] - usual).sum() / 2 if counts.any() else 0.0
        before = self._absent / max(self._rows, 1.0)
        columns = zip(moved, self._missing, before, self.categorical, strict=True)
        return [Shift(float(s), float(m), float(b), c) for s, m, b, c in columns]
