"""QueryDataset: feature vectors and grades, grouped by query."""

from __future__ import annotations

import operator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.arguments import check_type, wrong_type
from rankloop._utils.messages import count
from rankloop.data.frames import (
    check_same_rows,
    frame_rows,
    has_other_kinds,
    refuse_other_columns,
)
from rankloop.data.grouping import TEXT, Grouping, as_array, as_ids, group_by_id, group_by_size
from rankloop.data.mapped_parts import is_mapped
from rankloop.data.sparse_rows import SparseRows, all_values, as_dense_type
from rankloop.data.validation import (
    as_feature_names,
    as_grades,
    as_rows,
    as_text,
    as_weights,
    bad_feature,
    check_length,
    check_rng,
    column_names,
    one_each,
    positions,
    validate_fields,
)
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeVar

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids
    from rankloop.features.columns import Features

    Places = NDArray[np.bool_ | np.integer] | slice
    S = TypeVar("S", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Query:
    """One query: the features and grades of its documents, as views of a data set."""

    id: int | str
    X: NDArray[np.float32]
    y: NDArray[np.float64]
    doc_ids: Ids | None = None
    sample_weight: NDArray[np.float64] | None = None
    weight: float = 1.0
    feature_names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False, repr=False)
class QueryDataset:
    """Documents grouped by query: row-major float32 features, float64 grades.

    Rows of query `q` are `offsets[q]:offsets[q + 1]`. A grade below 0 means *unjudged*. Make one
    with :meth:`from_arrays`, which takes rows in any order, or with a reader; the constructor
    takes rows that are already grouped. It checks that the arrays fit together, and every value
    except those of X. These are checked by :attr:`has_missing`, in one pass over all features when
    it is first used.

    Parameters
    ----------
    X : (n, d) float32 features, finite, or NaN if a value is missing: an array, or
        :class:`SparseRows`, for rankers that take them
    y : (n,) finite grades, higher is better, real numbers; below 0: unjudged
    offsets : (q + 1,) where each query starts: the first is 0, the last is n, and none is smaller
        than the one before
    query_ids : (q,) whole numbers or text, one per query, all different (not checked)
    doc_ids : (n,) text, or None
    feature_names : d names, or None
    sample_weight, query_weight : (n,) and (q,) finite weights >= 0, or None for all equal
    rows : (n,) the caller's row of each row here, or None if the order is the caller's
    features : the description of each column, or None if all are numbers
    query_name : the name that the column of query ids had, or None if it is not known

    Raises
    ------
    DataError
        if the arrays do not fit together, or a value is not valid.

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
    query_ids: Ids
    doc_ids: Ids | None = None
    feature_names: tuple[str, ...] | None = None
    sample_weight: NDArray[np.float64] | None = None
    query_weight: NDArray[np.float64] | None = None
    rows: NDArray[np.int64] | None = None
    features: Features | None = None
    query_name: str | None = None

    def __post_init__(self) -> None:
        for name, values in validate_fields(self._values()).items():
            object.__setattr__(self, name, values)

    @classmethod
    def _from_checked(
        cls, values: dict[str, object], has_missing: bool | None = None
    ) -> QueryDataset:
        """Make a data set from arrays that need no check; fields that are not given are None.

        `has_missing` says whether features are missing, if that is known.
        """
        data = object.__new__(cls)
        vars(data).update(dict.fromkeys(_FIELDS), **values)
        if has_missing is not None:
            vars(data)["has_missing"] = has_missing
        return data

    @classmethod
    def from_arrays(
        cls,
        X: object,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        doc_ids: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        allow_nan: bool = False,
        memory_limit: int | str | None = None,
    ) -> QueryDataset:
        """Group rows by query and check every value.

        Parameters
        ----------
        X : array, pandas or polars frame, Arrow table or SciPy sparse matrix of numbers; frames and
            tables may also have dates and categories, but no column of ids, grades or facts of a
            log, as y and qid are or as the usual names tell. float32 arrays whose queries are
            contiguous are used as they are, without a copy. A sparse matrix stays sparse
            (:meth:`to_dense`).
        y : one grade per row; as a pandas series, with the index of X
        qid : one query id per row, in any order; or
        group : the number of rows of each query, rows being in that order
        feature_names : the names of the columns; the columns of a frame are then features,
            whatever they are called
        query_weight : one per query, in order of first appearance
        allow_nan : keep NaN features (missing values, for rankers that can use them)
        memory_limit : refuse a dense matrix above this many bytes (or `"4GB"`); by default, three
            quarters of the free memory

        Raises
        ------
        DataError
            if a value is not valid: it names the row, the column and what to do.
        """
        check_type("allow_nan", allow_nan, bool, "True or False")
        if (qid is None) == (group is None):
            raise DataError("say which rows form a query: give either qid= or group=")
        check_same_rows(X, y=y, qid=qid, doc_ids=doc_ids, sample_weight=sample_weight)
        if feature_names is None:
            refuse_other_columns(X, y=y, qid=qid, doc_ids=doc_ids)
            feature_names = column_names(X)
        features = None
        if has_other_kinds(X):
            X, features = frame_rows(X, memory_limit=memory_limit)
        matrix = as_rows(X, allow_nan=allow_nan, memory_limit=memory_limit)
        grades = as_grades(y)
        n = len(matrix)
        check_length("y", grades, n)
        query_name = getattr(qid, "name", None)
        if qid is not None:
            qid = as_ids(qid, "qid")
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
            sample_weight=None
            if sample_weight is None
            else as_weights(sample_weight, "sample_weight"),
            query_weight=(
                None if query_weight is None else as_weights(query_weight, "query_weight")
            ),
            features=features,
            query_name=query_name if isinstance(query_name, str) else None,
            has_missing=None if allow_nan else False,
        )

    @classmethod
    def from_grouping(
        cls,
        X: NDArray[np.float32],
        y: NDArray[np.float64],
        grouping: Grouping,
        *,
        doc_ids: Ids | None = None,
        feature_names: Sequence[str] | None = None,
        sample_weight: NDArray[np.float64] | None = None,
        query_weight: NDArray[np.float64] | None = None,
        features: Features | None = None,
        query_name: str | None = None,
        has_missing: bool | None = None,
        in_place: bool = False,
    ) -> QueryDataset:
        """Bring checked arrays from the caller's order to the order of the grouping.

        Parameters
        ----------
        has_missing : whether features are missing, if that is known
        in_place : reorder the rows of X in place, without a second matrix; for an X that no other
            code uses
        """
        n, d = X.shape
        check_length("y", y, n)
        if feature_names is not None:
            feature_names = as_feature_names(feature_names)
            check_length("feature_names", feature_names, d, "features")
        if doc_ids is not None:
            check_length("doc_ids", doc_ids, n)
        if sample_weight is not None:
            check_length("sample_weight", sample_weight, n)
        if query_weight is not None:
            check_length("query_weight", query_weight, len(grouping.ids), "queries")
        rows = grouping.rows
        if rows is not None:
            if in_place and isinstance(X, np.ndarray):
                _core.gather_rows(X, rows)
            else:
                X = X[rows]
            y = y[rows]
            doc_ids = None if doc_ids is None else doc_ids[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        values = (
            *(X, y, grouping.offsets, grouping.ids, doc_ids, feature_names),
            *(sample_weight, query_weight, rows, features, query_name),
        )
        return cls._from_checked(dict(zip(_FIELDS, values, strict=True)), has_missing)

    @cached_property
    def has_missing(self) -> bool:
        """Whether any feature is missing (NaN). Computed once, in a pass over X; parts inherit it.

        Raises
        ------
        DataError
            if a feature is infinite; it names the first one.
        """
        values = all_values(self.X)
        if _core.first_not_finite(values) < 0:
            return False
        infinite = _core.first_not_finite(values, allow_nan=True)
        if infinite >= 0:
            raise bad_feature(self.X, infinite, self.feature_names)
        return True

    @property
    def n_queries(self) -> int:
        """Number of queries, including those without documents."""
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
    def nbytes(self) -> int:
        """Bytes of all arrays; a text longer than 15 bytes counts as the 16 bytes in its array."""
        arrays = (v for v in self._values().values() if isinstance(v, np.ndarray | SparseRows))
        return sum(v.nbytes for v in arrays)

    def __sizeof__(self) -> int:
        """Return the bytes in memory, for `sys.getsizeof`; mapped features are not in memory."""
        return self.nbytes - (self.X.nbytes if is_mapped(self) else 0)

    @property
    def is_sparse(self) -> bool:
        """Whether X has sparse rows, which not all rankers take."""
        return isinstance(self.X, SparseRows)

    def to_dense(self, memory_limit: int | str | None = None) -> QueryDataset:
        """Return the same data with a dense matrix X; raise if it exceeds the limit.

        Parameters
        ----------
        memory_limit : bytes, or text such as `"4GB"`; by default, three quarters of the free memory
        """
        if not isinstance(self.X, SparseRows):
            return self
        return self._with_rows(self.X.toarray(memory_limit))

    def to_sparse(self) -> QueryDataset:
        """Return the same data with sparse rows X, which store only the features that are not 0.

        >>> data = QueryDataset.from_arrays([[0.0, 2.0], [0.0, 0.0]], [1, 0], group=[2])
        >>> data.to_sparse().X
        SparseRows(2 rows, 2 features, 1 nonzeros)
        """
        if isinstance(self.X, SparseRows):
            return self
        return self._with_rows(as_dense_type(SparseRows.from_dense(self.X)))

    def _with_rows(self, X: NDArray[np.float32]) -> QueryDataset:
        return self._from_checked({**self._values(), "X": X}, vars(self).get("has_missing"))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of documents of each query."""
        return np.diff(self.offsets)

    @property
    def qid(self) -> Ids:
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
        try:
            q = range(self.n_queries)[operator.index(q)]
        except TypeError:
            raise wrong_type("a query", q, "given by its position, a whole number") from None
        rows = slice(self.offsets[q], self.offsets[q + 1])
        return Query(
            self.query_ids[q].item() if self.query_ids.dtype != TEXT else str(self.query_ids[q]),
            self.X[rows],
            self.y[rows],
            None if self.doc_ids is None else self.doc_ids[rows],
            None if self.sample_weight is None else self.sample_weight[rows],
            1.0 if self.query_weight is None else float(self.query_weight[q]),
            self.feature_names,
        )

    def select(self, queries: slice | ArrayLike) -> QueryDataset:
        """Take some queries, in the given order: a slice, positions or a mask.

        Consecutive queries are views; others are copied. The result is in its own row order.
        """
        chosen = positions(queries, self.n_queries)
        if len(np.unique(chosen)) < len(chosen):
            raise DataError("a query is selected more than once; select each query at most once")
        if len(chosen) and (np.diff(chosen) == 1).all():
            first, end = self.offsets[chosen[0]], self.offsets[chosen[-1] + 1]
            rows: Places = slice(first, end)
            offsets = self.offsets[chosen[0] : chosen[-1] + 2] - first
        else:
            sizes = self.sizes[chosen]
            offsets = np.r_[0, np.cumsum(sizes)].astype(np.int64)
            rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return self._take(rows, offsets, chosen)

    def keep(self, documents: NDArray[np.bool_]) -> QueryDataset:
        """Keep some documents, by a mask, and the queries that have any left."""
        documents = as_array(documents, "the mask of documents")
        if documents.dtype != bool or documents.ndim != 1:
            raise DataError(
                f"keep takes a mask with one boolean per document; found {documents.dtype} of "
                f"shape {documents.shape}"
            )
        check_length("documents", documents, self.n_documents)
        sizes = np.add.reduceat(np.r_[documents, False].astype(np.int64), self.offsets[:-1])
        sizes = np.where(self.sizes > 0, sizes, 0)
        left = sizes > 0
        return self._take(documents, np.r_[0, np.cumsum(sizes[left])].astype(np.int64), left)

    def without_features(self) -> QueryDataset:
        """Return the same queries, grades and weights without features.

        The arrays are shared; the result does not keep the features in memory.
        """
        nothing = np.empty((self.n_documents, 0), np.float32)
        gone = {"X": nothing, "feature_names": None, "features": None}
        return self._from_checked({**self._values(), **gone}, False)

    def shuffle(self, rng: np.random.Generator) -> QueryDataset:
        """Shuffle the documents within each query, so that the order of a file reveals nothing.

        :meth:`in_row_order` of the result brings scores back to the order of this data set.
        """
        check_rng(rng)
        rows = np.lexsort(
            (rng.random(self.n_documents), np.repeat(np.arange(len(self)), self.sizes))
        )
        taken = self._take(rows, self.offsets, slice(None))
        return self._from_checked({**taken._values(), "rows": rows}, vars(taken).get("has_missing"))

    def _take(self, rows: Places, offsets: NDArray[np.int64], queries: Places) -> QueryDataset:
        values = {
            "X": self.X[rows],
            "y": self.y[rows],
            "offsets": offsets,
            "query_ids": self.query_ids[queries],
            "doc_ids": None if self.doc_ids is None else self.doc_ids[rows],
            "feature_names": self.feature_names,
            "sample_weight": None if self.sample_weight is None else self.sample_weight[rows],
            "query_weight": None if self.query_weight is None else self.query_weight[queries],
            "features": self.features,
            "query_name": self.query_name,
        }
        known = vars(self).get("has_missing")
        return self._from_checked(values, None if known else known)  # a part may have none missing

    def _values(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in _FIELDS}

    def in_row_order(self, values: NDArray[S]) -> NDArray[S]:
        """Bring one value per document from this data set's order to the caller's row order."""
        values = one_each("values", values, self.n_documents)
        if self.rows is None:
            return values
        result = np.empty_like(values)
        result[self.rows] = values
        return result

    def from_row_order(self, values: NDArray[S]) -> NDArray[S]:
        """Bring one value per row from the caller's order to this data set's."""
        values = one_each("values", values, self.n_documents)
        return values if self.rows is None else values[self.rows]


_FIELDS = tuple(field.name for field in fields(QueryDataset))
