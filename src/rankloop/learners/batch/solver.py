"""Trust-region Newton steps by conjugate gradients, for smooth convex losses of linear scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.learners.batch.preconditioner import preconditioner
from rankloop.losses.whole import WholeLoss
from rankloop.processors import threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.batch.preconditioner import Dense, Diagonal
    from rankloop.losses.base import Floats, QueryLoss

_MOST_ROUNDS, _MOST_PRODUCTS = 1000, 1000
_FLAT = 0.1  # conjugate gradients end where a product lowers the model by this part of the mean
_STALE = 10  # after more products than this, a new preconditioner pays


@dataclass(frozen=True)
class Point:
    """Where the solver stands: weights, objective, gradient."""

    w: Floats
    objective: float
    gradient: Floats


class Ridge:
    """f(w) = |w|^2 / 2 + C sum of the loss over queries, of scores X w.

    Features are read as float32 and added up in float64, in an order that does not depend on the
    number of threads.
    """

    def __init__(self, data: QueryDataset, loss: QueryLoss, C: float) -> None:
        self._data, self._C = data, C
        self._whole = WholeLoss(loss, data)

    def at(self, w: Floats) -> Point:
        """Go to w; products are from now on those with the Hessian there."""
        value, slope = self._whole.at(_core.row_products(self._data.X, w, threads()))
        gradient = w + self._C * _core.column_products(self._data.X, slope, threads())
        return Point(w, float(w @ w / 2 + self._C * value), gradient)

    def product(self, v: Floats) -> Floats:
        """Return the Hessian times v."""
        bent = self._whole.curvature(_core.row_products(self._data.X, v, threads()))
        return v + self._C * _core.column_products(self._data.X, bent, threads())

    def preconditioner(self) -> Dense | Diagonal:
        """Return about the Hessian."""
        return preconditioner(self._data, self._whole.diagonal(), self._C)


def minimise(problem: Ridge, start: Floats, tolerance: float) -> Iterator[Point]:
    """Go down from `start`; give the point after each round, never a worse one than before.

    The last round is one whose step was foretold to lower the objective by less than `tolerance`
    times what it is.

    Notes
    -----
    Cost: two passes over the features for each of 5 to 50 products a round; 5 to 20 rounds.

    References
    ----------
    Lin, Weng and Keerthi, Trust region Newton method for logistic regression (2008); Nash and
    Sofer, Assessing a search direction within a truncated-Newton method (1990): when to stop.
    """
    here, radius = problem.at(start), np.inf
    M, products = problem.preconditioner(), 0
    for _ in range(_MOST_ROUNDS):
        if not here.gradient.any():
            return
        if products > _STALE:
            M = problem.preconditioner()
        step, foretold, products = _newton_step(problem, here.gradient, M, radius)
        there = problem.at(here.w + step)
        lowered = here.objective - there.objective
        noise = 1e-13 * abs(here.objective)  # both sums are rounded
        length = _norm(step, M)
        if lowered < 0.25 * foretold - noise:
            radius = 0.25 * length
        elif lowered > 0.75 * foretold:
            radius = max(radius, 2 * length)
        if lowered >= 0:
            here = there
            yield here
        else:
            problem.at(here.w)  # as if we had not gone
        if foretold <= max(tolerance * abs(here.objective), noise):
            return


def _newton_step(
    problem: Ridge, gradient: Floats, M: Dense | Diagonal, radius: float
) -> tuple[Floats, float, int]:
    """Minimise g.s + s.Hs/2 over |s| <= radius, nearly; |s| is the root of s.Ms.

    Returns the step, how much it promises, and how many products it took.
    """
    step, residual = np.zeros_like(gradient), -gradient
    towards = M.solve(residual)
    direction, size = towards, residual @ towards
    promised, k = 0.0, 0
    while size > 0 and k < _MOST_PRODUCTS:
        k += 1
        bent = problem.product(direction)
        alpha = float(size / (direction @ bent))
        outside = _norm(step + alpha * direction, M) > radius
        if outside:
            alpha = _to_the_edge(step, direction, M, radius)
        step, residual = step + alpha * direction, residual - alpha * bent
        before, promised = promised, float((residual - gradient) @ step / 2)
        if outside or k * (promised - before) <= _FLAT * promised:
            break
        towards = M.solve(residual)
        old, size = size, residual @ towards
        direction = towards + size / old * direction
    return step, promised, k


def _norm(v: Floats, M: Dense | Diagonal) -> float:
    return math.sqrt(v @ M.times(v))


def _to_the_edge(step: Floats, direction: Floats, M: Dense | Diagonal, radius: float) -> float:
    """Return t >= 0 with |step + t direction| = radius."""
    moved = M.times(direction)
    a, b = float(direction @ moved), float(step @ moved)
    c = float(step @ M.times(step)) - radius**2
    return (math.sqrt(max(b * b - a * c, 0.0)) - b) / a
