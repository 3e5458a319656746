"""The gap between each grade of a query and all lower grades, without listing pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.memory import row_blocks
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]


class Levels:
    """The judged documents of a data set, one level for each grade of each query.

    Cost: O(n log n) once and for each call of :meth:`gaps`; O(n) memory.
    """

    def __init__(self, data: QueryDataset) -> None:
        judged = np.flatnonzero(data.y >= 0)
        query = np.repeat(np.arange(len(data)), data.sizes)[judged]
        order = np.lexsort((data.y[judged], query))  # by query, lowest grade first
        self.rows = judged[order]
        query, grade = query[order], data.y[self.rows]
        new_query = np.diff(query, prepend=-1) > 0
        new = new_query | (np.diff(grade, prepend=np.nan) != 0)
        self.level = np.cumsum(new) - 1
        self.starts = np.flatnonzero(new)
        self.ends = np.r_[self.starts[1:], len(self.rows)]
        first = new_query[self.starts]
        count = np.arange(len(self.starts))
        self.height = count - np.maximum.accumulate(np.where(first, count, 0))

    def gaps(self, scores: Floats) -> tuple[Floats, Rows, Rows]:
        """Find the closest pair of each level above the lowest of its query.

        It returns the difference of scores (negative if the order is wrong), and the two rows: the
        lowest score of the level, and the highest score of all lower grades.
        """
        if len(self.rows) == 0:
            return np.empty(0), self.rows, self.rows
        values = scores[self.rows]
        order = np.lexsort((values, self.level))
        lowest, highest = self.rows[order[self.starts]], self.rows[order[self.ends - 1]]
        # `highest` becomes a running maximum over the levels of a query, from the lowest grade up.
        # Levels of one height are updated together, so the loop is as long as the most grades.
        for height in range(1, int(self.height.max(initial=0)) + 1):
            here = np.flatnonzero(self.height == height)
            covered = scores[highest[here - 1]] >= scores[highest[here]]
            highest[here[covered]] = highest[here[covered] - 1]
        upper = np.flatnonzero(self.height > 0)
        better, worse = lowest[upper], highest[upper - 1]
        return scores[better] - scores[worse], better, worse


def exact_scores(data: QueryDataset, weights: Floats) -> Floats:
    """Return X w in float64, a few rows at a time."""
    if data.n_features == 0:
        return np.zeros(data.n_documents)
    scores = np.empty(data.n_documents)
    for rows in row_blocks(*data.X.shape):
        scores[rows] = data.X[rows].astype(np.float64) @ weights
    if not np.isfinite(scores).all():
        raise DataError("a document's score is not a number: first fill in missing features")
    return scores


def as_weights(data: QueryDataset, weights: ArrayLike) -> Floats:
    """Check a weight vector for this data set."""
    w = np.asarray(weights, np.float64)
    if w.shape != (data.n_features,) or not np.isfinite(w).all():
        raise DataError(
            f"weights must be {data.n_features} finite numbers, one per feature; "
            f"found an array of shape {w.shape}"
        )
    return w
