"""Weights: a matrix in some geometry, or a sum of kernel functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.arithmetic import row_pairs
from rankloop.exceptions import DataError
from rankloop.rankers.kernel.text import parse_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.predtron.geometry import Geometry

    Floats = NDArray[np.float64]

Kernel = Callable[["Floats", "Floats"], "NDArray[np.float32 | np.float64]"]
"""k(A, B): the matrix of kernel values of the rows of A and of B."""


class NamedKernel:
    """A kernel by its name, for rows of float64.

    >>> NamedKernel("poly(2)")(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]])).tolist()
    [[9.0]]
    """

    def __init__(self, text: str) -> None:
        self.kernel = parse_kernel(text)

    def __call__(self, A: Floats, B: Floats) -> NDArray[np.float32]:
        """Return the kernel of every row of A with every row of B."""
        rows, others = A.astype(np.float32), B.astype(np.float32)
        self.kernel.check_rows(rows)
        return self.kernel(rows, others)


class DenseWeights:
    """A (rows, features) matrix and its dual; its mean over rounds, where asked for.

    Cost: O(size) per round and in memory; a Schatten step is a singular value decomposition.
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
        """End a round, after moving the scores of the rows of X along `step` if it is given."""
        if step is not None:
            self.dual = self.dual + row_pairs(step.T, X.T)
            self.matrix = self.geometry.weights(self.dual)
        self.rounds += 1
        if self.total is not None:
            self.total = self.total + self.matrix


class KernelWeights:
    """Inputs that were stepped on, and by how much; scores are k(X, inputs) @ coefficients.

    Cost: memory and time of a round grow with the number of rows stepped on, up to the budget. The
    mean over rounds gives a row the share of the rounds that came after it. Beyond the budget the
    rows that count for least are forgotten, those whose largest coefficient times sqrt(k(x, x)) is
    smallest, older ones first.
    """

    def __init__(
        self, kernel: Kernel, shape: tuple[int, int], average: bool, budget: int | None = None
    ) -> None:
        self.kernel, self.average, self.budget = kernel, average, budget
        self.inputs = np.zeros((0, shape[1]))
        self.coefficients = np.zeros((0, shape[0]))
        self.since = np.zeros(0)
        self.lengths = np.zeros(0)  # sqrt(k(x, x)) of the inputs
        self.rounds = 0

    def scores(self, X: Floats, *, mean: bool = False) -> Floats:
        """Return the scores of rows: by the last weights, or by their mean."""
        if not len(self.inputs):
            return np.zeros((len(X), self.coefficients.shape[1]))
        values = self._values(X, self.inputs)
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
            if self.budget is not None:
                own = [float(self._values(x[None], x[None])[0, 0]) for x in X[rows]]
                self.lengths = np.r_[self.lengths, np.sqrt(np.maximum(own, 0.0))]
                self._forget(self.budget)
        self.rounds += 1

    def _values(self, A: Floats, B: Floats) -> Floats:
        values = np.asarray(self.kernel(A, B), np.float64)
        if values.shape != (len(A), len(B)):
            raise DataError(
                f"kernel(A, B) must have a row for each row of A and a column for each of B: "
                f"{(len(A), len(B))}; found {values.shape}"
            )
        return values

    def _forget(self, budget: int) -> None:
        """Keep no more inputs than the budget."""
        excess = len(self.inputs) - budget
        if excess > 0:
            size = np.abs(self.coefficients).max(axis=1) * self.lengths
            kept = np.sort(np.argsort(size, kind="stable")[excess:])
            self.inputs, self.coefficients = self.inputs[kept], self.coefficients[kept]
            self.since, self.lengths = self.since[kept], self.lengths[kept]
