"""A ranker whose features are scaled and mapped first; the scaler is part of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.data.scaling import QueryMinMax, scaler_from_dict, scaler_from_name
from rankloop.exceptions import DataError
from rankloop.rankers.wrappers.base import Wrapped
from rankloop.rankers.wrappers.mapped import (
    MAPS,
    WITHIN_QUERIES,
    check_maps,
    map_names,
    map_rows,
    map_width,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Ranker, Rows
    from rankloop.rankers.explaining import Parts

_KEEP_NAN = {"raw", "rank"}
_LOWEST = -np.finfo(np.float32).max  # what missing values count as when values are ranked


class Scaled(Wrapped):
    """A ranker that receives scaled features, which may also be mapped.

    The scaler is fitted on all training documents, stored in the model and applied whenever it
    predicts. The rounds, early stopping and the measure on validation data are those of the ranker.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. An online ranker has no rounds.
    scale : `standard`, `log` or another name in :data:`rankloop.data.scaling.SCALERS`
    maps : names in :data:`rankloop.rankers.wrappers.mapped.MAPS`, or products such as `0*1`,
        which are applied to the scaled features; the ranker receives all their results as columns
    valid_measure : the measure on validation data after each round; None: that of the ranker
    warm_start : `fit` continues from the current state, and keeps the fitted scaler

    Attributes
    ----------
    ranker_ : the fitted ranker
    scaler_ : the fitted scaler and the maps, as plain values

    Notes
    -----
    Cost: that of the ranker, and a scaled copy of the data. `query-minmax` and the maps `centre`,
    `minmax` and `rank` look at a whole query, so `predict` needs to know which rows belong to which
    query.

    Missing values (NaN) are allowed if the ranker accepts them, with the maps `raw` and `rank`:
    `raw` leaves them missing, and `rank` puts them last.

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

    takes_raw_features: ClassVar[bool] = True
    _kept: ClassVar[str] = "scaler_"
    scaler_: dict[str, Any]

    def __init__(
        self,
        ranker: Ranker | None = None,
        scale: str = "log",
        maps: Sequence[str] = ("raw",),
        valid_measure: str | Measure | None = None,
        warm_start: bool = False,
    ) -> None:
        self.ranker = ranker
        self.scale = scale
        self.maps = maps
        self.valid_measure = valid_measure
        self.warm_start = warm_start

    @property
    def scores_rows_alone(self) -> bool:  # type: ignore[override]
        """Whether neither the scaler nor the maps nor the ranker look at whole queries."""
        alone = self.scale != QueryMinMax.name and not WITHIN_QUERIES & set(self.maps)
        return alone and (self.ranker is None or self.ranker.scores_rows_alone)

    @property
    def takes_nan(self) -> bool:  # type: ignore[override]
        """Whether the ranker accepts missing values, and the maps can pass them on."""
        return self.ranker is not None and self.ranker.takes_nan and set(self.maps) <= _KEEP_NAN

    def _check(self, data: QueryDataset) -> None:
        scaler = scaler_from_name(self.scale)
        if not data.n_documents:
            scaler.fit(data)  # raises if it needs documents
        self._check_maps(self.maps)
        width = map_width(self.maps, data.n_features)
        seen = data
        if list(self.maps) != ["raw"]:  # the ranker checks columns and grades, not values
            nothing = np.broadcast_to(np.float32(0), (data.n_documents, width))
            names = map_names(self.maps, data.feature_names, data.n_features)
            seen = replace(data, X=nothing, feature_names=tuple(names))
        super()._check(seen)

    @staticmethod
    def _check_maps(maps: Sequence[str]) -> None:
        check_maps(maps)
        if any("(" in name for name in maps):
            raise DataError(
                f"maps must be {', '.join(MAPS)} or products such as 0*1; found {maps!r}. For "
                "kernel features, use Lifted"
            )

    def _fitted(self, data: QueryDataset) -> dict[str, object]:
        return {**scaler_from_name(self.scale).fit(data).to_dict(), "maps": list(self.maps)}

    def _kept_width(self, kept: dict[str, Any], n_features: int) -> int:
        scaler_from_dict(kept).transform_rows(np.zeros((0, n_features)), [0])
        maps = kept.get("maps", ["raw"])
        self._check_maps(maps)
        return map_width(maps, n_features)

    def _transform(self, data: QueryDataset) -> QueryDataset:
        names, maps = data.feature_names, self.fitted_maps
        if maps != ["raw"]:
            names = tuple(map_names(maps, names, data.n_features))
        return replace(data, X=self._transform_rows(data.X, data.offsets), feature_names=names)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:
        rows = scaler_from_dict(self.scaler_).transform_rows(X, offsets)
        if self.fitted_maps == ["raw"]:
            return rows
        absent = np.isnan(rows)
        if not absent.any():
            return map_rows(self.fitted_maps, rows, offsets)
        mapped = map_rows(self.fitted_maps, np.where(absent, _LOWEST, rows), offsets)
        for k, name in enumerate(self.fitted_maps):
            if name == "raw":
                mapped[:, k * rows.shape[1] :][:, : rows.shape[1]][absent] = np.nan
        return mapped

    @property
    def fitted_maps(self) -> list[str]:
        """The maps that it was fitted with."""
        return self.scaler_.get("maps", ["raw"])  # type: ignore[no-any-return]

    def explain(self) -> Parts:
        """Return the parts of the ranker; thresholds and weights refer to scaled features."""
        self._check_fitted()
        return self.ranker_.explain()
