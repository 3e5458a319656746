"""The base class of every ranker, and its contract.

What a subclass writes:

- `__init__` stores its parameters under their names, and does nothing else. Parameters are checked
  in `_check`, before `fit` changes anything.
- `_reset(n_features)` sets everything that is learnt to what it is before any data, and the
  attributes `n_features_in_` and `n_queries_seen_`. What is learnt ends in `_`.
- `_fit(data, valid, on_round)` learns from checked data, starting from the current state. It is a
  generator: it yields whenever its state is one that could be kept, such as after a round. An
  online ranker writes `_learn_queries` or `_learn_query` instead
  (:class:`rankloop.rankers.online.base.OnlineRanker`), and a batch ranker writes `_rounds`
  (:class:`rankloop.rankers.batch.base.BatchRanker`).
- `_score_rows(X, offsets)` scores checked rows; higher is better.
- `_learns` names the attributes that are learnt, and `_forms` says of which type and shape each of
  them is, so that a damaged model file is refused.

What it must not do: change a learnt array in place. A copy of a ranker shares the arrays of the
original, so the original would change, too, and with it what other threads rank with.

What it gets: `fit` with tables, matrices or data sets, sparse or dense; `predict`, `rank`, `score`,
`contributions`; files, copies and digests; parameters in scikit-learn's way; and threads that may
rank while another learns.

How `fit` reaches the subclass: `fit` makes a data set, and `_learn_on_copy` lets a copy of the
ranker learn: `_begin` checks the data and resets the copy, and `_fit` learns. The ranker takes over
the state of the copy at the end. So an error leaves the ranker as it was.
"""

from __future__ import annotations

import copy
import threading
from abc import ABCMeta, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop._utils.argument_names import argument
from rankloop._utils.arguments import check_callback
from rankloop._utils.estimator import Estimator
from rankloop.data.columns import choose_columns, columns_by_name, in_order, with_columns
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
from rankloop.exceptions import DataError, NotFittedError, RankloopError
from rankloop.features.columns import refuse_kinds
from rankloop.feedback.ranking import Ranking, best_first
from rankloop.measures.evaluation import evaluate
from rankloop.measures.predictions import Predictions
from rankloop.rankers.forms import Anything, Whole
from rankloop.rankers.inputs import (
    as_dataset,
    check_differences,
    find_queries,
    queries_of,
    training_data,
    validation_data,
)
from rankloop.rankers.sparse import is_large_and_sparse, needs_dense_rows, query_blocks
from rankloop.rankers.state import check_forms, making_lock, plain_copy, read_width
from rankloop.rankers.traits import Traits

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Grouping, Ids
    from rankloop.measures.measure import Measure
    from rankloop.rankers.forms import Form
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.search import Search
    from rankloop.rankers.state import State

    Rows = NDArray[np.float32]
    Scores = NDArray[np.float32 | np.float64]
    Grades = NDArray[np.float64]
    Offsets = NDArray[np.int64]
    from rankloop.rankers.explaining import Parts


