"""The effect of a memory budget on a kernel perceptron: a mistake bound along a stream.

Let f be the minimax perceptron in the space of a kernel with K(x, x) <= R^2, at rate 1, and u any
function of that space, with loss l(u) = max(0, 1 - u(x_i) + u(x_j)) on the pair that a mistake
steps along. With v = c u, c > 0, a step f -> f + g changes |f - v|^2 by at most
|g|^2 - 2 c (1 - l(u)), since the pair is in the wrong order, and making room for it by

    D(c) = |f'|^2 - |f|^2 + 2 c |u| |f' - f|.

|f - v|^2 begins at c^2 |u|^2 and never falls below 0, so M mistakes give, for every c at once,

    M <= F + (c^2 |u|^2 + sum |g|^2 + sum D(c)) / (2 c),   F = sum l(u) over mistakes.

Without removals, with sum |g|^2 <= 4 R^2 M and the best c, this is Theorem 10. The proof holds for
any rule of removal; the effect of removals is measured. For documents removed at random,
:mod:`rankloop.theory.random_removal` bounds it in advance. The Forgetron keeps it below a share of
the mistakes by shrinking f. The others give no guarantee in advance.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.kernel.text import parse_kernel
from rankloop.theory.surrogates import is_mistake

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.kernel.online import KernelMinimax

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Expansion:
    """A function of the space of a kernel: sum_k coefficients_k K(rows_k, .)."""

    kernel: Kernel
    rows: NDArray[np.float32]
    coefficients: Floats

    @classmethod
    def of(cls, ranker: KernelMinimax) -> Expansion:
        """Return the function that a ranker has learnt."""
        return cls(parse_kernel(ranker.kernel), ranker.support_, ranker.coefficients_)

    def __call__(self, X: NDArray[np.float32]) -> Floats:
        """Return its values."""
        if not len(self.rows):
            return np.zeros(len(X))
        return np.asarray(self.kernel(X, self.rows).astype(np.float64) @ self.coefficients)

    def minus(self, other: Expansion) -> Expansion:
        """Return the difference of two functions."""
        rows = np.vstack([self.rows, other.rows])
        return Expansion(self.kernel, rows, np.r_[self.coefficients, -other.coefficients])

    @property
    def square(self) -> float:
        """Its squared norm, at least 0."""
        return max(0.0, float(self.coefficients @ self(self.rows)))


@dataclass(frozen=True, eq=False)
class BudgetBound:
    """A kernel perceptron along a stream.

    mistakes : number of mistakes after each query
    bound : bound on the mistakes after each query
    damage : what removals added to the bound, at the last query
    """

    mistakes: NDArray[np.int64]
    bound: Floats
    damage: float


def track_budget(ranker: KernelMinimax, data: QueryDataset, comparison: Expansion) -> BudgetBound:
    """Run a copy of a kernel perceptron on a budget, and bound its mistakes after each query.

    Parameters
    ----------
    ranker : an unfitted ranker with rate 1 and without decay; any budget and removal
    data : the stream, in order
    comparison : u; for example `Expansion.of` a ranker without a budget, divided by its margin

    Notes
    -----
    Cost: O(B^2 d) per mistake with B documents held.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.kernel.online import KernelMinimax
    >>> data = separable(40, np.random.default_rng(0), n_documents=5, n_features=3).data
    >>> u = Expansion.of(KernelMinimax("rbf(1)", budget=None, passes=20).fit(data))
    >>> tracked = track_budget(KernelMinimax("rbf(1)", budget=20), data, u)
    >>> bool((tracked.mistakes <= tracked.bound).all())
    True
    """
    if ranker.rate != 1 or ranker.decay != 0 or ranker.is_fitted:
        raise DataError(
            "this bound holds for a ranker with rate 1 and without decay that has "
            "not learnt anything yet"
        )
    player = copy.deepcopy(ranker)
    f = Expansion(comparison.kernel, data.X[:0], np.zeros(0))
    norm = np.sqrt(comparison.square)
    mistakes = np.zeros(len(data), np.int64)
    terms = np.zeros((len(data), 4))  # loss of u, |g|^2, change of |f|^2, |f' - f|
    for q, query in enumerate(data):
        X = np.ascontiguousarray(query.X, np.float32)
        scores = f(X)
        mistakes[q] = is_mistake(scores.astype(np.float32), query.y)
        player.learn(X, query.y)
        if not mistakes[q]:
            continue
        stepped, g = _step(f, X, query.y, scores)
        f = Expansion.of(player)
        loss = max(0.0, 1 - float(g.coefficients @ comparison(g.rows)))
        gap = f.minus(stepped).square
        terms[q] = loss, g.square, f.square - stepped.square, np.sqrt(gap)
    sums = np.cumsum(terms, axis=0)
    constant = np.maximum(sums[:, 1] + sums[:, 2], 0.0)
    # The bound holds for every c at once. F + |u| sum |f' - f| + c |u|^2 / 2 + constant / (2 c) is
    # smallest at c = sqrt(constant) / |u|.
    bound = sums[:, 0] + norm * sums[:, 3] + norm * np.sqrt(constant)
    return BudgetBound(np.cumsum(mistakes), bound, float(sums[-1, 2] + 2 * norm * sums[-1, 3]))


def _step(
    f: Expansion, X: NDArray[np.float32], y: Floats, scores: Floats
) -> tuple[Expansion, Expansion]:
    """Return f after the step along the worst pair, before any removal, and the step."""
    i, j = max(
        ((i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j] >= 0),
        key=lambda pair: (np.float32(scores[pair[1]]) - np.float32(scores[pair[0]]), -pair[0]),
    )
    g = Expansion(f.kernel, X[[i, j]], np.array([1.0, -1.0]))
    rows = np.vstack([f.rows, g.rows])
    return Expansion(f.kernel, rows, np.r_[f.coefficients, g.coefficients]), g
