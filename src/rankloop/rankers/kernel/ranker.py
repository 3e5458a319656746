"""Online rankers in the space of a kernel: a support set in place of weights."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.explaining import support_parts
from rankloop.rankers.forms import Array, Whole
from rankloop.rankers.kernel.budget import removal_by_name
from rankloop.rankers.kernel.support import ROOM, Support
from rankloop.rankers.kernel.text import parse_kernel
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.forms import Form
    from rankloop.rankers.kernel.kernels import Kernel
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.search import Search

    Floats = NDArray[np.float64]
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.state import State


class KernelRanker(OnlineRanker):
    """An online ranker whose score is sum_k alpha_k K(x_k, x) over stored documents.

    A subclass defines what a query adds (:meth:`_steps`): one coefficient per document, 0 for most.
    In addition to the parameters of :class:`OnlineRanker` it has:

    kernel : `rbf(sigma2)`, `poly(degree)`, `linear`, `chi2(gamma)`, sums and products of them
    budget : maximum number of stored documents, at least 1; None stores all, in growing memory
    removal : what to do when it is full: `forgetron`, `random`, `least-loss`, `projection` or
        `merging`, see :mod:`rankloop.rankers.kernel.budget`
    average : whether to rank by the mean of the coefficients after each query, or by the last ones

    Features should be on a similar scale: use normalised data, or
    `Prepared(ranker, maps=["minmax"])`.

    Attributes
    ----------
    support_ : (k, d) the stored documents
    coefficients_ : (k,) the coefficient of each
    updates_ : number of queries on which it took a step
    """

    kernel: str | Kernel
    budget: int | None
    removal: str
    average: bool

    search_space: ClassVar[Mapping[str, Search]] = {
        "kernel": OneOf(tuple(f"rbf({s})" for s in (0.25, 0.35, 0.5, 1, 5, 10)))
    }

    _learns: ClassVar[tuple[str, ...]] = (
        *("updates_", "held_", "added_"),
        *("rows_", "alphas_", "born_", "ledger_"),
    )
    rows_: Rows
    alphas_: Floats
    born_: NDArray[np.int64]
    ledger_: Floats
    held_: int
    added_: int
    updates_: int

    @abstractmethod
    def _steps(self, query: Queries, scores: Rows, seen: int) -> Floats:
        """Return the coefficients that a query adds, after this number of queries."""

    def _scale_rows(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        """Return rows in the form for the kernel."""
        return X

    def _learn_supported(self, support: Support, query: Queries, scores: Rows, seen: int) -> bool:
        """Learn from one query with these scores; return whether anything changed."""
        steps = self._steps(query, scores, seen)
        if not np.isfinite(steps).all():
            raise OverflowError
        moved = np.flatnonzero(steps)
        if len(moved):
            removal = removal_by_name(self.removal, support.kernel)
            support.add(query.X[moved], steps[moved], self.budget, removal)
        return len(moved) > 0

    @property
    def support_(self) -> Rows:
        """The stored documents."""
        self._check_fitted()
        return self.rows_[: self.held_].copy()

    @property
    def coefficients_(self) -> Floats:
        """The coefficients that rank: the last ones, or their mean."""
        self._check_fitted()
        alphas = self.alphas_[: self.held_]
        mean = self.average and self.n_queries_seen_ > 0
        return np.asarray(alphas[:, 1] / self.n_queries_seen_ if mean else alphas[:, 0].copy())

    def explain(self) -> Parts:
        """Return the documents with the largest coefficients, with their features."""
        return support_parts(self, self.support_, self.coefficients_)

    def _forms(self, n_features: int) -> dict[str, Form]:
        places = None if self.budget is None else ROOM + self.budget
        return {
            **super()._forms(n_features),
            **dict.fromkeys(("updates_", "held_", "added_"), Whole()),
            "rows_": Array((places, n_features), np.float32),
            "alphas_": Array((places, 2)),
            "born_": Array((places,), np.int64, low=0),
            "ledger_": Array((3,), low=0),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        held, rows, born = state["held_"], state["rows_"], state["born_"]
        most = len(rows) if self.budget is None else self.budget
        if not len(rows) == len(state["alphas_"]) == len(born) >= ROOM:
            raise ModelError("rows_, alphas_ and born_ differ in length, or are too short")
        if held > min(most, state["added_"]) or (born[:held] >= state["added_"]).any():
            raise ModelError(f"held_ is {held}, which contradicts budget, added_ or born_")
        if held and not state["ledger_"][0] > 0:
            raise ModelError("ledger_ records no step, but documents are kept")
        parse_kernel(self.kernel).check_rows(rows[:held])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernel = parse_kernel(self.kernel)
        if self.budget is not None:
            check_whole("budget", self.budget)
        removal_by_name(self.removal, kernel)

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = self.updates_ = 0
        self._keep(Support.empty(parse_kernel(self.kernel), n_features, self.budget))

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        queries = queries._replace(X=self._scale_rows(queries.X, queries.offsets))
        kernel = parse_kernel(self.kernel)
        kernel.check_rows(queries.X)
        if self.budget is not None and len(self.rows_) < ROOM + self.budget:
            raise DataError(
                f"the budget was {len(self.rows_) - ROOM} when learning began, but is "
                f"{self.budget} now; fit again, or set it back"
            )
        support = self._support(kernel).copy()
        for n, (first, end) in enumerate(itertools.pairwise(queries.offsets.tolist())):
            parts = support.scores(queries.X[first:end])
            if not np.isfinite(parts).all():
                raise _core.QueryError(n, "the scores are not finite")
            if scores is not None:
                scores[first:end] = self._ranking(parts, self.n_queries_seen_ + n)
            seen = self.n_queries_seen_ + n
            try:
                self.updates_ += self._learn_supported(
                    support, queries.one(n), parts[:, 0].copy(), seen
                )
            except OverflowError:
                raise _core.QueryError(n, "the update is not finite") from None
            if self.average:
                support.remember()
        self._keep(support)

    def _discount_past(self, keep: float) -> None:
        self.alphas_ = self.alphas_ * [keep, 1.0]

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        X = self._scale_rows(X, offsets)
        kernel = parse_kernel(self.kernel)
        kernel.check_rows(X)
        return self._ranking(self._support(kernel).scores(X), self.n_queries_seen_)

    def _ranking(self, parts: Rows, queries: int) -> Rows:
        """Return the scores for ranking, from the current scores and their sum."""
        return parts[:, 1] / np.float32(queries) if self.average and queries else parts[:, 0]

    def _support(self, kernel: Kernel) -> Support:
        return Support(
            kernel, self.rows_, self.alphas_, self.born_, self.ledger_, self.held_, self.added_
        )

    def _keep(self, support: Support) -> None:
        self.rows_, self.alphas_, self.born_ = support.rows, support.alphas, support.born
        self.ledger_, self.held_, self.added_ = support.ledger, support.held, support.added
