"""The base class of online rankers, which learn query by query."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.columns import columns_by_name, in_order, with_columns
from rankloop.data.frames import refuse_other_columns
from rankloop.data.grouping import one_query
from rankloop.data.mapped_parts import borrow, in_parts, is_mapped
from rankloop.data.sparse_rows import SparseRows, as_dense_type, is_sparse, stack_rows
from rankloop.data.validation import (
    as_grades,
    as_rows,
    as_weights,
    check_length,
    column_names,
)
from rankloop.exceptions import DataError
from rankloop.rankers.base import Ranker
from rankloop.rankers.inputs import as_dataset
from rankloop.rankers.online.merging import sum_changes
from rankloop.rankers.parameters import check_seed, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.data.grouping import Ids
    from rankloop.rankers.base import Grades, Offsets, Rows
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.traits import Traits

_core.limit_threads(threads())  # once: a call that learns from a query is faster than asking


class Queries(NamedTuple):
    """Checked queries in the order of learning.

    A document with weight 0 counts as not judged; nothing is learnt from a query with weight 0.
    """

    X: Rows
    y: Grades
    offsets: Offsets
    sample_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.offsets) - 1

    def one(self, query: int) -> Queries:
        """Return one query alone."""
        first, end = self.offsets[query : query + 2]
        return Queries(
            self.X[first:end],
            self.y[first:end],
            one_query(int(end - first)),
            None if self.sample_weight is None else self.sample_weight[first:end],
            None if self.query_weight is None else self.query_weight[query : query + 1],
        )

    def between(self, first: int, end: int) -> Queries:
        """Return some of the queries."""
        if first == 0 and end == self.n:
            return self
        low, high = self.offsets[[first, end]].tolist()
        return Queries(
            self.X[low:high],
            self.y[low:high],
            self.offsets[first : end + 1] - low,
            None if self.sample_weight is None else self.sample_weight[low:high],
            None if self.query_weight is None else self.query_weight[first:end],
        )


_SHUFFLED: ContextVar[bool] = ContextVar("shuffled", default=False)


@contextmanager
def shuffled(are: bool = True) -> Iterator[None]:
    """Say that the order of the queries that are learnt inside is not that of time.

    A ranker that adapts then learns without adapting, also inside other rankers.
    """
    token = _SHUFFLED.set(are)
    try:
        yield
    finally:
        _SHUFFLED.reset(token)


def are_shuffled() -> bool:
    """Whether the order of queries tells nothing; see :func:`shuffled`."""
    return _SHUFFLED.get()


class OnlineRanker(Ranker):
    """A ranker that learns query by query and can always continue to learn.

    A subclass defines how it starts (:meth:`_reset`), how it learns from a query
    (:meth:`_learn_query`, or :meth:`_learn_queries` for many at once), how it scores
    (:meth:`_score_rows`) and what it learns (`_learns`). It has these parameters:

    passes : number of passes of `fit` over the data, at least 1
    random_state : random seed of the order of queries in `fit`, which is different in each pass;
        None keeps the given order

    Every call that learns works on a copy, which replaces the ranker's state at the end. So an
    error leaves the ranker unchanged, and threads that rank see the old or the new state.
    """

    traits: ClassVar[Traits] = replace(Ranker.traits, is_online=True)

    passes: int
    random_state: int | None

    _is_checked = False
    """Whether the parameters are known to be right; setting one forgets it."""

    def _check_parameters(self) -> None:
        """Raise if a parameter cannot be used; called again only if a parameter has changed."""

    def _check_queries(self, queries: Queries) -> None:
        """Raise, before anything changes, if a grade or a weight cannot be used."""

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        """Learn from queries in order; write their scores before learning into `scores`, if given.

        Replace learnt arrays and never change them in place. This one calls :meth:`_learn_query`
        for each query.
        """
        for q in range(queries.n):
            query = queries.one(q)
            if scores is not None:
                first, end = queries.offsets[q : q + 2]
                scores[first:end] = self._score_rows(query.X, query.offsets)
            self._learn_query(query)

    def _learn_query(self, query: Queries) -> None:
        """Learn from one query; replace learnt arrays, as in :meth:`_learn_queries`."""
        raise NotImplementedError(  # an abstract ranker has either of the two
            f"{type(self).__name__} must have _learn_query or _learn_queries"
        )

    def _discount_past(self, keep: float) -> None:
        """Reduce the influence of what was learnt; replace it, as in :meth:`_learn_queries`."""
        raise DataError(
            f"a {type(self).__name__} cannot keep only {keep} of what it learnt: it always keeps "
            "all of it"
        )

    @property
    def _looks_ahead(self) -> bool:
        """Whether it fits something to the data before the first query, such as a scaler."""
        return False

    def _look_ahead(self, data: QueryDataset) -> None:
        """Fit what is fitted before the first query; for data that is then learnt in parts."""

    def _check(self, data: QueryDataset) -> None:
        self._check_all(queries_of(data))

    def _check_state(self, state: Mapping[str, object]) -> None:
        self._check_parameters()
        super()._check_state(state)

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,  # noqa: ARG002 - there are no rounds to choose from
        on_round: Callable[[Round], None] | None,  # noqa: ARG002
    ) -> Iterator[None]:
        """Learn from the queries, in several passes."""
        if self._looks_ahead and is_mapped(data):
            self._look_ahead(data)
        rng = None if self.random_state is None else np.random.default_rng(self.random_state)
        no_order = self.passes > 1 or rng is not None
        for _ in range(self.passes):
            order = None if rng is None else rng.permutation(len(data))
            for part in in_parts(data, order=order):
                with borrow(part), shuffled(no_order or are_shuffled()):
                    self._check_and_learn(self._queries(part), query_ids=part.query_ids)
        yield

    def partial_fit(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue to learn: one pass over the queries, in the order of their first rows."""
        given = (X, y, qid, group, sample_weight, query_weight)
        self._learn_data(as_dataset(*given, allow_nan=self.traits.takes_nan))
        return self

    def go_on(
        self,
        data: QueryDataset,
        *,
        valid: object = None,  # noqa: ARG002 - there are no rounds to choose from
        on_round: Callable[[Round], None] | None = None,  # noqa: ARG002
    ) -> Self:
        """Continue from the current state; the same as :meth:`partial_fit`."""
        return self.partial_fit(data)

    def learn(
        self,
        X: object,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        query_weight: float | None = None,
    ) -> Self:
        """Learn from one query. This takes some microseconds for a short list of float32 rows."""
        if not self.is_fitted:
            refuse_other_columns(X, y=y)
        rows, grades = self._order_columns(X), as_grades(y)
        if len(rows) != len(grades):
            raise DataError(f"y has {len(grades):,} values for {len(rows):,} rows")
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, "sample_weight")
            check_length("sample_weight", weights, len(rows))
        weight = None
        if query_weight is not None:
            weight = as_weights([query_weight], "query_weight")
        self._learn_at_once(Queries(rows, grades, one_query(len(grades)), weights, weight))
        return self

    def learn_pairs(
        self, better: object, worse: object, *, query_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from pairs alone: row i of `better` should rank above row i of `worse`.

        Each pair counts as a query of two documents with grades 1 and 0 and this weight.
        """
        above, below = self._order_columns(better), self._order_columns(worse)
        if above.shape != below.shape:
            raise DataError(
                f"better and worse must have the same shape; found {above.shape} and {below.shape}"
            )
        n = len(above)
        rows = _alternating(above, below)
        weights = None if query_weight is None else as_weights(query_weight, "query_weight")
        if weights is not None:
            check_length("query_weight", weights, n, "pairs")
        grades, offsets = np.tile([1.0, 0.0], n), np.arange(0, 2 * n + 1, 2)
        self._learn_at_once(Queries(rows, grades, offsets, None, weights))
        return self

    def discount_past(self, keep: float) -> Self:
        """Reduce the influence of what was learnt to this fraction, before learning other data.

        Rankings do not change; the smaller `keep` is, the more influence the next queries have.
        First-order rankers shrink their weights relative to their steps, and second-order rankers
        shrink their precision.

        Parameters
        ----------
        keep : above 0 and at most 1; 1 changes nothing
        """
        self._check_fitted()
        if not 0 < keep <= 1:
            raise DataError(f"keep must be above 0 and at most 1; found {keep}")
        with self._writing:
            new = self.copy()
            if keep < 1:
                new._discount_past(keep)
            self._become(new)
        return self

    def predict_then_learn(self, data: QueryDataset) -> NDArray[np.float32]:
        """Learn from queries in order, and return the scores of each before learning from it.

        This is progressive validation: these scores measure the ranker on data that it had not
        seen.
        """
        scores = np.empty(data.n_documents, np.float32)
        self._learn_data(data, scores)
        return scores

    def merge(self, others: Sequence[Self], base: Self | None = None) -> Self:
        """Combine this ranker with others that learnt elsewhere, all starting from `base`.

        Counters and sums are exact. The weights of first-order rankers are averaged in proportion
        to their numbers of queries (parameter mixing); this differs from what one ranker would
        have learnt from all queries in turn. Second-order rankers add up their precision; this
        differs from one ranker only because each query was learnt at other weights. Rankers that
        can do neither raise an error.

        Parameters
        ----------
        others : rankers of the same kind and parameters
        base : the ranker from which this one and all others continued; None if they started from
            scratch

        Examples
        --------
        >>> from rankloop.data.simulate import separable
        >>> from rankloop.rankers.online.newton import NewtonXENDCG
        >>> data = separable(40, np.random.default_rng(0)).data
        >>> one = NewtonXENDCG().partial_fit(data.select(slice(0, 20)))
        >>> other = NewtonXENDCG().partial_fit(data.select(slice(20, 40)))
        >>> one.merge([other]).n_queries_seen_
        40
        """
        self._check_fitted()
        for other in (*others, *(() if base is None else (base,))):
            if type(other) is not type(self) or repr(other) != repr(self):
                raise DataError(
                    f"cannot merge {other!r} into {self!r}: they must have the same class and "
                    "parameters"
                )
            if not other.is_fitted:
                raise DataError(f"cannot merge a {type(other).__name__} that has learnt nothing")
            other._check_width(np.empty((0, self.n_features_in_), np.float32))
            columns = columns_by_name(self.feature_names_in_, other.feature_names_in_)
            if columns is not None:
                raise DataError(
                    "cannot merge rankers whose features are in different orders; train "
                    "them on columns in the same order"
                )
        with self._writing:
            new = self.copy()
            start = self.copy() if base is None else base.copy()
            if base is None:
                start._reset(self.n_features_in_)
            new._merge_copies([self.copy(), *(other.copy() for other in others)], start)
            self._become(new)
        return self

    def _merge_copies(self, rankers: Sequence[Self], base: Self) -> None:
        """Combine rankers without a lock; for rankers that consist of others."""
        if not base.is_fitted:
            base = base.copy()
            base._reset(self.n_features_in_)
        self._merge(rankers, base)
        counts = [ranker.n_queries_seen_ for ranker in rankers]
        self.n_queries_seen_ = sum_changes(counts, base.n_queries_seen_)

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:  # noqa: ARG002
        """Combine these rankers, each of which started from `base`."""
        raise DataError(f"rankers of the class {type(self).__name__} cannot be merged")

    def _order_columns(self, X: object) -> Rows:
        """Return rows to learn from, with columns in the order of the training data."""
        rows = as_rows(X)
        self._refuse_sparse(rows)
        names = None if rows is X else column_names(X)  # an array has no names
        order = None if names is None else columns_by_name(self.feature_names_in_, names)
        return rows if order is None else in_order(rows, order)

    def _learn_data(self, data: QueryDataset, scores: Rows | None = None) -> None:
        with self._writing:
            new = self.copy()
            if not new.is_fitted:
                new.feature_names_in_ = data.feature_names or ()
                new.query_name_ = data.query_name
            if data.feature_names:
                data = with_columns(data, new.feature_names_in_)
            if new._looks_ahead and is_mapped(data):
                new._look_ahead(data)
            done = 0
            for part in in_parts(data):
                end = done + part.n_documents
                before = None if scores is None else scores[done:end]
                with borrow(part):
                    new._refuse_missing(part)
                    new._check_and_learn(new._queries(part), before, part.query_ids)
                done = end
            self._become(new)

    def _learn_at_once(self, queries: Queries) -> None:
        with self._writing:
            new = self.copy()
            new._check_and_learn(queries)
            self._become(new)

    def _queries(self, data: QueryDataset) -> Queries:
        """Return the queries of a data set in the form that :meth:`_learn_queries` takes."""
        return queries_of(data)

    def _check_all(self, queries: Queries) -> None:
        """Raise if a parameter, a grade or a weight cannot be used."""
        self._check_changed_parameters()
        self._check_queries(queries)

    def _check_changed_parameters(self) -> None:
        """Raise if a parameter cannot be used; they are checked once, until one is changed."""
        if not self._is_checked:
            check_whole("passes", self.passes)
            check_seed("random_state", self.random_state)
            self._check_parameters()
            self._is_checked = True

    def _check_and_learn(
        self, queries: Queries, scores: Rows | None = None, query_ids: Ids | None = None
    ) -> None:
        """Learn without a lock, on a copy (:meth:`copy`) that no other thread uses.

        It is also for rankers that consist of others. An error names the query by its id. A ranker
        inside another does not know the ids, so it passes the place of the query on.
        """
        self._check_all(queries)
        if not self.is_fitted:
            self._reset(queries.X.shape[1])
        self._check_width(queries.X)
        try:
            self._learn_queries(queries, scores)
        except _core.QueryError as fault:
            place, reason = fault.args
            if query_ids is not None:
                raise _refusal(query_ids[place], reason) from None
            if queries.n == 1:
                raise _refusal(None, reason) from None
            raise
        # a parameter set through __setattr__ would be checked again; a counter need not be
        self.__dict__["n_queries_seen_"] += queries.n


def _alternating(above: Rows, below: Rows) -> Rows:
    """Return the first row of each, then the second of each, and so on; both dense or sparse."""
    n = len(above)
    if is_sparse(above) or is_sparse(below):
        rows = stack_rows([_as_sparse(above), _as_sparse(below)], above.shape[1])
        return as_dense_type(rows[np.arange(2 * n).reshape(2, n).T.ravel()])
    return np.stack([above, below], axis=1).reshape(2 * n, -1)


def _as_sparse(X: Rows) -> SparseRows:
    return X if isinstance(X, SparseRows) else SparseRows.from_dense(X)


def queries_of(data: QueryDataset) -> Queries:
    """Return the queries of a data set in the form that rankers take."""
    return Queries(data.X, data.y, data.offsets, data.sample_weight, data.query_weight)


def _refusal(query: object, reason: str) -> DataError:
    which = "the query" if query is None else f"query {query}"
    return DataError(
        f"nothing was learnt, because for {which} {reason}; its features may be too large (scale "
        "or clip them), or the ranker's rate may be"
    )
