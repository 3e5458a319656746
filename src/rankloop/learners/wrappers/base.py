"""A ranker behind a transformation of the data that is fitted with it and kept in the model."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankloop.exceptions import DataError
from rankloop.learners.base import training_data
from rankloop.learners.batch.base import BatchRanker, unchanged_by_errors
from rankloop.learners.online.base import OnlineRanker, queries_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Ranker, Rows
    from rankloop.learners.batch.base import Round
    from rankloop.metrics.measures import Measure


class Wrapped(BatchRanker):
    """A ranker that sees transformed features.

    A subclass says how the transformation is fitted (:meth:`_fitted`) and applied, and keeps it, as
    plain values and arrays, in the attribute that `_kept` names. Rounds, early stopping and what
    they are measured by are the ranker's own.
    """

    _kept: ClassVar[str]

    ranker: Ranker | None
    metric: str | Measure | None  # type: ignore[assignment]
    ranker_: Ranker

    @abstractmethod
    def _fitted(self, data: QueryDataset) -> dict[str, Any]:
        """Return the transformation, fitted."""

    @abstractmethod
    def _transform(self, data: QueryDataset) -> QueryDataset:
        """Apply it to a data set."""

    @abstractmethod
    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:
        """Apply it to rows."""

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before `fit`."""
        if not self.is_learnt:
            return {}
        kept = {self._kept: getattr(self, self._kept)}
        return {**super().learnt(), "ranker_": self.ranker_, **kept}

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: QueryDataset | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Fit the transformation, then the ranker behind it; see :meth:`BatchRanker.fit`."""
        data = training_data(X, y, qid, group, sample_weight, query_weight)
        self._refuse_missing(data)
        self._check(data)
        goes_on = self.warm_start and self.is_learnt
        if goes_on:
            self._check_width(data.X)
        with unchanged_by_errors(self):
            if not goes_on:
                self._reset(data.n_features)
                setattr(self, self._kept, self._fitted(data))
            if valid is not None:
                self._check_width(valid.X)
            try:
                self._pass_on(data, valid, on_round, goes_on)
            finally:  # an interrupted ranker has learnt something too
                self.queries_ = getattr(self.ranker_, "queries_", 0)
                self.rounds_ = getattr(self.ranker_, "rounds_", 0)
                self.feature_names_ = data.feature_names or ()
        return self

    def _pass_on(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
        goes_on: bool,
    ) -> None:
        seen = self._transform(data)
        if isinstance(self.ranker_, BatchRanker):
            self.ranker_.warm_start = goes_on
            judged = None if valid is None else self._transform(valid)
            self.ranker_.fit(seen, valid=judged, on_round=on_round)
        elif goes_on and isinstance(self.ranker_, OnlineRanker):
            self.ranker_.partial_fit(seen)
        else:
            self.ranker_.fit(seen)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        setattr(self, self._kept, {})
        self.ranker_ = self._fresh()

    def _fresh(self) -> Ranker:
        from rankloop.learners.online.newton import NewtonXENDCG

        ranker = NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)
        if self.metric is not None and isinstance(ranker, BatchRanker):
            ranker.metric = self.metric
        return ranker

    def _check(self, data: QueryDataset) -> None:
        ranker = self._fresh()
        if isinstance(ranker, BatchRanker):
            ranker._check(data)
        elif isinstance(ranker, OnlineRanker):
            ranker._check_all(queries_of(data))

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        """Give the ranker's own rounds."""
        if not isinstance(self.ranker_, BatchRanker):
            raise DataError(f"a {type(self.ranker_).__name__} learns online, without rounds")
        return self.ranker_._rounds(self._transform(data))

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        return self.ranker_._score_rows(self._transform_rows(X, offsets), offsets)
