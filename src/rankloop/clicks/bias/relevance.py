"""Relevance as a function of features, fitted to expected relevance, for regression EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from scipy.special import expit

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.validation import as_matrix
from rankloop.exceptions import DataError, NotFittedError
from rankloop.rankers.batch.lbfgs import descend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog


class Relevance(Protocol):
    """A regression that turns features into probabilities of relevance."""

    def fit(
        self, X: NDArray[np.float32], targets: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> Self:
        """Return a regression fitted to targets from 0 to 1, with a weight for each row."""

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return a probability of relevance for each row."""


@dataclass(frozen=True, eq=False)
class LogisticRelevance:
    """P(relevant) = 1 / (1 + exp(-w x - b)).

    `fit` continues from the current weights: a few steps of L-BFGS are enough if it is called
    repeatedly with targets that change little.

    Parameters
    ----------
    ridge : the penalty ridge / 2 |w|^2, added to the summed cross entropy, at least 0
    steps : steps of L-BFGS per fit, at least 1
    weights : w, and b as the last one; learnt by `fit`

    Notes
    -----
    Cost: two passes over the features per step.
    """

    ridge: float = 1.0
    steps: int = 5
    weights: NDArray[np.float64] | None = None

    def fit(
        self, X: NDArray[np.float32], targets: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> Self:
        """Return a regression fitted to the targets."""
        start = np.zeros(X.shape[1] + 1) if self.weights is None else self.weights

        def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            scores = _scores(X, w)
            value = (weights * (np.logaddexp(0, scores) - targets * scores)).sum()
            slope = weights * (expit(scores) - targets)
            gradient = np.r_[_core.column_products(X, slope, threads()), slope.sum()]
            gradient[:-1] += self.ridge * w[:-1]
            return float(value + self.ridge / 2 * (w[:-1] ** 2).sum()), gradient

        fitted = start
        for point, _ in islice(descend(objective, start, 1e-8), self.steps):
            fitted = point
        return replace(self, weights=fitted)

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return a probability of relevance for each row."""
        if self.weights is None:
            raise NotFittedError("relevance has not been learnt; call fit first")
        return np.asarray(expit(_scores(X, self.weights)))


def _scores(X: NDArray[np.float32], w: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_core.row_products(X, np.ascontiguousarray(w[:-1]), threads()) + w[-1])


def as_features(X: object, log: ClickLog) -> NDArray[np.float32]:
    """Return features of the log's rows, standardised by column; missing values become means."""
    matrix = as_matrix(X, allow_nan=True).astype(np.float64)
    if len(matrix) != len(log.documents):
        raise DataError(
            f"there are features for {len(matrix):,} rows, but the log has "
            f"{len(log.documents):,}; give one row per shown document, in the order "
            "of the log"
        )
    known = ~np.isnan(matrix)
    seen = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, matrix, 0).sum(axis=0) / seen
    centred = np.where(known, matrix - mean, 0)
    spread = np.sqrt((centred**2).sum(axis=0) / seen)
    return np.ascontiguousarray(centred / np.where(spread > 0, spread, 1), np.float32)
