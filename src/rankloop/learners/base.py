"""What every ranker can do once it has learnt: score, rank, travel in a file, explain itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop import _core
from rankloop.data.dataset import Query, QueryDataset
from rankloop.data.validation import as_matrix, check_not_empty
from rankloop.exceptions import DataError, ModelError, NotFittedError
from rankloop.learners.estimator import Estimator
from rankloop.learners.forms import Whole
from rankloop.learners.locking import Shared
from rankloop.learners.ranking import Ranking, make_ranking

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.learners.forms import Form
    from rankloop.learners.search import Search

    Rows = NDArray[np.float32]
    Grades = NDArray[np.float64]
    Offsets = NDArray[np.int64]


MOST_FEATURES = 2**24


def known_width(state: Mapping[str, Any]) -> int:
    """Return the number of features that a learner's state tells of."""
    width = state.get("n_features_in_")
    Whole(high=MOST_FEATURES).check("n_features_in_", width)
    return int(width)  # type: ignore[arg-type]


def as_dataset(
    X: Any,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    allow_nan: bool = False,
) -> QueryDataset:
    """Take a data set as it is, or make one; rows without query ids form a single query."""
    if isinstance(X, QueryDataset):
        if any(given is not None for given in (y, qid, group, sample_weight, query_weight)):
            raise DataError(
                "a QueryDataset brings its own grades, queries and weights: pass it alone"
            )
        return X
    if y is None:
        raise DataError(
            "learning requires y to be passed, but the target y is None: give one grade a row"
        )
    if qid is None and group is None:
        group = [len(np.asarray(y))]
    return QueryDataset.from_arrays(
        X,
        y,
        qid=qid,
        group=group,
        doc_weights=sample_weight,
        query_weights=query_weight,
        allow_nan=allow_nan,
    )


def training_data(*given: Any, **options: Any) -> QueryDataset:
    """Return what `fit` learns from: :func:`as_dataset` that must not be empty or weigh nothing.

    A stream may begin with no rows, so `partial_fit` takes them; whoever calls `fit` on nothing has
    read the wrong file or dropped too many rows.
    """
    data = as_dataset(*given, **options)
    check_not_empty(data.X)
    for name, weights in (("document", data.doc_weights), ("query", data.query_weights)):
        if weights is not None and not weights.any():
            raise DataError(
                f"every {name} weight is zero, so there is nothing to learn from; give other "
                "weights, or leave them out"
            )
    return data


class Ranker(Shared, Estimator, ABC):
    """A ranker. A subclass says how it starts, how it scores and what it has learnt.

    Threads may share one: those that learn wait for each other, while `predict`, `rank`, `save`
    and copies see the state before or after, and never wait.

    Attributes
    ----------
    n_features_in_ : number of features
    queries_ : queries learnt from so far: the model's version
    """

    scores_rows_alone: ClassVar[bool] = True
    """Whether a row's score does not depend on the other rows of its query."""

    baseline: ClassVar[bool] = False
    """Whether it is there to be beaten, and need not learn."""

    is_robust: ClassVar[bool] = True
    """Whether it goes on learning after a query with a value far beyond all others."""

    takes_nan: ClassVar[bool] = False
    """Whether NaN features are missing values to it, rather than an error."""

    search_space: ClassVar[Mapping[str, Search]] = {}
    """The parameters worth choosing by validation, and the values worth trying."""

    n_features_in_: int
    queries_: int

    @abstractmethod
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> Any:
        """Learn from nothing."""

    @abstractmethod
    def _reset(self, n_features: int) -> None:
        """Forget everything."""

    @abstractmethod
    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        """Score checked rows."""

    @abstractmethod
    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before the first query."""

    def _forms(self, n_features: int) -> dict[str, Form]:
        """Return what each part of :meth:`learnt` looks like, for so many features."""
        return {"n_features_in_": Whole(n_features, n_features), "queries_": Whole()}

    def _check_state(self, state: Mapping[str, Any]) -> None:
        """Raise unless a learner of these parameters may have learnt this.

        It comes from a file, and may be anything. A subclass whose parts must fit each other, or
        that learns more than numbers, extends this.
        """
        forms = self._forms(known_width(state))
        if state.keys() != forms.keys():
            differ = ", ".join(sorted(state.keys() ^ forms.keys()))
            raise ModelError(f"what a {type(self).__name__} learns is missing or unknown: {differ}")
        for name, form in forms.items():
            form.check(name, state[name])

    def _take_over(self, state: Mapping[str, Any]) -> None:
        """Make this what was learnt, if it may be."""
        self._check_state(state)
        for name, value in state.items():
            setattr(self, name, value)

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Score documents, higher is better.

        Where each row is scored alone, query ids are not needed. Where features are looked at query
        by query first, rows without ids count as one query.
        """
        now = self._twin()  # other threads may go on learning
        now._check_learnt()
        rows = now._rows(X)
        if isinstance(X, QueryDataset):
            return now._score_rows(rows, X.offsets)
        if qid is None and group is None:
            return now._score_rows(rows, np.array([0, len(rows)]))
        data = as_dataset(rows, np.zeros(len(rows)), qid, group, allow_nan=self.takes_nan)
        return data.in_row_order(now._score_rows(data.X, data.offsets))

    def rank(self, query: Any, *, id: str | None = None) -> Ranking:  # noqa: A002
        """Rank the documents of one query: a Query or a matrix of features."""
        doc_ids = query.doc_ids if isinstance(query, Query) else None
        now = self._twin()
        return make_ranking(now.predict(query), now.queries_, doc_ids, id)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to one file; :func:`rankloop.load` reads it."""
        from rankloop.learners.saving import save

        save(self, path)

    def digest(self) -> str:
        """Return a digest of the parameters and of every bit that was learnt.

        The same stream gives the same digest on every processor, with any number of threads.
        """
        from rankloop.learners.digest import digest

        return digest(self._twin())

    @property
    def is_learnt(self) -> bool:
        """Whether it has been told of any data."""
        return hasattr(self, "n_features_in_")

    def _check_learnt(self) -> None:
        if not self.is_learnt:
            raise NotFittedError(f"{type(self).__name__} has learnt nothing yet; call fit or learn")

    def _refuse_missing(self, data: QueryDataset) -> None:
        """Raise where a value is missing: the one place that keeps them from learners."""
        if self.takes_nan or not data.has_missing:
            return
        place = _core.first_not_finite(data.X)
        if place >= 0:
            row, feature = divmod(place, data.n_features)
            query = data.query_ids[np.searchsorted(data.offsets, row, side="right") - 1]
            raise DataError(
                f"feature {feature + 1} of a document of query {query} is {data.X[row, feature]}, "
                f"but {type(self).__name__} needs finite numbers; fill in missing values (as "
                "read_letor(null=0) does), or take a learner of trees, which knows what missing is"
            )

    def _rows(self, X: Any) -> Rows:
        """Return the rows to score, checked."""
        if isinstance(X, Query | QueryDataset):
            rows = X.X
        else:
            rows = as_matrix(X, allow_nan=self.takes_nan)
        self._check_width(rows)
        return rows

    def _check_width(self, rows: Rows) -> None:
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
