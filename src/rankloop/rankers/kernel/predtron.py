"""Predtron for ranking, with kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.rankers.kernel.ranker import KernelRanker
from rankloop.rankers.predtron.ranker import PredtronRanker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Rows
    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.online.base import Queries


class KernelPredtron(KernelRanker):
    """Predtron in the space of a kernel, on a memory budget.

    On a query whose ranking loses something, each judged document is added with its coefficient of
    the step; see :class:`PredtronRanker`. Only the Euclidean geometry keeps weights that
    are a sum of documents.

    Parameters
    ----------
    kernel, budget, removal : see :class:`KernelRanker`
    f, measure, rule, rate : see :class:`PredtronRanker`
    average, passes, random_state : see :class:`KernelRanker`

    Notes
    -----
    Cost: O(m B d) per query of m documents with B held, and an assignment; O(B d) memory, taken at
    the start. Nearly every document of a query is added, so a budget fills soon.

    References
    ----------
    Jain, Natarajan and Tewari, Predtron: a family of online algorithms for general prediction
    problems (2015), which notes that its weights are sums of inputs.
    """

    def __init__(
        self,
        kernel: str | Kernel = "rbf(1)",
        f: str = "-i^1.1",
        measure: str | Measure = "nDCG",
        rule: str = "predtron",
        rate: float = 1.0,
        budget: int | None = 1000,
        removal: str = "projection",
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.f = f
        self.measure = measure
        self.rule = rule
        self.rate = rate
        self.budget = budget
        self.removal = removal
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _linear(self) -> PredtronRanker:
        return PredtronRanker(self.f, self.measure, rule=self.rule, rate=self.rate)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._linear()._check_changed_parameters()

    def _check_queries(self, queries: Queries) -> None:
        self._linear()._check_all(queries)

    def _steps(self, query: Queries, scores: Rows, seen: int) -> NDArray[np.float64]:  # noqa: ARG002
        problem, _, rule = self._linear().parts()
        steps = np.zeros(len(query.y))
        judged = query.y >= 0
        weight = 1.0 if query.query_weight is None else float(query.query_weight[0])
        if judged.any() and weight > 0:
            _, gradient = rule.step(problem, scores[judged].astype(np.float64), query.y[judged])
            if gradient is not None:
                steps[judged] = -self.rate * weight * gradient
        return steps
