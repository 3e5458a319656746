"""Fitted trees: scoring, explanations, and conversion to LightGBM."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop._utils.processors import shared_threads, threads
from rankloop.exceptions import DataError
from rankloop.rankers.batch.base import BatchRanker
from rankloop.rankers.boosting import bridge
from rankloop.rankers.boosting.text import check_trees
from rankloop.rankers.explaining import member_parts
from rankloop.rankers.forms import Text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import lightgbm
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Offsets, Ranker, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits

_ROWS_A_THREAD = 4000


class TreeModel(BatchRanker):
    """A sum of trees, stored in LightGBM's format.

    Attributes
    ----------
    booster_ : the model as LightGBM writes it; '' if there was nothing to learn
    """

    traits: ClassVar[Traits] = replace(BatchRanker.traits, takes_nan=True)
    start_: Ranker | None = None  # what the trees add to
    _learns: ClassVar[tuple[str, ...]] = ("booster_",)
    _grown: lightgbm.Booster | None = None  # holds the training data during `fit`
    _read: lightgbm.Booster | None = None
    _text: str = ""

    @abstractmethod
    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        """Grow one tree after the other."""

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.booster_ = ""

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "booster_": Text()}

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        if state["booster_"]:
            check_trees(state["booster_"], state["n_features_in_"])

    @property
    def booster_(self) -> str:
        """The model as LightGBM writes it."""
        return self._text if self._grown is None else bridge.text_of(self._grown)

    @booster_.setter
    def booster_(self, text: str) -> None:
        self._read = bridge.from_text(text, self.n_features_in_) if text else None
        self._text, self._grown = text, None

    @property
    def _booster(self) -> lightgbm.Booster | None:
        return self._read if self._grown is None else self._grown

    def to_lightgbm(self) -> lightgbm.Booster:
        """Return a copy of the trees as a `lightgbm.Booster`, without what they start from."""
        self._check_fitted()
        if not self.booster_:
            raise DataError(
                "there are no trees, because no query of the training data had two different grades"
            )
        return bridge.from_text(self.booster_, self.n_features_in_)

    def save_text(self, path: str | os.PathLike[str]) -> None:
        """Write the trees as LightGBM does, for `lightgbm.Booster(model_file=path)`."""
        from rankloop.data.io.replacing import replace_when_done

        if self.start_ is not None:
            raise DataError(
                f"these trees add to the scores of a {type(self.start_).__name__}, which LightGBM's"
                " format cannot hold; use save or export"
            )
        text = bridge.text_of(self.to_lightgbm())
        with replace_when_done(path) as partial:
            partial.write_text(text)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        trees = self._predict_trees(X, raw_score=True) if self._booster else np.zeros(len(X))
        return trees if self.start_ is None else self.start_._score_rows(X, offsets) + trees

    def _predict_trees(self, X: Rows, **what: Any) -> NDArray[Any]:
        assert self._booster is not None
        if len(X) == 0:
            return np.zeros(0)
        used = shared_threads() or (threads() if len(X) >= _ROWS_A_THREAD else 1)
        if used > 1:
            bridge.engine()  # makes sure that this many threads are available
        return np.asarray(self._booster.predict(X, num_threads=used, **what))

    def contributions(self, X: object) -> NDArray[np.float64]:
        """Return what each feature adds to each row's score (SHAP), with the mean score last.

        What the trees start from adds its own contributions, query by query. Each row sums to the
        score. Cost: O(leaves x depth^2) per row and tree.
        """
        return super().contributions(X)

    def _contributions(self, rows: Rows, offsets: Offsets) -> NDArray[np.float64]:
        parts: NDArray[np.float64] = np.zeros((len(rows), self.n_features_in_ + 1))
        if self._booster is not None and len(rows):
            parts = self._predict_trees(rows, pred_contrib=True)
        if self.start_ is not None:
            for first, end in pairwise(offsets.tolist()):
                parts[first:end] += self.start_.contributions(rows[first:end])
        return parts

    def explain(self) -> Parts:
        """Return the gain and number of splits of each feature, largest gain first.

        Trees that start from another ranker return both as members, with their features.
        """
        self._check_fitted()
        if self.start_ is not None:
            trees = self.copy()
            trees.start_ = None
            return member_parts([self.start_, trees], np.ones(2))
        d = self.n_features_in_
        gains, splits = np.zeros(d), np.zeros(d, np.int64)
        if self._booster is not None:
            gains = self._booster.feature_importance("gain")
            splits = self._booster.feature_importance("split")
        return [
            {
                "feature": self._feature_name(int(j)),
                "gain": float(gains[j]),
                "splits": int(splits[j]),
            }
            for j in np.lexsort((np.arange(d), -splits, -gains))
        ]
