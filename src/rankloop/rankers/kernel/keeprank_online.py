"""KeepRank, one document after the other, on a memory budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankloop._utils.arithmetic import row_pairs
from rankloop.data.scaling import QueryMinMax
from rankloop.exceptions import DataError
from rankloop.rankers.kernel.budget import removal_by_name
from rankloop.rankers.kernel.keeprank import TARGETS, bounds
from rankloop.rankers.kernel.ranker import KernelRanker
from rankloop.rankers.kernel.relaxation import Block, relax_rows
from rankloop.rankers.parameters import check_number
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.kernel.support import Support
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.search import Search
    from rankloop.rankers.traits import Traits

    Floats = NDArray[np.float64]


class OnlineKeepRank(KernelRanker):
    """KeepRank on a stream: one relaxation step per document, with some documents stored.

    f(x) = sum_k alpha_k K(x_k, x) over the stored documents. Where a score is not where its grade
    requires it, y f(x) < margin, the documents of the query are stored with alpha = 0, and each of
    them in turn that misses its target takes the step of :class:`KeepRank`,

        alpha += rate (margin - y f(x)) y k(x) / |k(x)|^2,

    k(x) the kernels of x with all stored documents. Where they exceed the budget some are removed.

    Where we depart: the paper sums over all training documents, which a stream does not have.
    Without a budget, after one query, it equals one pass of :class:`KeepRank` over it.

    Parameters
    ----------
    kernel, budget, removal : see :class:`KernelRanker`
    targets : `binary` (grades above 0 are relevant, as published) or `graded`: the highest grade of
        a query wants f(x) >= margin, the lowest f(x) <= -margin, those between their place on
        the line; queries of one grade then teach nothing
    margin : above 0; scores scale with it and rankings do not depend on it
    rate : share of a step that is taken, above 0 and at most 1; on OHSUMED, one pass, .1 has an AP
        of .447 and whole steps .433
    normalise : scale features to 0..1 inside each query, in learning and in ranking
    average : whether to rank by the mean of the coefficients after each query
    passes, random_state : see :class:`OnlineRanker`

    Notes
    -----
    Cost: O(m (B + m) d) per query of m documents with B held. Memory O((B + m) d + m (B + m)).

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(100, np.random.default_rng(0), n_features=3).data
    >>> ranker = OnlineKeepRank("rbf(1)", budget=200).fit(data)
    >>> len(ranker.support_), evaluate(data, ranker.predict(data), "AP")["AP"] > 0.9
    (200, True)

    References
    ----------
    Chen, Wang and Lin, Learning to rank with a novel kernel perceptron method (2009): eq. 10-15.
    """

    traits: ClassVar[Traits] = replace(
        KernelRanker.traits, scores_rows_alone=False, takes_equal_grades=True
    )  # features are scaled inside queries
    search_space: ClassVar[Mapping[str, Search]] = {
        **KernelRanker.search_space,
        "targets": OneOf(TARGETS),
    }

    def __init__(
        self,
        kernel: str | Kernel = "rbf(1)",
        targets: Literal["binary", "graded"] = "binary",
        margin: float = 1.0,
        rate: float = 0.1,
        normalise: bool = True,
        budget: int | None = 1000,
        removal: str = "least-loss",
        average: bool = True,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.targets = targets
        self.margin = margin
        self.rate = rate
        self.normalise = normalise
        self.budget = budget
        self.removal = removal
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.targets not in TARGETS:
            raise DataError(f"targets must be {' or '.join(TARGETS)}; found {self.targets!r}")
        check_number("margin", self.margin, above=True)
        check_number("rate", self.rate, 0, 1, above=True)

    def _scale_rows(self, X: Rows, offsets: Offsets) -> Rows:
        return QueryMinMax().transform_rows(X, offsets) if self.normalise else X

    def _steps(self, query: Queries, scores: Rows, seen: int) -> Floats:  # noqa: ARG002
        """Return nothing: a document moves all coefficients, in :meth:`_learn_supported`."""
        return np.zeros(len(scores))

    def _learn_supported(self, support: Support, query: Queries, scores: Rows, seen: int) -> bool:  # noqa: ARG002
        counts = np.ones(len(query.y)) if query.sample_weight is None else query.sample_weight
        if query.query_weight is not None:
            counts = counts * query.query_weight[0]
        graded = np.flatnonzero((query.y >= 0) & (counts > 0))
        X, y, counts = query.X[graded], query.y[graded], counts[graded]
        if not len(y) or (self.targets == "graded" and (y == y[0]).all()):
            return False
        low, high = bounds(y, self.margin, graded=self.targets == "graded")
        held = support.held
        K = support.kernel(X, np.vstack([support.rows[:held], X]))
        block = Block(slice(None), row_pairs(K, K))
        moves = relax_rows(block, scores[graded], low=low, high=high, counts=counts, rate=self.rate)
        if not moves.step.any():
            return False
        change = row_pairs(moves.step[None], np.ascontiguousarray(K.T, np.float64))[0]
        if not np.isfinite(change).all():
            raise OverflowError
        support.alphas[:held, 0] += change[:held]
        support.add(X, change[held:], self.budget, removal_by_name(self.removal, support.kernel))
        return True
