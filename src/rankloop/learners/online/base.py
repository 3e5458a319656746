"""The online contract: learn a query, go on, rank, forget and start again."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.data.validation import as_grades, as_matrix
from rankloop.exceptions import DataError
from rankloop.learners.base import Ranker, as_dataset
from rankloop.learners.locking import learns
from rankloop.learners.parameters import check_seed, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Grades, Offsets, Rows


class OnlineRanker(Ranker):
    """A ranker that learns query by query and never has to stop.

    A subclass says how it starts (:meth:`_reset`), how it learns from queries one after the other
    (:meth:`_learn_rows`) and how it scores (:meth:`_score_rows`). It has the parameters

    passes : how often `fit` goes through the data, at least 1
    random_state : seed of the order of queries in `fit`, another one each pass; None: as given

    """

    passes: int
    random_state: int | None

    def _check(self, y: Grades) -> None:
        """Raise, before anything changes, where a parameter or a grade cannot be used."""

    @abstractmethod
    def _learn_rows(self, X: Rows, y: Grades, offsets: Offsets, scores: Rows | None) -> None:
        """Learn from queries in order; put the scores each had before into `scores`, if given."""

    @abstractmethod
    def _loosen(self, hold: float) -> None:
        """Make what was learnt count for less."""

    def _check_state(self, state: Mapping[str, Any]) -> None:
        self._check(np.zeros(0))
        super()._check_state(state)

    @learns
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> Self:
        """Learn from nothing: `passes` times through the queries.

        Parameters
        ----------
        X : a QueryDataset, or a matrix of features with
        y : one grade a row (below 0: unjudged), and
        qid : one query id a row, in any order; or
        group : the number of rows of each query. Without either, all rows are one query.
        """
        check_whole("passes", self.passes)
        check_seed("random_state", self.random_state)
        data = as_dataset(X, y, qid, group)
        self._check(data.y)
        self._reset(data.n_features)
        rng = None if self.random_state is None else np.random.default_rng(self.random_state)
        for _ in range(self.passes):
            self.partial_fit(data if rng is None else data.select(rng.permutation(len(data))))
        return self

    @learns
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> Self:
        """Go on learning, once through the queries in the order of their first rows."""
        data = as_dataset(X, y, qid, group)
        self._go_on(data.X, data.y, data.offsets)
        return self

    @learns
    def learn(self, X: Any, y: ArrayLike) -> Self:
        """Learn from one query. Cheap: some microseconds for a short list of float32 rows."""
        rows, grades = as_matrix(X), as_grades(y)
        if len(rows) != len(grades):
            raise DataError(f"y has {len(grades):,} values for {len(rows):,} rows")
        self._go_on(rows, grades, np.array([0, len(grades)]))
        return self

    @learns
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
        self._go_on(rows, np.tile([1.0, 0.0], n), np.arange(0, 2 * n + 1, 2))
        return self

    @learns
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
        self._loosen(hold)
        return self

    @learns
    def progress(self, data: QueryDataset) -> NDArray[np.float32]:
        """Learn from queries in order, and return the scores each had just before it was learnt.

        This is progressive validation: measuring these scores measures the learner on data it had
        not seen.
        """
        scores = np.empty(data.n_documents, np.float32)
        self._go_on(data.X, data.y, data.offsets, scores)
        return scores

    def _go_on(self, X: Rows, y: Grades, offsets: Offsets, scores: Rows | None = None) -> None:
        self._check(y)
        if not self.is_learnt:
            self._reset(X.shape[1])
        self._check_width(X)
        self._learn_rows(X, y, offsets, scores)
        self.queries_ += len(offsets) - 1
