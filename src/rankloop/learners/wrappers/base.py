"""A ranker behind a transformation of the data that is fitted with it and kept in the model."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankloop.exceptions import DataError, RankloopError
from rankloop.learners.base import Ranker, training_data
from rankloop.learners.batch.base import BatchRanker
from rankloop.learners.forms import Learner, Values
from rankloop.learners.online.base import OnlineRanker, queries_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.batch.base import Round
    from rankloop.learners.forms import Form
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

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "ranker_": Learner(Ranker, None),
            self._kept: Values(),
        }

    def _check_state(self, state: Mapping[str, Any]) -> None:
        super()._check_state(state)
        width = self._kept_width(state[self._kept], state["n_features_in_"])
        Learner(Ranker, width).check("ranker_", state["ranker_"])

    @abstractmethod
    def _kept_width(self, kept: dict[str, Any], n_features: int) -> int:
        """Return how many features the transformation makes of so many; raise if it is damaged."""

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
        with self._writing:
            new = self._twin()
            new._refuse_missing(data)
            new._check(data)
            goes_on = new.warm_start and new.is_learnt
            if goes_on:
                new._check_width(data.X)
                new.ranker_ = new.ranker_._twin()
            else:
                new._reset(data.n_features)
                setattr(new, new._kept, new._fitted(data))
            if valid is not None:
                new._check_width(valid.X)
            watched = None
            if on_round is not None:

                def watched(done: Round) -> None:
                    new._take_note(data)
                    self._become(new)
                    on_round(done)

            try:
                new._pass_on(data, valid, watched, goes_on)
            except BaseException as error:  # the ranker may have learnt something before
                if new.ranker_.is_learnt and not isinstance(error, RankloopError):
                    self._become(new)
                raise
            self._become(new)
        return self

    def _pass_on(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
        goes_on: bool,
    ) -> None:
        seen = self._transform(data)
        try:
            if isinstance(self.ranker_, BatchRanker):
                self.ranker_.warm_start = goes_on
                judged = None if valid is None else self._transform(valid)
                self.ranker_.fit(seen, valid=judged, on_round=on_round)
            elif goes_on and isinstance(self.ranker_, OnlineRanker):
                self.ranker_.partial_fit(seen)
            else:
                self.ranker_.fit(seen)
        finally:
            self._take_note(data)

    def _take_note(self, data: QueryDataset) -> None:
        """Keep what the ranker and the data tell of themselves."""
        self.queries_ = getattr(self.ranker_, "queries_", 0)
        self.rounds_ = getattr(self.ranker_, "rounds_", 0)
        self.feature_names_ = data.feature_names or ()

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
