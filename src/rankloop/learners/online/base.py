"""The online contract: learn a query, go on, rank, forget and start again."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from rankloop import _core
from rankloop.data.validation import as_grades, as_matrix, as_weights, check_length
from rankloop.exceptions import DataError
from rankloop.learners.base import Ranker, as_dataset, training_data
from rankloop.learners.parameters import check_seed, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Grades, Offsets, Rows


class Queries(NamedTuple):
    """Checked queries, one after the other, as learners learn from them.

    A document of weight 0 counts as not judged; nothing is learnt from a query of weight 0.
    """

    X: Rows
    y: Grades
    offsets: Offsets
    sample_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.offsets) - 1

    def one(self, query: int) -> Queries:
        """Return one query alone."""
        first, end = self.offsets[query : query + 2]
        return Queries(
            self.X[first:end],
            self.y[first:end],
            np.array([0, end - first]),
            None if self.sample_weight is None else self.sample_weight[first:end],
            None if self.query_weight is None else self.query_weight[query : query + 1],
        )


class OnlineRanker(Ranker):
    """A ranker that learns query by query and never has to stop.

    A subclass says how it starts (:meth:`_reset`), how it learns from queries one after the other
    (:meth:`_learn_queries`) and how it scores (:meth:`_score_rows`). It has the parameters

    passes : how often `fit` goes through the data, at least 1
    random_state : seed of the order of queries in `fit`, another one each pass; None: as given

    Every call that learns works on a copy that takes the learner's place when all went well: an
    error leaves the learner as it was, and threads that rank meanwhile see the one or the other.
    """

    passes: int
    random_state: int | None

    _is_checked = False
    """Whether the parameters are known to be right; setting one forgets it."""

    def _check_parameters(self) -> None:
        """Raise where a parameter cannot be used; called anew only where one has changed."""

    def _check(self, queries: Queries) -> None:
        """Raise, before anything changes, where a grade or a weight cannot be used."""

    @abstractmethod
    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        """Learn from queries in order; put the scores each had before into `scores`, if given.

        What was learnt before is never changed in place, but replaced.
        """

    @abstractmethod
    def _loosen(self, hold: float) -> None:
        """Make what was learnt count for less; replace it, as :meth:`_learn_queries` does."""

    def _check_state(self, state: Mapping[str, Any]) -> None:
        self._check_parameters()
        super()._check_state(state)

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from nothing: `passes` times through the queries.

        Parameters
        ----------
        X : a QueryDataset, or a matrix of features with
        y : one grade a row (below 0: unjudged), and
        qid : one query id a row, in any order; or
        group : the number of rows of each query. Without either, all rows are one query.
        sample_weight, query_weight : one a row; one a query, in order of first appearance
        """
        check_whole("passes", self.passes)
        check_seed("random_state", self.random_state)
        data = training_data(X, y, qid, group, sample_weight, query_weight)
        with self._writing:
            new = self._twin()
            new._check_all(queries_of(data))
            new._reset(data.n_features)
            rng = None if self.random_state is None else np.random.default_rng(self.random_state)
            for _ in range(self.passes):
                new._learn_data(data if rng is None else data.select(rng.permutation(len(data))))
            self._become(new)
        return self

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning, once through the queries in the order of their first rows."""
        data = as_dataset(X, y, qid, group, sample_weight, query_weight)
        with self._writing:
            new = self._twin()
            new._learn_data(data)
            self._become(new)
        return self

    def learn(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: float | None = None,
    ) -> Self:
        """Learn from one query. Cheap: some microseconds for a short list of float32 rows."""
        rows, grades = as_matrix(X), as_grades(y)
        if len(rows) != len(grades):
            raise DataError(f"y has {len(grades):,} values for {len(rows):,} rows")
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, "sample_weight")
            check_length("sample_weight", weights, len(rows))
        own = None
        if query_weight is not None:
            own = as_weights([query_weight], "query_weight")
        self._go_on(Queries(rows, grades, np.array([0, len(grades)]), weights, own))
        return self

    def learn_pairs(self, better: Any, worse: Any) -> Self:
        """Learn from pairs alone: row i of `better` should rank above row i of `worse`.

        Each pair counts as a query of two documents with grades 1 and 0.
        """
        above, below = as_matrix(better), as_matrix(worse)
        if above.shape != below.shape:
            raise DataError(
                f"better and worse must have the same shape; found {above.shape} and {below.shape}"
            )
        n = len(above)
        rows = np.stack([above, below], axis=1).reshape(2 * n, -1)
        self._go_on(Queries(rows, np.tile([1.0, 0.0], n), np.arange(0, 2 * n + 1, 2)))
        return self

    def loosen(self, hold: float) -> Self:
        """Hold to what was learnt by only this much, before going on elsewhere.

        Rankings stay as they are; what comes next counts for more the smaller `hold` is. First-
        order learners shrink their weights beside their steps, second-order ones their precision.

        Parameters
        ----------
        hold : above 0, at most 1, which changes nothing
        """
        self._check_learnt()
        if not 0 < hold <= 1:
            raise DataError(f"hold must be above 0 and at most 1; found {hold}")
        with self._writing:
            new = self._twin()
            new._loosen(hold)
            self._become(new)
        return self

    def progress(self, data: QueryDataset) -> NDArray[np.float32]:
        """Learn from queries in order, and return the scores each had just before it was learnt.

        This is progressive validation: measuring these scores measures the learner on data it had
        not seen.
        """
        scores = np.empty(data.n_documents, np.float32)
        with self._writing:
            new = self._twin()
            new._learn_data(data, scores)
            self._become(new)
        return scores

    def _go_on(self, queries: Queries) -> None:
        with self._writing:
            new = self._twin()
            new._learn_from(queries)
            self._become(new)

    def _learn_data(self, data: QueryDataset, scores: Rows | None = None) -> None:
        """Learn from a data set; an error names the query by its id."""
        self._refuse_missing(data)
        try:
            self._learn_from(queries_of(data), scores)
        except _core.QueryError as fault:
            raise _refusal(data.query_ids[fault.args[0]], fault.args[1]) from None

    def _check_all(self, queries: Queries) -> None:
        if not self._is_checked:
            self._check_parameters()
            self._is_checked = True
        self._check(queries)

    def _learn_from(self, queries: Queries, scores: Rows | None = None) -> None:
        """Learn without a lock, on a copy that nobody else knows yet."""
        self._check_all(queries)
        if not self.is_learnt:
            self._reset(queries.X.shape[1])
        self._check_width(queries.X)
        try:
            self._learn_queries(queries, scores)
        except _core.QueryError as fault:
            if queries.n == 1:
                raise _refusal(None, fault.args[1]) from None
            raise
        vars(self)["queries_"] += queries.n


def queries_of(data: QueryDataset) -> Queries:
    """Return the queries of a data set as learners take them."""
    return Queries(data.X, data.y, data.offsets, data.doc_weights, data.query_weights)


def _refusal(query: Any, reason: str) -> DataError:
    which = "the query" if query is None else f"query {query}"
    return DataError(
        f"nothing was learnt: of {which}, {reason}; its features may be too large (scale or clip "
        "them), or the learner's rate"
    )
