"""One perceptron for any prediction problem: a problem, a geometry, a rule, and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.predtron.geometry import Geometry, as_geometry
from rankloop.rankers.predtron.rule import UpdateRule, as_rule
from rankloop.rankers.predtron.weights import DenseWeights, Kernel, KernelWeights, NamedKernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rankloop.rankers.predtron.problem import Floats, Problem


class Predtron:
    """A perceptron that scores an input, predicts from the scores, and takes a step after a loss.

    In each round, t = W x; if L(decode(t), y) > 0, the dual of W moves by -rate g x', where g is
    the rule's gradient, and W follows by the link of the geometry. If the problem ranks the rows of
    X (`problem.shared`), t = X w and the step is X' g.

    Where we depart: tied predictions count as a mistake if one of them is wrong, so that learning
    starts at W = 0; the paper does not define ties.

    Parameters
    ----------
    problem : defines what is predicted, and what a mistake costs
    geometry : `euclidean`, `rnorm`, `group`, `schatten`, or a :class:`Geometry`
    rule : `predtron` (Algorithm 1), `loss-driven` (Predtron.LD), or a :class:`UpdateRule`
    rate : step size, above 0; Theorem 1 needs c_L / (4 R^2), the paper's experiments use 1
    kernel : `rbf(1)`, `poly(2)`, ... or k(A, B) -> matrix, for weights that are a sum of kernel
        functions; Euclidean only
    budget : with a kernel, the maximum number of stored inputs, at least 1; None stores all
    average : whether to predict by the mean of the weights over rounds, or by the last ones

    Attributes
    ----------
    rounds : number of inputs learnt from
    updates : number of inputs on which it took a step
    loss : the total loss of its predictions, including ties

    Notes
    -----
    Cost: O(d p) per round, plus the decodings of the problem.

    Examples
    --------
    >>> from rankloop.rankers.predtron.problems.multiclass import Multiclass
    >>> ranker = Predtron(Multiclass(3))
    >>> for _ in range(5):
    ...     losses = [ranker.learn(x, y) for y, x in enumerate(np.eye(3))]
    >>> losses, [ranker.decide(x) for x in np.eye(3)]
    ([0.0, 0.0, 0.0], [0, 1, 2])

    References
    ----------
    Jain, Natarajan and Tewari, Predtron: a family of online algorithms for general prediction
    problems (2015): Algorithms 1 to 3.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        geometry: str | Geometry = "euclidean",
        rule: str | UpdateRule = "predtron",
        rate: float = 1.0,
        kernel: str | Kernel | None = None,
        budget: int | None = None,
        average: bool = False,
    ) -> None:
        self.problem = problem
        self.geometry = as_geometry(geometry)
        self.rule = as_rule(rule)
        check_number("rate", rate, above=True)
        kernel = NamedKernel(kernel) if isinstance(kernel, str) else kernel
        if kernel is not None and not callable(kernel):
            raise DataError(
                f"kernel must be a function of two matrices, or text such as rbf(1); found "
                f"{kernel!r}"
            )
        if budget is not None:
            check_whole("budget", budget)
            if kernel is None:
                raise DataError("a budget needs a kernel; give a kernel, or leave the budget out")
        if kernel is not None and not self.geometry.linear:
            raise DataError(
                "a kernel needs the Euclidean geometry, in which weights are a sum of "
                f"inputs; found {type(self.geometry).__name__}: leave out the kernel or "
                "the geometry"
            )
        self.rate, self.kernel, self.budget, self.average = rate, kernel, budget, average
        self.rounds = self.updates = 0
        self.loss = 0.0
        self.weights: DenseWeights | KernelWeights | None = None

    def scores(self, X: ArrayLike) -> Floats:
        """Return the scores t of an input, which is a vector or the rows to rank."""
        rows = self._rows(X)
        return self._make_weights(rows).scores(rows, mean=True).ravel()

    def decide(self, X: ArrayLike) -> Any:
        """Return the prediction."""
        return self.problem.decode(self.scores(X))

    def learn(self, X: ArrayLike, label: Any) -> float:
        """Learn from one input and its label; return the loss of the prediction before learning."""
        rows, label = self._rows(X), self.problem.check(label)
        if self.problem.shared and len(label) != len(rows):
            raise DataError(f"the label has {len(label)} grades for {len(rows)} rows")
        weights = self._make_weights(rows)
        loss, gradient = self.rule.step(self.problem, weights.scores(rows).ravel(), label)
        step = None if gradient is None else -self.rate * gradient.reshape(len(rows), -1)
        weights.learn(rows, step)
        self.rounds += 1
        self.updates += step is not None
        self.loss += loss
        return loss

    def _make_weights(self, rows: Floats) -> DenseWeights | KernelWeights:
        """Return the weights, which begin with the first input."""
        if self.weights is None:
            shape = (1 if self.problem.shared else self.problem.dimension, rows.shape[1])
            self.weights = (
                DenseWeights(self.geometry, shape, self.average)
                if self.kernel is None
                else KernelWeights(self.kernel, shape, self.average, self.budget)
            )
            self._width = rows.shape[1]
        if rows.shape[1] != self._width:
            raise DataError(
                f"the input has {rows.shape[1]} features, but earlier ones had {self._width}"
            )
        return self.weights

    def _rows(self, X: ArrayLike) -> Floats:
        """Return an input as rows: one, or those to be ranked."""
        rows = np.asarray(X, np.float64)
        wanted = 2 if self.problem.shared else 1
        if rows.ndim != wanted or not np.isfinite(rows).all():
            kind = ", with one row per item" if wanted == 2 else ""
            raise DataError(
                f"an input must be a {'matrix' if wanted == 2 else 'vector'} of finite numbers"
                f"{kind}; found an array of shape {rows.shape}"
            )
        return np.atleast_2d(rows)
