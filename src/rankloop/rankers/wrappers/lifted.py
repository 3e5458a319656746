"""Any ranker in the space of a kernel, which a fixed number of features approximates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rankloop.rankers.kernel.features import KernelFeatures
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.wrappers.base import Wrapped

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Offsets, Ranker, Rows
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.state import State


class Lifted(Wrapped):
    """A linear ranker on kernel features, which makes it an approximate kernel ranker.

    The features are fitted on all training documents, stored in the model and computed whenever it
    predicts. To learn from a stream, use :class:`rankloop.Prepared` with the same text in its maps.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. Rounds, early stopping and `warm_start`,
        which keeps the fitted features, are set on the ranker. An online ranker has no rounds.
    features : `nystrom(rbf(1),200)`, `fourier(rbf(1),200)` or `orthogonal(rbf(1),200)`
    random_state : random seed of the features

    Attributes
    ----------
    ranker_ : the fitted ranker
    features_ : the fitted features, as plain values and arrays

    Notes
    -----
    Cost: that of the ranker on this number of features, and a transformed copy of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(40, np.random.default_rng(0)).data
    >>> Lifted(features="nystrom(rbf(1),50)").fit(data).ranker_.n_features_in_
    50
    """

    _learns: ClassVar[tuple[str, ...]] = ("features_",)
    features_: dict[str, Any]

    def __init__(
        self,
        ranker: Ranker | None = None,
        features: str = "nystrom(rbf(1),200)",
        random_state: int = 0,
    ) -> None:
        self.ranker = ranker
        self.features = features
        self.random_state = random_state

    def _check(self, data: QueryDataset) -> None:
        check_whole("random_state", self.random_state, 0)
        KernelFeatures(self.features).kernel.check_rows(data.X)
        super()._check(data)

    def _fit_transformation(self, data: QueryDataset) -> None:
        self.features_ = KernelFeatures(self.features, self.random_state).fit(data.X).to_dict()

    def _transformed_width(self, state: State) -> int:
        features = KernelFeatures.from_dict(state["features_"])
        features.check(state["n_features_in_"])
        return features.size

    def _transform(self, data: QueryDataset) -> QueryDataset:
        return replace(data, X=self._transform_rows(data.X, data.offsets), feature_names=None)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        return KernelFeatures.from_dict(self.features_).transform_rows(X)

    def explain(self) -> Parts:
        """Return the landmarks or frequencies, each with its value for every feature."""
        self._check_fitted()
        has_landmarks = "landmarks" in self.features_
        kind, vectors = ("landmark", "landmarks") if has_landmarks else ("frequency", "frequencies")
        names = [self._feature_name(j) for j in range(self.n_features_in_)]
        return [
            {kind: k, **dict(zip(names, row, strict=True))}
            for k, row in enumerate(self.features_[vectors].tolist())
        ]
