"""Any ranker in the space of a kernel, by features that stand for it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.exceptions import DataError
from rankloop.learners.base import as_dataset
from rankloop.learners.batch.base import BatchRanker
from rankloop.learners.kernel.features import KernelFeatures
from rankloop.learners.online.base import OnlineRanker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Ranker, Rows
    from rankloop.learners.batch.base import Round


class Lifted(BatchRanker):
    """A linear ranker that sees features of a kernel, and is a kernel ranker by that.

    Features are fitted on all training documents, kept, and applied whenever the model ranks. To
    learn from a stream, take :class:`rankloop.Mapped` with the same text among its maps.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. An online one has no rounds.
    features : `nystrom(rbf(1),200)`, `fourier(rbf(1),200)` or `orthogonal(rbf(1),200)`
    random_state : seed of the features
    warm_start : `fit` goes on from what was learnt, with the features it has

    Attributes
    ----------
    ranker_ : what learnt
    features_ : the features, as plain values and arrays

    Notes
    -----
    Cost: the ranker's on so many features, and a copy of the data with them.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(40, np.random.default_rng(0)).data
    >>> Lifted(features="nystrom(rbf(1),50)").fit(data).ranker_.n_features_in_
    50
    """

    ranker_: Ranker
    features_: dict[str, Any]

    def __init__(
        self,
        ranker: Ranker | None = None,
        features: str = "nystrom(rbf(1),200)",
        metric: str | None = None,
        random_state: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.ranker = ranker
        self.features = features
        self.metric = metric  # type: ignore[assignment]
        self.random_state = random_state
        self.warm_start = warm_start

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before `fit`."""
        if not self.is_learnt:
            return {}
        return {**super().learnt(), "ranker_": self.ranker_, "features_": self.features_}

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.features_ = {}
        self.ranker_ = self._fresh()

    def _fresh(self) -> Ranker:
        from rankloop.learners.online.newton import NewtonXENDCG

        ranker = NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)
        if self.metric is not None and isinstance(ranker, BatchRanker):
            ranker.metric = self.metric
        return ranker

    def _check(self, data: QueryDataset) -> None:
        KernelFeatures(self.features).kernel.check_rows(data.X)
        ranker = self._fresh()
        if isinstance(ranker, BatchRanker):
            ranker._check(data)
        elif isinstance(ranker, OnlineRanker):
            ranker._check(data.y)
            for weights in (data.doc_weights, data.query_weights):
                if weights is not None and np.ptp(weights) > 0:
                    raise DataError(
                        f"a {type(ranker).__name__} learns online and knows no weights; leave them "
                        "out, or lift a batch ranker"
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
        """Fit the features, then the ranker on them; see :meth:`BatchRanker.fit`."""
        data = as_dataset(X, y, qid, group, sample_weight, query_weight)
        self._check(data)
        goes_on = self.warm_start and self.is_learnt
        if goes_on:
            self._check_width(data.X)
        else:
            self._reset(data.n_features)
            fitted = KernelFeatures(self.features, self.random_state).fit(data.X)
            self.features_ = fitted.to_dict()
        try:
            if isinstance(self.ranker_, BatchRanker):
                self.ranker_.warm_start = goes_on
                judged = None if valid is None else self._lifted(valid)
                self.ranker_.fit(self._lifted(data), valid=judged, on_round=on_round)
            elif goes_on and isinstance(self.ranker_, OnlineRanker):
                self.ranker_.partial_fit(self._lifted(data))
            else:
                self.ranker_.fit(self._lifted(data))
        finally:  # an interrupted ranker has learnt something too
            self.queries_ = getattr(self.ranker_, "queries_", 0)
            self.rounds_ = getattr(self.ranker_, "rounds_", 0)
            self.feature_names_ = data.feature_names or ()
        return self

    def _lifted(self, data: QueryDataset) -> QueryDataset:
        X = KernelFeatures.from_dict(self.features_).transform(data.X)
        return replace(data, X=X, feature_names=None)

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        """Give the ranker's own rounds on the features."""
        if not isinstance(self.ranker_, BatchRanker):
            raise DataError(f"a {type(self.ranker_).__name__} learns online, without rounds")
        return self.ranker_._rounds(self._lifted(data))

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        rows = KernelFeatures.from_dict(self.features_).transform(X)
        return self.ranker_._score_rows(rows, offsets)

    def explain(self) -> list[dict[str, Any]]:
        """Return the landmarks or frequencies, with their features."""
        self._check_learnt()
        kind = "landmarks" if "landmarks" in self.features_ else "frequencies"
        names = [self.feature_name(j) for j in range(self.n_features_in_)]
        return [
            {
                kind[:-1] if kind == "landmarks" else "frequency": k,
                **dict(zip(names, row, strict=True)),
            }
            for k, row in enumerate(self.features_[kind].tolist())
        ]
