"""QueryDataset: feature vectors and grades, gathered by query."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.grouping import TEXT, Grouping, as_ids, group_by_id, group_by_size, group_runs
from rankloop.data.validation import (
    as_grades,
    as_matrix,
    as_text,
    as_weights,
    check_length,
    column_names,
)
from rankloop.data.words import count
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Query:
    """One query: its documents' features and grades, as views into a data set."""

    id: int | str
    X: NDArray[np.float32]
    y: NDArray[np.float64]
    doc_ids: NDArray[Any] | None = None
    doc_weights: NDArray[np.float64] | None = None
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False, repr=False)
class QueryDataset:
    """Documents gathered by query: row-major float32 features, float64 grades.

    Rows of query `q` are `offsets[q]:offsets[q + 1]`. A grade below 0 means *unjudged*. Make one
    with :meth:`from_arrays`, which takes rows in any order, or with a reader; the constructor
    takes arrays that are already gathered and checked.

    Parameters
    ----------
    X : (n, d) float32 features
    y : (n,) grades, higher is better, real numbers; below 0: unjudged
    offsets : (q + 1,) where each query starts
    query_ids : (q,) numbers or text, one a query, no two alike
    doc_ids : (n,) text, or None
    feature_names : d names, or None
    doc_weights, query_weights : (n,) and (q,) weights >= 0, or None for all equal
    rows : (n,) the caller's row of each row here, or None where the order is the caller's

    Examples
    --------
    >>> data = QueryDataset.from_arrays([[1.0], [2.0], [3.0]], [0, 2, 1], qid=["b", "a", "b"])
    >>> data
    QueryDataset(2 queries, 3 documents, 1 feature, grades 0 to 2)
    >>> data.X.ravel().tolist()  # gathered by query, in order of first appearance
    [1.0, 3.0, 2.0]
    >>> data.in_row_order(data.X[:, 0]).tolist()  # and back
    [1.0, 2.0, 3.0]
    >>> [(query.id, len(query)) for query in data]
    [('b', 2), ('a', 1)]
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    offsets: NDArray[np.int64]
    query_ids: NDArray[Any]
    doc_ids: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    doc_weights: NDArray[np.float64] | None = None
    query_weights: NDArray[np.float64] | None = None
    rows: NDArray[np.int64] | None = None

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        doc_ids: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        doc_weights: ArrayLike | None = None,
        query_weights: ArrayLike | None = None,
        allow_nan: bool = False,
        memory_limit: int | str | None = None,
    ) -> QueryDataset:
        """Gather rows by query and check every value.

        Parameters
        ----------
        X : array, pandas or polars frame, Arrow table or scipy sparse matrix of numbers. float32
            arrays whose queries are contiguous are used as they are, without a copy.
        y : one grade a row
        qid : one query id a row, in any order; or
        group : the number of rows of each query, rows being in that order
        query_weights : one a query, in order of first appearance
        allow_nan : keep NaN features (missing values, for learners that know them)
        memory_limit : refuse a dense matrix above this many bytes (or `"4GB"`); default: the
            memory at hand

        Raises
        ------
        DataError
            where a value cannot be right: it names the row, the column and what to do.
        """
        if (qid is None) == (group is None):
            raise DataError("say which rows form a query: give either qid= or group=")
        if feature_names is None:
            feature_names = column_names(X)
        matrix = as_matrix(X, allow_nan=allow_nan, memory_limit=memory_limit)
        grades = as_grades(y)
        n = len(matrix)
        check_length("y", grades, n)
        if qid is not None:
            qid = as_ids(np.asarray(qid), "qid")
            check_length("qid", qid, n)
            grouping = group_by_id(qid)
        else:
            assert group is not None
            grouping = group_by_size(group, n)
        return cls.from_grouping(
            matrix,
            grades,
            grouping,
            doc_ids=None if doc_ids is None else as_text(doc_ids, "doc_ids"),
            feature_names=feature_names,
            doc_weights=None if doc_weights is None else as_weights(doc_weights, "doc_weights"),
            query_weights=(
                None if query_weights is None else as_weights(query_weights, "query_weights")
            ),
        )

    @classmethod
    def from_grouping(
        cls,
        X: NDArray[np.float32],
        y: NDArray[np.float64],
        grouping: Grouping,
        *,
        doc_ids: NDArray[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        doc_weights: NDArray[np.float64] | None = None,
        query_weights: NDArray[np.float64] | None = None,
    ) -> QueryDataset:
        """Put checked arrays, in the caller's order, in the grouping's order."""
        n, d = X.shape
        if feature_names is not None and len(feature_names) != d:
            raise DataError(f"{len(feature_names)} feature names for {d} features")
        if doc_ids is not None:
            check_length("doc_ids", doc_ids, n)
        if doc_weights is not None:
            check_length("doc_weights", doc_weights, n)
        if query_weights is not None and len(query_weights) != len(grouping.ids):
            raise DataError(
                f"query_weights has {len(query_weights):,} values for {len(grouping.ids):,} queries"
            )
        rows = grouping.rows
        if rows is not None:
            X, y = X[rows], y[rows]
            doc_ids = None if doc_ids is None else doc_ids[rows]
            doc_weights = None if doc_weights is None else doc_weights[rows]
        return cls(
            X,
            y,
            grouping.offsets,
            grouping.ids,
            doc_ids,
            None if feature_names is None else tuple(feature_names),
            doc_weights,
            query_weights,
            rows,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries, those without documents included."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """Number of documents, judged or not."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of documents of each query."""
        return np.diff(self.offsets)

    @property
    def qid(self) -> NDArray[Any]:
        """The query id of each row."""
        return np.repeat(self.query_ids, self.sizes)

    def __len__(self) -> int:
        return self.n_queries

    def __iter__(self) -> Iterator[Query]:
        return (self.query(q) for q in range(self.n_queries))

    def __repr__(self) -> str:
        grades = f", grades {self.y.min():g} to {self.y.max():g}" if len(self.y) else ""
        return (
            f"QueryDataset({count(self.n_queries, 'query', 'queries')}, "
            f"{count(self.n_documents, 'document', 'documents')}, "
            f"{count(self.n_features, 'feature', 'features')}{grades})"
        )

    def query(self, q: int) -> Query:
        """Return the q-th query, as views."""
        q = range(self.n_queries)[operator.index(q)]
        rows = slice(self.offsets[q], self.offsets[q + 1])
        return Query(
            self.query_ids[q].item() if self.query_ids.dtype != TEXT else str(self.query_ids[q]),
            self.X[rows],
            self.y[rows],
            None if self.doc_ids is None else self.doc_ids[rows],
            None if self.doc_weights is None else self.doc_weights[rows],
            1.0 if self.query_weights is None else float(self.query_weights[q]),
        )

    def select(self, queries: slice | ArrayLike) -> QueryDataset:
        """Take some queries, in the order given: a slice, positions or a mask.

        Consecutive queries are views; others are copied. The result is in its own row order.
        """
        if isinstance(queries, slice):
            chosen = np.arange(self.n_queries)[queries]
        else:
            chosen = np.asarray(queries)
            chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
            chosen = np.arange(self.n_queries)[chosen]
        if len(np.unique(chosen)) < len(chosen):
            raise DataError("select takes each query at most once")
        if len(chosen) and (np.diff(chosen) == 1).all():
            first, end = self.offsets[chosen[0]], self.offsets[chosen[-1] + 1]
            rows: Any = slice(first, end)
            offsets = self.offsets[chosen[0] : chosen[-1] + 2] - first
        else:
            sizes = self.sizes[chosen]
            offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
            rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return self._take(rows, offsets, chosen)

    def keep(self, documents: NDArray[np.bool_]) -> QueryDataset:
        """Keep some documents, by a mask, and the queries that have any left."""
        check_length("documents", documents, self.n_documents)
        sizes = np.add.reduceat(np.r_[documents, False].astype(np.int64), self.offsets[:-1])
        sizes = np.where(self.sizes > 0, sizes, 0)
        left = sizes > 0
        return self._take(documents, np.r_[0, np.cumsum(sizes[left])].astype(np.int64), left)

    def without_features(self) -> QueryDataset:
        """Return the same queries, grades and weights with no feature; all is shared."""
        return replace(self, X=self.X[:, :0], feature_names=None)

    def shuffled(self, rng: np.random.Generator) -> QueryDataset:
        """Shuffle the documents inside each query, so that file order tells a ranker nothing.

        Scores for the result go back to this data set's order with :meth:`in_row_order`.
        """
        rows = np.lexsort(
            (rng.random(self.n_documents), np.repeat(np.arange(len(self)), self.sizes))
        )
        taken = self._take(rows, self.offsets, slice(None))
        return QueryDataset(**{**vars(taken), "rows": rows})

    def _take(self, rows: Any, offsets: NDArray[np.int64], queries: Any) -> QueryDataset:
        return QueryDataset(
            self.X[rows],
            self.y[rows],
            offsets,
            self.query_ids[queries],
            None if self.doc_ids is None else self.doc_ids[rows],
            self.feature_names,
            None if self.doc_weights is None else self.doc_weights[rows],
            None if self.query_weights is None else self.query_weights[queries],
        )

    def in_row_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring one value a document from this data set's order to the caller's row order."""
        check_length("values", values, self.n_documents)
        if self.rows is None:
            return values
        result = np.empty_like(values)
        result[self.rows] = values
        return result

    def from_row_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring one value a row from the caller's order to this data set's."""
        check_length("values", values, self.n_documents)
        return values if self.rows is None else values[self.rows]


