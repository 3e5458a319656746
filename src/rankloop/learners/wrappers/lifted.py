"""Any ranker in the space of a kernel, by features that stand for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from rankloop.learners.kernel.features import KernelFeatures
from rankloop.learners.parameters import check_whole
from rankloop.learners.wrappers.base import Wrapped

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Ranker, Rows


class Lifted(Wrapped):
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
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(40, np.random.default_rng(0)).data
    >>> Lifted(features="nystrom(rbf(1),50)").fit(data).ranker_.n_features_in_
    50
    """

    _kept: ClassVar[str] = "features_"
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
        self.metric = metric
        self.random_state = random_state
        self.warm_start = warm_start

    def _check(self, data: QueryDataset) -> None:
        check_whole("random_state", self.random_state, 0)
        KernelFeatures(self.features).kernel.check_rows(data.X)
        super()._check(data)

    def _fitted(self, data: QueryDataset) -> dict[str, Any]:
        return KernelFeatures(self.features, self.random_state).fit(data.X).to_dict()

    def _kept_width(self, kept: dict[str, Any], n_features: int) -> int:
        features = KernelFeatures.from_dict(kept)
        features.check(n_features)
        return features.size

    def _transform(self, data: QueryDataset) -> QueryDataset:
        return replace(data, X=self._transform_rows(data.X, data.offsets), feature_names=None)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        return KernelFeatures.from_dict(self.features_).transform(X)

    def explain(self) -> list[dict[str, Any]]:
        """Return the landmarks or frequencies, with their features."""
        self._check_learnt()
        held = "landmarks" if "landmarks" in self.features_ else "frequencies"
        kind = {"landmarks": "landmark", "frequencies": "frequency"}[held]
        names = [self.feature_name(j) for j in range(self.n_features_in_)]
        return [
            {kind: k, **dict(zip(names, row, strict=True))}
            for k, row in enumerate(self.features_[held].tolist())
        ]