class Ranker(Estimator, metaclass=ABCMeta):
    """A ranker: it learns from queries, scores, ranks, explains itself and can be saved.

    The text at the top of this module says what a subclass writes and what it gets.

    Threads may share a ranker: threads that learn wait for each other, while `predict`, `rank`,
    `save` and `copy` see the state before or after an update, and never wait.

    Attributes
    ----------
    n_features_in_ : number of features
    feature_names_in_ : their names; empty if the training data has no names
    query_name_ : the name of the column of query ids in the training data; None if it is not known
    n_queries_seen_ : number of queries learnt from so far
    version_ : how often the state has changed
    """

    __slots__ = ("_lock",)  # outside __dict__, so that copies, pickles and files do not hold it
    _lock: threading.RLock

    traits: ClassVar[Traits] = Traits()
    """What kind of ranker it is, and which data it takes."""

    search_space: ClassVar[Mapping[str, Search]] = {}
    """The parameters worth choosing on validation data, and the values worth trying."""

    _learns: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that, together with the counters, form the whole learnt state."""

    n_features_in_: int
    feature_names_in_: tuple[str, ...] = ()
    n_queries_seen_: int
    version_: int = 0
    warm_start: bool = False
    query_name_: str | None = None
    """It is in model files, but it is not part of the learnt state, whose digest has no names."""
    _trained_on: tuple[Ids, int] | None = None
    """The queries of the last `fit` and their number of rows, which are not part of the state."""

    rounds_: int | None = None

    @abstractmethod
    def _reset(self, n_features: int) -> None:
        """Forget everything."""

    @abstractmethod
    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Learn from checked data, starting from the current state; pause in consistent states.

        Replace learnt arrays and never change them in place, because other code may hold them.
        """

    @abstractmethod
    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows; the rows of query q are offsets[q]:offsets[q + 1]."""

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

    @property
    def _writing(self) -> threading.RLock:
        """The lock that a thread holds while it learns; it is made when first needed."""
        try:
            return self._lock
        except AttributeError:
            with making_lock:
                if not hasattr(self, "_lock"):
                    self._lock = threading.RLock()
            return self._lock

    def with_indicators(self, indicators: int, wide: int) -> Self:  # noqa: ARG002
        """Return this ranker for rows whose last columns are indicators, which are 0 or 1.

        A ranker that treats such columns in another way than numbers overrides this, and returns a
        copy with other parameters.

        indicators : the number of these columns
        wide : how many of them, the last ones, stand for categories of which there are many
        """
        return self

    def _become(self, new: Self) -> None:
        """Take over the state of a copy in one step, as a new version."""
        self.__dict__.update(new.__dict__, version_=self.version_ + 1)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes that deep copies and pickles contain: all but the lock."""
        return vars(self).copy()

    def _state(self) -> dict[str, Any]:
        """Return copies of everything that was learnt, by attribute; empty before `fit`."""
        return {name: plain_copy(getattr(self, name)) for name in self._state_names()}

    def _state_names(self) -> tuple[str, ...]:
        if not self.is_fitted:
            return ()
        names = ("feature_names_in_",) if self.feature_names_in_ else ()
        return ("n_features_in_", "n_queries_seen_", *names, *self._learns)

    def _forms(self, n_features: int) -> dict[str, Form]:
        """Return the expected form of each part of the state, for n_features features."""
        return {
            "n_features_in_": Whole(n_features, n_features),
            "n_queries_seen_": Whole(),
            **dict.fromkeys(self._learns, Anything()),
        }

    def _check_state(self, state: State) -> None:
        """Raise unless this is a possible state of a ranker with these parameters.

        The state comes from a file, and may be anything. A subclass extends this if its parts must
        be consistent with each other, or if it learns more than numbers.
        """
        check_forms(state, self._forms(read_width(state)), type(self).__name__)

    def _restore(self, state: State) -> None:
        """Replace the state by one that :meth:`_state` returned, after checking it."""
        with self._writing:
            new = self.copy()
            new._check_state(state)
            new.feature_names_in_ = ()
            for name, value in state.items():
                setattr(new, name, tuple(value) if name == "feature_names_in_" else value)
            self._become(new)

    def explain(self) -> Parts:
        """Return the parts of the model, most important first, with the features they use."""
        self._check_fitted()
        raise DataError(
            f"a {type(self).__name__} has no parts to show; contributions(X) returns what each "
            "feature adds to a score"
        )

    def _check(self, data: QueryDataset) -> None:
        """Raise, before anything changes, if a parameter, a grade or a weight cannot be used."""

    def _check_part(self, data: QueryDataset) -> None:
        """Raise if this ranker cannot learn from a part of the data, which has whole queries."""
        self._refuse_missing(data)
        self._check(data)

    def fit(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: object = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Fit the ranker from scratch, or with `warm_start` from its current state.

        An error leaves the ranker unchanged. If a ranker that learns in rounds is interrupted, it
        keeps the state of the last complete round. Other threads use the old state until `fit` is
        done, or, with `on_round`, until the first round is done.

        Parameters
        ----------
        X : a QueryDataset, or a matrix of features, dense or, for a ranker that takes them
            (`traits.takes_sparse`), sparse, with
        y : one grade per row (below 0 means unjudged), and
        qid : one query id per row, in any order; or
        group : the number of rows of each query
        sample_weight, query_weight : one per row, and one per query in order of first appearance
        valid : validation data, on which a ranker that learns in rounds chooses the best round;
            others ignore it: a QueryDataset, or a frame or table with the same features, and with
            columns of grades and query ids that have the usual names, such as `label` and `qid`
        on_round : called after each round, to show progress
        """
        data = training_data(
            X, y, qid, group, sample_weight, query_weight, allow_nan=self.traits.takes_nan
        )
        if not (self.traits.takes_equal_grades or self.traits.is_baseline):
            check_differences(data, type(self).__name__)
        judged = validation_data(valid, data.feature_names)
        check_callback(on_round)
        return self._learn_on_copy(
            lambda new: new._fit(*new._begin(data, judged, self.warm_start), on_round),
            on_round,
            (data.query_ids, data.n_documents),
        )

    def go_on(
        self,
        data: QueryDataset,
        *,
        valid: object = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Continue from the current state, with more rounds on this data or with its queries."""
        data = training_data(data)
        judged = validation_data(valid, data.feature_names)
        check_callback(on_round)
        return self._learn_on_copy(
            lambda new: new._fit(*new._begin(data, judged, go_on=True), on_round),
            on_round,
            (data.query_ids, data.n_documents),
        )

    def discount_past(self, keep: float) -> Self:
        """Reduce the weight of what was learnt so far to this fraction; for online rankers."""
        raise DataError(
            f"a {type(self).__name__} does not learn online, so it cannot keep only {keep} of what "
            "it learnt; leave out this option"
        )

    def _learn_on_copy(
        self,
        learn: Callable[[Self], Iterator[None]],
        on_round: Callable[[Round], None] | None,
        trained_on: tuple[Ids, int] | None,
    ) -> Self:
        """Let a copy learn and take its state over: wholly, or the last complete round.

        `learn` pauses whenever the state of the copy is complete. This state is copied at once,
        because the next round changes attributes of `new` one after the other, and an interrupt
        may come in between.
        """
        with self._writing:
            new, whole = self.copy(), None
            try:
                for _ in learn(new):
                    whole = new.copy()
                    if on_round is not None:  # the callback sees the state after each round
                        self._become(whole)
            except BaseException as error:
                if whole is not None and not isinstance(error, RankloopError):
                    whole._end_early()
                    self._become(whole)
                raise
            new._trained_on = trained_on
            self._become(new)
        return self

    def _begin(
        self, data: QueryDataset, valid: QueryDataset | None, go_on: bool
    ) -> tuple[QueryDataset, QueryDataset | None]:
        """Check data, and forget everything unless learning continues; return what `_fit` takes.

        Rankers that consist of others train copies of them by `_begin` and `_fit`, without the
        lock and the copy of :meth:`fit`; all other code calls :meth:`fit`.
        """
        goes_on = go_on and self.is_fitted
        if goes_on:
            data = with_columns(data, self.feature_names_in_)
        self._refuse_missing(data)
        self._check(data)
        if not goes_on:
            self._reset(data.n_features)
            self.feature_names_in_ = data.feature_names or ()
            self.query_name_ = data.query_name
        self._check_width(data.X)
        if valid is not None:
            valid = with_columns(valid, self.feature_names_in_, wider=True)
            self._check_width(valid.X)
            self._refuse_missing(valid)
        return data, valid

    def _end_early(self) -> None:
        """Clean up after an interrupt that follows a complete round; subclasses may override it."""

    def fit_path(
        self,
        data: QueryDataset,
        settings: Iterable[Mapping[str, object]],
        *,
        valid: QueryDataset | None = None,
    ) -> Iterator[Self]:
        """Yield one fitted copy per setting."""
        for setting in settings:
            yield copy.deepcopy(self).set_params(**setting).fit(data, valid=valid)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker to one file; :func:`rankloop.load` reads it."""
        from rankloop.rankers.model_files.saving import save

        save(self, path)

    def dumps(self) -> bytes:
        """Return the ranker as the bytes of such a file; :func:`rankloop.loads` reads them."""
        from rankloop.rankers.model_files.saving import dumps

        return dumps(self)

    def digest(self) -> str:
        """Return a digest of the parameters and of every bit that was learnt.

        The same stream gives the same digest on every processor, with any number of threads.
        """
        from rankloop.rankers.digest import digest

        return digest(self.copy())

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