def concat(datasets: Sequence[QueryDataset]) -> QueryDataset:
    """Join data sets; rows of one query id come together wherever they stand.

    Fewer features in one part count as 0, as in its text form. Costs a copy of everything.
    """
    if not datasets:
        raise DataError("concat needs at least one data set")
    if len(datasets) == 1:
        return datasets[0]
    if len({d.query_ids.dtype for d in datasets}) > 1:
        ids = np.concatenate([d.query_ids.astype(TEXT) for d in datasets])
    else:
        ids = np.concatenate([d.query_ids for d in datasets])
    sizes = np.concatenate([d.sizes for d in datasets])
    keep = sizes > 0
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    width = max(d.n_features for d in datasets)
    X = np.zeros((sizes.sum(), width), np.float32)
    first = 0
    for d in datasets:
        X[first : first + d.n_documents, : d.n_features] = d.X
        first += d.n_documents
    grouping = group_runs(ids[keep], starts[keep], len(X))
    weights = _concat_optional([d.query_weights for d in datasets], [len(d) for d in datasets], 1.0)
    if weights is not None:
        if len(grouping.ids) < keep.sum():
            raise DataError("a query with a weight stands in two parts; weights would be ambiguous")
        weights = weights[keep]
    lengths = [d.n_documents for d in datasets]
    joined = QueryDataset.from_grouping(
        X,
        np.concatenate([d.y for d in datasets]),
        grouping,
        doc_ids=_concat_optional([d.doc_ids for d in datasets], lengths, ""),
        feature_names=next((d.feature_names for d in datasets if d.n_features == width), None),
        doc_weights=_concat_optional([d.doc_weights for d in datasets], lengths, 1.0),
        query_weights=weights,
    )
    if all(d.rows is None for d in datasets):
        return joined
    first_rows = np.r_[0, np.cumsum(lengths)[:-1]]
    callers = [
        first + (np.arange(d.n_documents) if d.rows is None else d.rows)
        for d, first in zip(datasets, first_rows, strict=True)
    ]
    rows = joined.from_row_order(np.concatenate(callers))
    return QueryDataset(**{**vars(joined), "rows": rows})


def _concat_optional(
    parts: Sequence[NDArray[Any] | None], lengths: Sequence[int], fill: Any
) -> NDArray[Any] | None:
    known = next((p for p in parts if p is not None), None)
    if known is None:
        return None
    return np.concatenate(
        [
            np.full(n, fill, dtype=known.dtype) if p is None else p
            for p, n in zip(parts, lengths, strict=True)
        ]
    )
