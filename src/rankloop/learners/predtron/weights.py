"""Weights: a matrix in some geometry, or a sum of kernel functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.arithmetic import row_pairs
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.learners.predtron.geometry import Geometry

    Floats = NDArray[np.float64]

Kernel = Callable[[Any, Any], Any]
"""k(A, B): the matrix of kernel values of the rows of A and of B."""


class DenseWeights:
    """A (rows, features) matrix and its dual; its mean over rounds, where asked for.

    Cost: O(size) a round and in memory; a Schatten step is a singular value decomposition.
    """

    def __init__(self, geometry: Geometry, shape: tuple[int, int], average: bool) -> None:
        geometry.check(shape)
        self.geometry = geometry
        self.dual = np.zeros(shape)
        self.matrix = np.zeros(shape)
        self.total = np.zeros(shape) if average else None
        self.rounds = 0

    def scores(self, X: Floats, *, mean: bool = False) -> Floats:
        """Return the scores of rows: by the last weights, or by their mean."""
        if mean and self.total is not None and self.rounds:
            return row_pairs(X, self.total) / self.rounds
        return row_pairs(X, self.matrix)

    def learn(self, X: Floats, step: Floats | None) -> None:
        """End a round, after moving scores of the rows of X along `step` where it is given."""
        if step is not None:
            self.dual = self.dual + row_pairs(step.T, X.T)
            self.matrix = self.geometry.weights(self.dual)
        self.rounds += 1
        if self.total is not None:
            self.total = self.total + self.matrix


class KernelWeights:
    """Inputs that were stepped on, and by how much; scores are k(X, inputs) @ coefficients.

    Cost: memory and time of a round grow with the number of rows stepped on. The mean over rounds
    gives a row the share of the rounds that came after it.
    """

    def __init__(self, kernel: Kernel, shape: tuple[int, int], average: bool) -> None:
        self.kernel, self.average = kernel, average
        self.inputs = np.zeros((0, shape[1]))
        self.coefficients = np.zeros((0, shape[0]))
        self.since = np.zeros(0)
        self.rounds = 0

    def scores(self, X: Floats, *, mean: bool = False) -> Floats:
        """Return the scores of rows: by the last weights, or by their mean."""
        if not len(self.inputs):
            return np.zeros((len(X), self.coefficients.shape[1]))
        values = np.asarray(self.kernel(X, self.inputs), np.float64)
        if values.shape != (len(X), len(self.inputs)):
            raise DataError(
                f"kernel(A, B) must have a row for each row of A and a column for each of B: "
                f"{(len(X), len(self.inputs))}; found {values.shape}"
            )
        if mean and self.average and self.rounds:
            values = values * (1 - self.since / self.rounds)
        return row_pairs(values, self.coefficients.T)

    def learn(self, X: Floats, step: Floats | None) -> None:
        """End a round, after adding the rows of X that `step` moves."""
        if step is not None:
            rows = step.any(axis=1)
            self.inputs = np.vstack([self.inputs, X[rows]])
            self.coefficients = np.vstack([self.coefficients, step[rows]])
            self.since = np.r_[self.since, np.full(rows.sum(), float(self.rounds))]
        self.rounds += 1
