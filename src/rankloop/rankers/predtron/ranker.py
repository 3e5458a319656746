"""Predtron as a ranker: subset ranking, query by query."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import dot, row_pairs, row_scores
from rankloop.exceptions import DataError
from rankloop.rankers.forms import Array
from rankloop.rankers.online.linear import CLIP, LinearRanker, share
from rankloop.rankers.parameters import check_number
from rankloop.rankers.predtron.geometry import as_geometry
from rankloop.rankers.predtron.problems.subset_ranking import SubsetRanking
from rankloop.rankers.predtron.rule import as_rule
from rankloop.rankers.search import OneOf, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.measures.measure import Measure
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.predtron.geometry import Geometry
    from rankloop.rankers.predtron.rule import UpdateRule


class PredtronRanker(LinearRanker):
    """A perceptron that steps away from the ranking with the largest loss plus score.

    A ranking is the vector rep = f(positions) / Z. On a query whose ranking has a loss, it takes
    one step on max over rankings s of { 1 - measure(s) + <rep(s) - rep(best), X w> }, which is
    found exactly. f = 1/i requires gaps at the top; -i^1.1 and -i^2 require less, the lower the
    position.

    Where we depart: a ranking with ties has the loss of the worst order of the tied documents.
    Documents of one grade and score, such as those of the first query, are moved by the same step:
    the mean over their orders, so that the order of rows makes no difference.

    Parameters
    ----------
    f : `1/i`, `-i`, `-i^1.1`, `-i^2`, `-log(i)` or the like: strictly decreasing in the position i
    measure : `nDCG`, `nDCG@k` or `P@k`
    geometry : `euclidean`, or `rnorm` (l1 margin: few of many features count)
    rule : `predtron`, or `loss-driven`, whose rankings do not depend on the rate
    rate : step size, above 0
    clip : see :class:`rankloop.rankers.online.linear.LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    dual_ : (d,) the sum of all steps; in the Euclidean geometry the last weights

    Notes
    -----
    Cost: O(m d) per query and O(d) memory, and on a mistake the assignment: O(m^2) with two grades;
    with more grades several O(m^2) programs, or O(m^3) if there would be more than m / 8 of them.
    It does not notice changes of taste, but follows them, because its steps stay as large as they
    were (see :class:`Adaptive`).

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(200, np.random.default_rng(0)).data
    >>> ranker = PredtronRanker(f="-i^1.1").fit(data)
    >>> evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"] > 0.95
    True

    References
    ----------
    Jain, Natarajan and Tewari, Predtron: a family of online algorithms for general prediction
    problems (2015): section 4, Algorithms 1 to 3.
    """

    search_space: ClassVar[Mapping[str, Search]] = {
        "f": OneOf(("1/i", "-i^1.1", "-i^2")),
        "rule": OneOf(("predtron", "loss-driven")),
        "average": OneOf((False, True)),
    }
    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "dual_", "sizes_")
    dual_: NDArray[np.float64]

    def __init__(
        self,
        f: str = "-i^1.1",
        measure: str | Measure = "nDCG",
        geometry: str = "euclidean",
        rule: str = "predtron",
        rate: float = 1.0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.f = f
        self.measure = measure
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.parts()
        check_number("rate", self.rate, above=True)

    def parts(self) -> tuple[SubsetRanking, Geometry, UpdateRule]:
        """Return the problem, the geometry and the rule; raise if a parameter cannot be used."""
        if not isinstance(self.f, str):
            raise DataError(
                f"f must be text such as -i^1.1; found {self.f!r}. Use Predtron for functions"
            )
        geometry = as_geometry(self.geometry)
        geometry.check((1, 2))
        return _problem(self.f, str(self.measure)), geometry, as_rule(self.rule)

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.dual_ = np.zeros(n_features)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "dual_": Array((n_features,))}

    def _discount_past(self, keep: float) -> None:
        super()._discount_past(keep)
        self.dual_ = self.dual_ * keep

    def _check_queries(self, queries: Queries) -> None:
        if queries.sample_weight is not None and np.ptp(queries.sample_weight) > 0:
            raise DataError(
                "Predtron learns from whole rankings, which cannot use document weights; "
                "use query weights, or no weights"
            )

    def _learn(self, call: Call, arrays: Arrays) -> int:
        X, y, offsets, _, weights, w, total, queries, out = call
        problem, geometry, rule = self.parts()
        dual, updates = arrays["dual_"], 0
        for n, (first, end) in enumerate(pairwise(offsets.tolist())):
            seen = queries + n
            if out is not None:
                ranking = w if total is None or seen == 0 else total / seen
                out[first:end] = row_scores(X[first:end], ranking)
            judged = y[first:end] >= 0
            rows = X[first:end][judged].astype(np.float64)
            weight = 1.0 if weights is None else weights[n]
            if len(rows) and weight > 0:
                scores = row_pairs(rows, w[None])[:, 0]
                _, gradient = rule.step(problem, scores, y[first:end][judged])
                if gradient is not None:
                    step = -self.rate * weight * row_pairs(rows.T, gradient[None])[:, 0]
                    dual += share(arrays["sizes_"], np.sqrt(dot(step, step)), self.clip) * step
                    w[:] = geometry.weights(dual[None])[0]
                    updates += 1
                    if not np.isfinite(w).all():
                        raise _core.QueryError(n, "the update is not finite")
            if total is not None:
                total += w
        return updates


@lru_cache(maxsize=32)
def _problem(f: str, measure: str) -> SubsetRanking:
    """Make a problem once, because it keeps f and the discounts for each length."""
    return SubsetRanking(f, measure)
