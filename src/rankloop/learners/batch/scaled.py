"""Scaled features in front of a batch ranker, the scaler kept in the model."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.data.scaling import scaler_from_dict, scaler_from_name
from rankloop.exceptions import DataError
from rankloop.learners.base import as_dataset
from rankloop.learners.batch.base import BatchRanker
from rankloop.learners.online.base import OnlineRanker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Ranker, Rows
    from rankloop.learners.batch.base import Round
    from rankloop.metrics.measures import Measure


class Scaled(BatchRanker):
    """A ranker that sees scaled features.

    The scaler is fitted on all training documents, kept, and applied whenever the model predicts.
    Rounds, early stopping and what they are measured by are the ranker's own.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. An online one has no rounds.
    scale : `standard`, `log` or another of :data:`rankloop.data.scaling.SCALERS`
    metric : what a batch ranker is measured by after each round; None: its own
    warm_start : `fit` goes on from what was learnt, with the scaler it has

    Attributes
    ----------
    ranker_ : what learnt
    scaler_ : the scaler, as plain values

    Notes
    -----
    Cost: the ranker's, and a scaled copy of the data. `query-minmax` looks at a whole query, so
    `predict` wants to know which rows belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import mslr_like
    >>> data = mslr_like(40, np.random.default_rng(0), n_features=6).data
    >>> Scaled(scale="standard").fit(data).scaler_["name"]
    'standard'
    """

    metric: str | Measure | None  # type: ignore[assignment]
    ranker_: Ranker
    scaler_: dict[str, Any]

    def __init__(
        self,
        ranker: Ranker | None = None,
        scale: str = "log",
        metric: str | Measure | None = None,
        warm_start: bool = False,
    ) -> None:
        self.ranker = ranker
        self.scale = scale
        self.metric = metric
        self.warm_start = warm_start

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before `fit`."""
        if not self.is_learnt:
            return {}
        return {**super().learnt(), "ranker_": self.ranker_, "scaler_": self.scaler_}

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.scaler_ = {}
        self.ranker_ = self._fresh()

    def _fresh(self) -> Ranker:
        from rankloop.learners.online.newton import NewtonXENDCG

        ranker = NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)
        if self.metric is not None and isinstance(ranker, BatchRanker):
            ranker.metric = self.metric
        return ranker

    def _check(self, data: QueryDataset) -> None:
        scaler_from_name(self.scale)
        ranker = self._fresh()
        if isinstance(ranker, BatchRanker):
            ranker._check(data)
        elif isinstance(ranker, OnlineRanker):
            ranker._check(data.y)
            for weights in (data.doc_weights, data.query_weights):
                if weights is not None and np.ptp(weights) > 0:
                    raise DataError(
                        f"a {type(ranker).__name__} learns online and knows no weights; leave them "
                        "out, or scale for a batch ranker"
                    )

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
        """Fit the scaler, then the ranker on scaled data; see :meth:`BatchRanker.fit`."""
        data = as_dataset(X, y, qid, group, sample_weight, query_weight)
        self._check(data)
        goes_on = self.warm_start and self.is_learnt
        if goes_on:
            self._check_width(data.X)
        else:
            self._reset(data.n_features)
            self.scaler_ = scaler_from_name(self.scale).fit(data).to_dict()
        scaler = scaler_from_dict(self.scaler_)
        seen = scaler.transform(data)
        try:
            if isinstance(self.ranker_, BatchRanker):
                self.ranker_.warm_start = goes_on
                judged = None if valid is None else scaler.transform(valid)
                self.ranker_.fit(seen, valid=judged, on_round=on_round)
            elif goes_on and isinstance(self.ranker_, OnlineRanker):
                self.ranker_.partial_fit(seen)
            else:
                self.ranker_.fit(seen)
        finally:  # an interrupted ranker has learnt something too
            self.queries_ = getattr(self.ranker_, "queries_", 0)
            self.rounds_ = getattr(self.ranker_, "rounds_", 0)
            self.feature_names_ = data.feature_names or ()
        return self

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        """Give the ranker's own rounds on scaled data."""
        if not isinstance(self.ranker_, BatchRanker):
            raise DataError(f"a {type(self.ranker_).__name__} learns online, without rounds")
        return self.ranker_._rounds(scaler_from_dict(self.scaler_).transform(data))

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        rows = scaler_from_dict(self.scaler_).transform_rows(X, offsets)
        return self.ranker_._score_rows(rows, offsets)

    def explain(self) -> list[dict[str, Any]]:
        """Return the parts of the ranker; thresholds and weights are of scaled features."""
        self._check_learnt()
        if not hasattr(self.ranker_, "explain"):
            raise DataError(f"a {type(self.ranker_).__name__} has no parts that could be shown")
        parts: list[dict[str, Any]] = self.ranker_.explain()
        return parts
