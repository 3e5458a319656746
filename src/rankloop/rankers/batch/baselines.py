"""Baselines for comparison: the best single feature, and constant scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.rankers.batch.base import BatchRanker, refuse_document_weights
from rankloop.rankers.batch.measured import MeasureObjective
from rankloop.rankers.batch.near_equal import first_largest
from rankloop.rankers.forms import Array
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.batch.measured import Floats
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.search import Search
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits


class SingleFeature(BatchRanker):
    """Ranks by the single feature, or its negative, that ranks the training set best.

    If several are equally good, the first feature is taken, and the feature before its negative.

    Parameters
    ----------
    measure : any
    valid_measure, patience, warm_start : see :class:`BatchRanker`; there is one round

    Attributes
    ----------
    choice_ : (2,) the feature, counted from 0, and 1 or -1

    Notes
    -----
    Cost: 2 d evaluations of O(n log m); memory O(d q) and a copy of the data.

    Examples
    --------
    >>> ranker = SingleFeature("AP").fit([[1, 3], [2, 2], [1, 1]], [0, 1, 2], group=[3])
    >>> ranker.explain(), ranker.predict([[5, 4]]).tolist()
    ([{'feature': '2', 'weight': -1.0}], [-4.0])
    """

    search_space: ClassVar[Mapping[str, Search]] = {"measure": OneOf(("nDCG@10", "AP"))}
    traits: ClassVar[Traits] = replace(BatchRanker.traits, is_baseline=True)
    _learns: ClassVar[tuple[str, ...]] = ("choice_",)
    choice_: NDArray[np.int64]

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        valid_measure: str | Measure = "nDCG@10",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.measure = measure
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start

    def explain(self) -> Parts:
        """Return the feature, and 1 or -1."""
        self._check_fitted()
        feature, sign = self.choice_.tolist()
        return [{"feature": self._feature_name(feature), "weight": float(sign)}] if sign else []

    def _check(self, data: QueryDataset) -> None:
        refuse_document_weights(self, data)
        MeasureObjective.check(self.measure, data)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.choice_ = np.zeros(2, np.int64)

    def _forms(self, n_features: int) -> dict[str, Form]:
        choice = Array((2,), np.int64, low=-1, high=max(n_features - 1, 1))
        return {**super()._forms(n_features), "choice_": choice}

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        feature, sign = state["choice_"].tolist()
        if abs(sign) > 1 or (sign and feature not in range(state["n_features_in_"])):
            raise ModelError(f"choice_ must be a feature and 1, 0 or -1; found {feature}, {sign}")

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        E = MeasureObjective(self.measure, data)
        if len(E.data) == 0 or data.n_features == 0 or self.rounds_:
            return
        worth = np.average(E.of_features(both=True), axis=1, weights=E.weights)
        chosen = first_largest(worth)
        self.choice_ = np.array([chosen % data.n_features, 1 if chosen < data.n_features else -1])
        yield 1 - float(worth[chosen])

    def _score_rows(self, X: Rows, offsets: Offsets) -> Floats:  # noqa: ARG002
        """Score checked rows."""
        feature, sign = self.choice_.tolist()
        if not sign:
            return np.zeros(len(X))
        return np.asarray(sign * X[:, feature].astype(np.float64))


class Constant(BatchRanker):
    """Scores every document 0; its measured quality shows the effect of ties alone.

    Without shuffling, it measures the order of the rows in the file; shuffle the documents to
    measure a random ranking.

    Parameters
    ----------
    valid_measure, patience, warm_start : see :class:`BatchRanker`; there are no rounds

    Notes
    -----
    Cost: none.

    Examples
    --------
    >>> Constant().fit([[1.0], [2.0]], [0, 1], group=[2]).predict([[3.0], [4.0]]).tolist()
    [0.0, 0.0]
    """

    traits: ClassVar[Traits] = replace(BatchRanker.traits, is_baseline=True)

    def __init__(
        self,
        valid_measure: str | Measure = "nDCG@10",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start

    def explain(self) -> Parts:
        """Return an empty list."""
        self._check_fitted()
        return []

    def _rounds(self, data: QueryDataset) -> Iterator[float]:  # noqa: ARG002
        return iter(())

    def _score_rows(self, X: Rows, offsets: Offsets) -> Floats:  # noqa: ARG002
        """Score checked rows."""
        return np.zeros(len(X))
