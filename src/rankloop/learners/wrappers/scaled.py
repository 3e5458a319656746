"""Scaled and mapped features in front of a batch ranker, the scaler kept in the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.data.scaling import QueryMinMax, scaler_from_dict, scaler_from_name
from rankloop.exceptions import DataError
from rankloop.learners.wrappers.base import Wrapped
from rankloop.learners.wrappers.mapped import MAPS, check_maps, map_names, map_rows, map_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Ranker, Rows
    from rankloop.metrics.measures import Measure


class Scaled(Wrapped):
    """A ranker that sees scaled, and perhaps mapped, features.

    The scaler is fitted on all training documents, kept, and applied whenever the model predicts.
    Rounds, early stopping and what they are measured by are the ranker's own.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. An online one has no rounds.
    scale : `standard`, `log` or another of :data:`rankloop.data.scaling.SCALERS`
    maps : names of :data:`rankloop.learners.wrappers.mapped.MAPS`, or products such as `0*1`, of
        the scaled features; their results stand side by side
    metric : what a batch ranker is measured by after each round; None: its own
    warm_start : `fit` goes on from what was learnt, with the scaler it has

    Attributes
    ----------
    ranker_ : what learnt
    scaler_ : the scaler and the maps, as plain values

    Notes
    -----
    Cost: the ranker's, and a scaled copy of the data. `query-minmax` and the maps `minmax` and
    `rank` look at a whole query, so `predict` wants to know which rows belong together.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import mslr_like
    >>> data = mslr_like(40, np.random.default_rng(0), n_features=6).data
    >>> Scaled(scale="standard").fit(data).scaler_["name"]
    'standard'
    >>> Scaled(maps=["raw", "rank"]).fit(data).ranker_.n_features_in_
    12
    """

    _kept: ClassVar[str] = "scaler_"
    scaler_: dict[str, Any]

    def __init__(
        self,
        ranker: Ranker | None = None,
        scale: str = "log",
        maps: Sequence[str] = ("raw",),
        metric: str | Measure | None = None,
        warm_start: bool = False,
    ) -> None:
        self.ranker = ranker
        self.scale = scale
        self.maps = maps
        self.metric = metric
        self.warm_start = warm_start

    @property
    def scores_rows_alone(self) -> bool:  # type: ignore[override]
        """Whether neither scaler nor maps nor ranker look at the whole query."""
        alone = self.scale != QueryMinMax.name and not {"minmax", "rank"} & set(self.maps)
        return alone and (self.ranker is None or self.ranker.scores_rows_alone)

    def _check(self, data: QueryDataset) -> None:
        scaler = scaler_from_name(self.scale)
        if not data.n_documents:
            scaler.fit(data)  # raises where it needs documents
        self._check_maps(self.maps)
        width = map_width(self.maps, data.n_features)
        seen = data
        if list(self.maps) != ["raw"]:  # the ranker is asked about columns, not about values
            nothing = np.broadcast_to(np.float32(0), (data.n_documents, width))
            names = map_names(self.maps, data.feature_names, data.n_features)
            seen = replace(data, X=nothing, feature_names=tuple(names))
        super()._check(seen)

    @staticmethod
    def _check_maps(maps: Any) -> None:
        check_maps(maps)
        if any("(" in name for name in maps):
            raise DataError(
                f"maps must be {', '.join(MAPS)} or products as 0*1; found {maps!r}. For features "
                "of kernels take Lifted"
            )

    def _fitted(self, data: QueryDataset) -> dict[str, Any]:
        return {**scaler_from_name(self.scale).fit(data).to_dict(), "maps": list(self.maps)}

    def _kept_width(self, kept: dict[str, Any], n_features: int) -> int:
        scaler_from_dict(kept).transform_rows(np.zeros((0, n_features)), [0])
        maps = kept.get("maps", ["raw"])
        self._check_maps(maps)
        return map_width(maps, n_features)

    def _transform(self, data: QueryDataset) -> QueryDataset:
        names, maps = data.feature_names, self._maps
        if maps != ["raw"]:
            names = tuple(map_names(maps, names, data.n_features))
        return replace(data, X=self._transform_rows(data.X, data.offsets), feature_names=names)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:
        rows = scaler_from_dict(self.scaler_).transform_rows(X, offsets)
        return rows if self._maps == ["raw"] else map_rows(self._maps, rows, offsets)

    @property
    def _maps(self) -> list[str]:
        return self.scaler_.get("maps", ["raw"])  # type: ignore[no-any-return]

    def explain(self) -> list[dict[str, Any]]:
        """Return the parts of the ranker; thresholds and weights are of scaled features."""
        self._check_learnt()
        if not hasattr(self.ranker_, "explain"):
            raise DataError(f"a {type(self.ranker_).__name__} has no parts that could be shown")
        parts: list[dict[str, Any]] = self.ranker_.explain()
        return parts
