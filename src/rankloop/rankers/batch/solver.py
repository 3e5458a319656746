"""Trust-region Newton method with conjugate gradients, for smooth convex losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.rankers.batch.preconditioner import preconditioner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.losses.base import Floats
    from rankloop.rankers.batch.loss_sum import LossSum
    from rankloop.rankers.batch.preconditioner import Dense, Diagonal

_MAX_ROUNDS, _MAX_PRODUCTS = 1000, 1000
_FLAT = 0.1  # stop when a product lowers the model by this fraction of the mean decrease
_STALE = 10  # after more products than this, a new preconditioner is worth its cost


@dataclass(frozen=True)
class Iterate:
    """A point of the solver: weights, objective and gradient."""

    w: Floats
    objective: float
    gradient: Floats


class Ridge:
    """f(w) = |w|^2 / 2 + C sum of the loss over queries, with scores X w."""

    def __init__(self, total: LossSum, C: float) -> None:
        self._total, self._C = total, C

    def at(self, w: Floats) -> Iterate:
        """Move to w; later calls of `product` and `preconditioner` use the Hessian at w."""
        self._w = w
        value, slope = self._total.at(w)
        return Iterate(w, float(w @ w / 2 + self._C * value), w + self._C * slope)

    def return_to(self, point: Iterate) -> None:
        """Move to a point that is known."""
        self._w = point.w

    def product(self, v: Floats) -> Floats:
        """Return the Hessian times v."""
        return v + self._C * self._total.product(self._w, v)

    def preconditioner(self) -> Dense | Diagonal:
        """Return an approximation of the Hessian."""
        return preconditioner(self._total.spread(self._w), self._C)


def minimise(problem: Ridge, start: Floats, tolerance: float) -> Iterator[Iterate]:
    """Minimise from `start`; yield the point after each round, which is never worse than before.

    It stops after a round whose step was expected to lower the objective by less than `tolerance`
    times the objective.

    Notes
    -----
    Cost: two passes over the features per product, 5 to 50 products per round, 5 to 20 rounds.

    References
    ----------
    Lin, Weng and Keerthi, Trust region Newton method for logistic regression (2008); Nash and
    Sofer, Assessing a search direction within a truncated-Newton method (1990): when to stop.
    """
    here, radius = problem.at(start), np.inf
    M, products = problem.preconditioner(), 0
    for _ in range(_MAX_ROUNDS):
        if not here.gradient.any():
            return
        if products > _STALE:
            M = problem.preconditioner()
        step, foretold, products = _newton_step(problem, here.gradient, M, radius)
        there = problem.at(here.w + step)
        lowered = here.objective - there.objective
        noise = 1e-13 * abs(here.objective)  # rounding error of both sums
        length = _norm(step, M)
        if lowered < 0.25 * foretold - noise:
            radius = 0.25 * length
        elif lowered > 0.75 * foretold:
            radius = max(radius, 2 * length)
        if lowered >= 0:
            here = there
            yield here
        else:
            problem.return_to(here)
        if foretold <= max(tolerance * abs(here.objective), noise):
            return


def _newton_step(
    problem: Ridge, gradient: Floats, M: Dense | Diagonal, radius: float
) -> tuple[Floats, float, int]:
    """Minimise g.s + s.Hs/2 over |s| <= radius approximately; |s| is the square root of s.Ms.

    Returns the step, the decrease that it is expected to bring, and the number of products used.
    """
    step, residual = np.zeros_like(gradient), -gradient
    towards = M.solve(residual)
    direction, size = towards, residual @ towards
    promised, k = 0.0, 0
    while size > 0 and k < _MAX_PRODUCTS:
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
