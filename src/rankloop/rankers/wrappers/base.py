"""A ranker whose features are transformed first; the transformation is part of the model."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from rankloop.rankers.base import Ranker
from rankloop.rankers.batch.base import BatchRanker
from rankloop.rankers.forms import FittedRanker, Values
from rankloop.rankers.online.newton import NewtonXENDCG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.forms import Form
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.state import State


class Wrapped(BatchRanker):
    """A ranker that receives transformed features.

    A subclass defines how the transformation is fitted (:meth:`_fitted`) and applied. It stores the
    transformation, as plain values and arrays, in the attribute that `_kept` names. The rounds,
    early stopping and the measure on validation data are those of the ranker.
    """

    _kept: ClassVar[str]

    ranker: Ranker | None
    valid_measure: str | Measure | None  # type: ignore[assignment]
    ranker_: Ranker

    @abstractmethod
    def _fitted(self, data: QueryDataset) -> dict[str, object]:
        """Fit the transformation and return it."""

    @abstractmethod
    def _transform(self, data: QueryDataset) -> QueryDataset:
        """Apply the transformation to a data set."""

    @abstractmethod
    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:
        """Apply the transformation to rows."""

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        return (*known, "ranker_", self._kept) if known else ()

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "ranker_": FittedRanker(Ranker, None),
            self._kept: Values(),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        width = self._kept_width(state[self._kept], state["n_features_in_"])
        FittedRanker(Ranker, width).check("ranker_", state["ranker_"])

    @abstractmethod
    def _kept_width(self, kept: dict[str, object], n_features: int) -> int:
        """Return the number of transformed features; raise if the transformation is damaged."""

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Fit the transformation and then the ranker; the rounds are those of the ranker."""
        goes_on = self.ranker_.is_fitted
        if not goes_on:
            setattr(self, self._kept, self._fitted(data))
        self.ranker_ = self.ranker_.copy().set_params(**self._fresh().get_params(deep=False))
        seen = self._transform(data)
        judged = None if valid is None else self._transform(valid)
        for _ in self.ranker_._fit_rounds(seen, judged, on_round, goes_on):
            self._take_note()
            yield
        self._take_note()

    def prepared(self, sample: QueryDataset) -> Self:
        """Return a copy with the transformation fitted to a sample; its ranker is still to learn.

        It is for data in parts: :meth:`as_seen` changes each part, the ranker is fitted to them,
        and :meth:`completed` puts both together.
        """
        new = copy.deepcopy(self)
        new._begin(sample, None, False)
        setattr(new, new._kept, new._fitted(sample))
        return new

    def as_seen(self, data: QueryDataset) -> QueryDataset:
        """Return data as the ranker sees it."""
        self._refuse_missing(data)
        return self._transform(data)

    def completed(self, ranker: Ranker) -> Self:
        """Return a copy with this fitted ranker."""
        new = copy.deepcopy(self)
        new.ranker_ = ranker
        new._take_note()
        return new

    def _take_note(self) -> None:
        """Copy the counters of the ranker."""
        self.n_queries_seen_ = self.ranker_.n_queries_seen_
        self.rounds_ = self.ranker_.rounds_ or 0

    def _end_early(self) -> None:
        """Keep the last complete round of the ranker."""
        self.ranker_ = self.ranker_.copy()
        self.ranker_._end_early()

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        setattr(self, self._kept, {})
        self.ranker_ = self._fresh()

    def _fresh(self) -> Ranker:
        ranker = NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)
        if self.valid_measure is not None and "valid_measure" in ranker._parameters():
            ranker.set_params(valid_measure=self.valid_measure)
        return ranker

    def _check(self, data: QueryDataset) -> None:
        self._fresh()._check(data)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        return self.ranker_._score_rows(self._transform_rows(X, offsets), offsets)
