"""What a fitted ranker does: it scores, ranks, and says what each feature adds to a score.

All of this only reads what was learnt; :mod:`rankloop.rankers.base` has what learns and what is
stored.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop._utils.argument_names import argument
from rankloop._utils.estimator import Estimator
from rankloop.data.columns import choose_columns, columns_by_name, in_order
from rankloop.data.dataset import Query, QueryDataset
from rankloop.data.grouping import one_query
from rankloop.data.sparse_rows import (
    SparseRows,
    all_values,
    is_sparse,
    place_in_rows,
    sparse_rows,
)
from rankloop.data.validation import as_matrix, as_rows, column_names
from rankloop.exceptions import DataError, NotFittedError
from rankloop.features.columns import refuse_kinds
from rankloop.feedback.ranking import Ranking, best_first
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import parse
from rankloop.measures.predictions import Predictions
from rankloop.rankers.inputs import as_dataset, find_queries, queries_of
from rankloop.rankers.sparse import is_large_and_sparse, needs_dense_rows, query_blocks
from rankloop.rankers.traits import Traits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Grouping
    from rankloop.measures.measure import Measure

    Rows = NDArray[np.float32]
    Scores = NDArray[np.float32 | np.float64]
    Offsets = NDArray[np.int64]


class Predictor(Estimator, metaclass=ABCMeta):
    """The part of a :class:`rankloop.rankers.base.Ranker` that uses what was learnt.

    A subclass writes :meth:`_score_rows`; all other methods are made of it.
    """

    traits: ClassVar[Traits] = Traits()
    """What kind of ranker it is, and which data it takes."""

    n_features_in_: int
    feature_names_in_: tuple[str, ...] = ()
    query_name_: str | None = None
    """It is in model files, but it is not part of the learnt state, whose digest has no names."""
    version_: int = 0

    @property
    def is_fitted(self) -> bool:
        """Whether it has seen any data."""
        return "n_features_in_" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.is_fitted:
            raise NotFittedError(f"{type(self).__name__} has learnt nothing yet; call fit or learn")

    def copy(self) -> Self:
        """Return an independent copy in its current state; this takes a microsecond.

        Use it to rank with one state while this ranker continues to learn, or to try something
        and keep the old state. Both share the learnt arrays, which learning replaces and never
        changes in place.

        >>> from rankloop.rankers.online.solar_i import SolarI
        >>> ranker = SolarI().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
        >>> before = ranker.copy()
        >>> _ = ranker.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> before.version_, ranker.version_
        (1, 2)
        >>> before.digest() == ranker.digest()
        False
        """
        new = object.__new__(type(self))
        object.__setattr__(new, "__dict__", self.__dict__.copy())
        return new

    @abstractmethod
    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows; the rows of query q are offsets[q]:offsets[q + 1]."""

    def predict(
        self, X: object, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> Predictions:
        """Score documents; higher is better. The scores know the rows that they belong to.

        A ranker that needs dense rows makes sparse ones dense, a block of queries at a time.

        Parameters
        ----------
        X : a QueryDataset, a Query, or a matrix of features with
        qid : one query id per row, in any order; or
        group : the number of rows of each query. A ranker that scores each row separately
            (`traits.scores_rows_alone`) needs neither. One that looks at whole queries finds the
            ids in a frame, in the column of the name that it had in `fit`, or of a usual name
            such as `qid`; a matrix without them is an error.
        """
        now = self.copy()  # other threads may learn meanwhile
        now._check_fitted()
        return Predictions.of(now._predict(X, qid, group), X, now._rows)

    def _predict(self, X: object, qid: ArrayLike | None, group: ArrayLike | None) -> Scores:
        if not self._is_sparse_taken():
            if isinstance(X, QueryDataset) and X.is_sparse:
                return self._score_blocks(X)
            if is_large_and_sparse(X):
                return self._predict_sparse(X, qid, group)
        if isinstance(X, QueryDataset):
            return self._score_rows(self._rows(X), X.offsets)
        rows = self._rows(X)
        if qid is None and group is None and not self.traits.scores_rows_alone:
            qid = find_queries(X, self.feature_names_in_, self.query_name_)
        is_one = isinstance(X, Query) or (isinstance(group, list) and group == [len(rows)])
        if qid is None and (group is None or is_one):
            if not is_one:
                self._check_rows_alone()
            return self._score_rows(rows, one_query(len(rows)))
        data = as_dataset(rows, np.zeros(len(rows)), qid, group, allow_nan=self.traits.takes_nan)
        return data.in_row_order(self._score_rows(data.X, data.offsets))

    def _predict_sparse(self, X: Any, qid: ArrayLike | None, group: ArrayLike | None) -> Scores:
        """Score sparse rows that are not grouped yet."""
        n = X.shape[0]
        if qid is None and group is None:
            self._check_rows_alone()
            group = np.ones(n, np.int64)
        data = as_dataset(X, np.zeros(n), qid, group, allow_nan=self.traits.takes_nan)
        return data.in_row_order(self._score_blocks(data))

    def _score_blocks(self, data: QueryDataset) -> Scores:
        """Score sparse rows, made dense in blocks of whole queries, so that memory is bounded."""
        scores = [np.empty(0, np.float32)]
        for first, end in query_blocks(data.offsets, data.n_features):
            part = data.select(slice(first, end)).to_dense()
            scores.append(np.asarray(self._score_rows(self._rows(part), part.offsets)))
        return np.concatenate(scores[1:] or scores)

    def _is_nan_taken(self) -> bool:
        return self.traits.takes_nan

    def _is_sparse_taken(self) -> bool:
        """Whether it takes sparse rows with its parameters; override it if that depends on them."""
        return self.traits.takes_sparse

    def _refuse_sparse(self, X: object) -> None:
        """Raise if rows are sparse and it needs dense ones."""
        if is_sparse(X) and not self._is_sparse_taken():
            raise needs_dense_rows(repr(self), sparse_rows(X))

    def _check_rows_alone(self) -> None:
        """Raise if scores depend on whole queries, for rows whose queries are not known."""
        if not self.traits.scores_rows_alone:
            raise DataError(
                f"the scores of this {type(self).__name__} depend on all documents of a query, and "
                "which rows belong to which query is not known: pass qid=, one query id per row, "
                "or group=, the number of rows of each query (group=[len(X)] for one query), or "
                "give a Query or a QueryDataset"
            )

    def rank(self, query: object, *, id: str | None = None) -> Ranking:  # noqa: A002
        """Rank the documents of one query: a Query or a matrix of features.

        The ranking keeps a read-only view of the features, not a copy. If no id is given, it gets a
        new one. A data set, or a frame with a column of query ids, that has several queries is an
        error.
        """
        now = self.copy()
        now._check_fitted()
        rows = now._rows(query)
        if type(query) is not np.ndarray and not isinstance(query, Query):
            several = len(now._queries_in(query, len(rows)).ids)
            if several > 1:
                raise DataError(
                    f"rank takes the documents of one query, but these are of {several:,} queries; "
                    "rank one query after the other, as with [model.rank(query) for query in data] "
                    "for a data set or model.rank(rows) for each group of a frame, or score all "
                    "with predict"
                )
        scores = now._score_rows(rows, one_query(len(rows)))
        if isinstance(query, Query):
            ids = {"query_id": query.id, "doc_ids": query.doc_ids}
            return best_first(scores, id=id, version=now.version_, X=rows, **ids)
        return best_first(scores, id=id, version=now.version_, X=rows)

    def score(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        measure: str | Measure = "nDCG@10",
    ) -> float:
        """Return the mean of a measure over queries; higher is better."""
        measure = parse(measure)
        names = column_names(X)
        if qid is None and group is None:
            qid = find_queries(X, self.feature_names_in_, self.query_name_)
        if names is not None and set(self.feature_names_in_) <= set(names):
            X = choose_columns(X, names, self.feature_names_in_)
        data = as_dataset(X, y, qid, group, allow_nan=self.traits.takes_nan)
        return evaluate(data, self.predict(data), measure).results[0].mean

    def contributions(self, X: object) -> NDArray[np.float64]:
        """Return what each feature adds to each document's score, and the remainder last.

        What a feature adds is how much the score falls when the feature is replaced by its mean
        over the documents of the query. Each row sums to the score. For a linear ranker this is
        weight x (value - mean). Cost: one scoring pass per feature.

        X : a QueryDataset, a Query, a frame with a column of query ids, or rows of one query
        """
        now = self.copy()
        now._check_fitted()
        rows = now._rows(X)
        queries = now._queries_in(X, len(rows))
        if queries.rows is None:
            return now._contributions(rows, queries.offsets)
        parts = np.empty((len(rows), self.n_features_in_ + 1))
        parts[queries.rows] = now._contributions(rows[queries.rows], queries.offsets)
        return parts

    def _contributions(self, rows: Rows, offsets: Offsets) -> NDArray[np.float64]:
        """Return the contributions to the scores of checked rows."""
        if isinstance(rows, SparseRows):
            rows = rows.toarray()
        scores = np.asarray(self._score_rows(rows, offsets), np.float64)
        parts = np.zeros((len(rows), self.n_features_in_ + 1))
        for j in range(self.n_features_in_ if len(rows) else 0):
            changed = rows.copy()
            for first, end in pairwise(offsets.tolist()):
                if first < end:
                    changed[first:end, j] = self._usual_value(rows[first:end], j)
            parts[:, j] = scores - self._score_rows(changed, offsets)
        parts[:, -1] = scores - parts[:, :-1].sum(axis=1)
        return parts

    def _queries_in(self, X: object, n: int) -> Grouping:
        return queries_of(X, n, self.feature_names_in_, self.query_name_)

    def _usual_value(self, rows: NDArray[np.float32], feature: int) -> float:
        """Return what stands for a feature that says nothing about the documents of a query."""
        return float(rows[:, feature].mean(dtype=np.float64))

    def _feature_name(self, feature: int) -> str:
        """Return the name of a feature, or its number counted from 1 as in LETOR files."""
        return self.feature_names_in_[feature] if self.feature_names_in_ else str(feature + 1)

    def _refuse_missing(self, data: QueryDataset) -> None:
        """Raise if rows are sparse or a value is missing, unless this ranker takes that.

        All rankers that need dense rows or finite values rely on this.
        """
        self._refuse_sparse(data.X)
        if not self.traits.takes_kinds:
            refuse_kinds(data, type(self).__name__)
        if data.has_missing:
            self._refuse_missing_values(data, data.X)

    def _refuse_missing_values(self, data: QueryDataset | Query, rows: Rows) -> None:
        """Raise if a value of these rows of the data is missing, unless this ranker takes that."""
        values = all_values(rows)
        place = -1 if self.traits.takes_nan else _core.first_not_finite(values)
        if place < 0:
            return
        row, feature = place_in_rows(rows, place)
        query = data.id if isinstance(data, Query) else data.query_ids[_query_of(data, row)]
        raise DataError(
            f"feature {feature + 1} of a document of query {query} is {values.ravel()[place]}, "
            f"but {type(self).__name__} needs finite numbers; fill in missing values (in "
            f"text with {argument('null', 0)}), or use Described(ranker) or boosted trees, "
            "which accept missing values"
        )

    def _rows(self, X: object) -> Rows:
        """Return the checked rows to score, with columns in the order of the training data."""
        if isinstance(X, (Query, QueryDataset)):
            if isinstance(X, QueryDataset):
                refuse_kinds(X, type(self).__name__)
            rows, names = X.X, X.feature_names
        else:
            names = column_names(X)
            if names is not None:
                X = choose_columns(X, names, self.feature_names_in_)
                names = column_names(X)
            rows = (as_rows if self._is_sparse_taken() else as_matrix)(
                X, allow_nan=self.traits.takes_nan
            )
        self._refuse_sparse(rows)
        order = (
            None if names is None else columns_by_name(self.feature_names_in_, names, wider=True)
        )
        if order is not None:
            rows = in_order(rows, order)
        self._check_width(rows)
        if isinstance(X, Query) or (isinstance(X, QueryDataset) and X.has_missing):
            self._refuse_missing_values(X, rows)
        return rows

    def _check_width(self, rows: Rows) -> None:
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )


def _query_of(data: QueryDataset, row: int) -> int:
    return int(np.searchsorted(data.offsets, row, side="right")) - 1
