"""Whether the features of requests have changed over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RECENT = 0.005  # the weight of the newest ranking among the recent ones


class Drift:
    """How far the features of the newest rankings are from those of all examined rankings.

    The shift of a feature is the distance of the two means in standard deviations.

    >>> drift = Drift(1)
    >>> for _ in range(1000):
    ...     drift.add(np.array([[-1.0], [1.0]]))
    >>> before = drift.shifts()
    >>> for _ in range(300):
    ...     drift.add(np.array([[3.0], [5.0]]))
    >>> before, drift.shifts().round(1)
    (array([0.]), array([1.1]))
    """

    def __init__(self, width: int) -> None:
        self.rankings = 0
        self._n = 0.0
        self._mean, self._squares = np.zeros(width), np.zeros(width)
        self._recent = np.zeros(width)

    def add(self, X: NDArray[np.generic]) -> None:
        """Add a ranking."""
        rows = np.asarray(X, np.float64)
        if not len(rows) or rows.shape[1] != len(self._mean):
            return
        mean = rows.mean(axis=0)
        n = self._n + len(rows)
        away = mean - self._mean
        spread = ((rows - mean) ** 2).sum(axis=0)
        self._squares += spread + away**2 * self._n * len(rows) / n
        self._mean += away * len(rows) / n
        self._n = n
        self.rankings += 1
        self._recent += max(_RECENT, 1 / self.rankings) * (mean - self._recent)

    def shifts(self) -> NDArray[np.float64]:
        """Return the shift of every feature; 0 if it never varies."""
        spread = np.sqrt(self._squares / max(self._n, 1.0))
        away = self._recent - self._mean
        return np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
