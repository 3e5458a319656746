"""A ranker whose features are scaled and mapped first; the scaler is part of the model."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.scaling import QueryMinMax, scaler_from_dict, scaler_from_name
from rankloop.data.sparse_rows import SparseRows
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.digest import digest_of
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.forms import ListOf, Text
from rankloop.rankers.kernel.features import KernelFeatures
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.wrappers.base import OnlineWrapped, Wrapped
from rankloop.rankers.wrappers.maps import (
    MAPS,
    WITHIN_QUERIES,
    change_numbers,
    check_maps,
    kernel_maps,
    map_names,
    map_rows,
    map_width,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankloop.rankers.base import Offsets, Ranker, Rows
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits

_KEEP_NAN = {"raw", "rank"}
_LOWEST = -np.finfo(np.float32).max  # what missing values count as when values are ranked


class Prepared(Wrapped):
    """A ranker that receives prepared features: scaled, mapped, or both.

    The scaler is fitted to the training data, stored in the model and applied whenever it predicts.
    The maps are applied to the scaled features, and the ranker receives all their results as
    columns. It is online if its ranker is: then it has `learn`, `partial_fit` and all else that
    online rankers have, and if its ranker is one for clicks, also `show` and `learn_ranking`.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. Rounds, passes, early stopping and
        `warm_start` are set on the ranker.
    scale : `standard`, `log` or another name in :data:`rankloop.data.scaling.SCALERS`; None leaves
        the features as they are. With an online ranker the scaler is fitted only once, on the first
        data, so start with many queries (`fit`), not with a single one.
    maps : names in :data:`rankloop.rankers.wrappers.maps.MAPS`, or products such as `0*1`; with an
        online ranker also kernel features such as `nystrom(rbf(1),200)` (:class:`KernelFeatures`),
        whose landmarks are taken from the first queries
    indicators : the number of last features that are 0 or 1, which are neither scaled nor mapped:
        they come last among the columns that the ranker receives. :class:`Described` sets it.

    Attributes
    ----------
    ranker_ : the fitted ranker
    scaler_ : the fitted scaler, as plain values; empty if there is none
    maps_ : the maps that it was fitted with
    features_ : the kernel features by the name of their map, as plain values and arrays

    Notes
    -----
    Cost: that of the ranker, and a prepared copy of the data. `query-minmax` and the maps `centre`,
    `minmax` and `rank` look at a whole query, so `predict` needs to know which rows belong to which
    query: pass a Query, a QueryDataset, `qid=` or `group=`.

    Missing values (NaN) are allowed if the ranker accepts them, with the maps `raw` and `rank`:
    `raw` leaves them missing, and `rank` puts them last.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import mslr_like
    >>> from rankloop.rankers.batch.ranksvm import RankSVM
    >>> data = mslr_like(40, np.random.default_rng(0), n_features=6).data
    >>> Prepared(RankSVM(), "standard").fit(data).scaler_["name"]
    'standard'
    >>> ranker = Prepared(maps=["raw", "rank"]).fit(data)  # an online one
    >>> ranker.partial_fit(data).ranker_.n_features_in_
    12
    """

    _learns: ClassVar[tuple[str, ...]] = ("scaler_", "maps_", "features_")
    scaler_: dict[str, Any]
    maps_: list[str]
    features_: Mapping[str, Mapping[str, object]]

    def __init__(
        self,
        ranker: Ranker | None = None,
        scale: str | None = None,
        maps: Sequence[str] = ("raw",),
        indicators: int = 0,
    ) -> None:
        self.ranker = ranker
        self.scale = scale
        self.maps = maps
        self.indicators = indicators

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of its ranker, as far as the scaler and the maps allow."""
        inner = self._inner_traits
        within = self.scale == QueryMinMax.name or WITHIN_QUERIES & set(self.maps)
        return replace(
            inner,
            scores_rows_alone=inner.scores_rows_alone and not within,
            takes_raw_features=inner.takes_raw_features or self.scale is not None,
            takes_nan=inner.takes_nan and set(self.maps) <= _KEEP_NAN,
            takes_sparse=self._is_sparse_taken(),
        )

    def _is_sparse_taken(self) -> bool:
        inner = NewtonXENDCG() if self.ranker is None else self.ranker
        return self.indicators > 0 and inner._is_sparse_taken()

    def with_indicators(self, indicators: int, wide: int) -> Self:
        """Return a copy that leaves indicators as they are, unless it has products or kernels."""
        if not set(self.maps) <= MAPS.keys():  # they may combine any features
            return self
        ranker = self._fresh().with_indicators(indicators, wide)
        return copy.deepcopy(self).set_params(ranker=ranker, indicators=indicators)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "maps_": ListOf(Text())}

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.maps_ = list(self.maps)

    def _check(self, data: QueryDataset) -> None:
        if self.scale is not None:
            scaler = scaler_from_name(self.scale)
            if not data.n_documents:
                scaler.fit(data)  # raises if it needs documents
        self._check_maps(self.maps)
        self._check_indicators(data.n_features)
        seen = data
        if list(self.maps) != ["raw"]:  # the ranker checks columns and grades, not values
            width = self._mapped_width(self.maps, data.n_features)
            nothing = np.broadcast_to(np.float32(0), (data.n_documents, width))
            names = self._mapped_names(self.maps, data.feature_names, data.n_features)
            seen = replace(data, X=nothing, feature_names=tuple(names))
        super()._check(seen)

    def _check_maps(self, maps: object) -> None:
        check_maps(maps)
        if any("(" in name for name in maps):  # type: ignore[attr-defined]
            raise DataError(
                f"maps must be {', '.join(MAPS)} or products such as 0*1; found {maps!r}. For "
                "kernel features, use Lifted"
            )

    def _fit_transformation(self, data: QueryDataset) -> None:
        self.maps_ = list(self.maps)
        if self.scale is not None:
            seen = replace(data, X=self._numbers(data.X), feature_names=None, features=None)
            self.scaler_ = scaler_from_name(self.scale).fit(seen).to_dict()

    def _check_indicators(self, n_features: int) -> None:
        check_whole("indicators", self.indicators, 0)
        if self.indicators > n_features:
            raise DataError(
                f"there are {n_features} features, of which {self.indicators} cannot be indicators"
            )

    def _numbers(self, X: Rows) -> Rows:
        """Return the columns that are scaled and mapped."""
        first = X.shape[1] - self.indicators
        if isinstance(X, SparseRows):
            return _core.first_columns(X.core, first)
        return X if not self.indicators else np.ascontiguousarray(X[:, :first])

    def _mapped_width(self, maps: Sequence[str], n_features: int) -> int:
        """Return the number of columns that the ranker receives; raise if there is no such map."""
        return map_width(maps, n_features - self.indicators) + self.indicators

    def _mapped_names(
        self, maps: Sequence[str], names: Sequence[str] | None, n_features: int
    ) -> list[str]:
        """Return the names of the columns that the ranker receives."""
        known = list(names or (str(j + 1) for j in range(n_features)))
        first = n_features - self.indicators
        return [*map_names(maps, known[:first], first), *known[first:]]

    def _transformed_width(self, state: State) -> int:
        width, scaler, maps = state["n_features_in_"], state["scaler_"], state["maps_"]
        self._check_indicators(width)
        first = width - self.indicators
        if scaler:
            scaler_from_dict(scaler).transform_rows(np.zeros((0, first)), [0])
        self._check_maps(maps)
        _check_features(state["features_"], maps, first)
        return self._mapped_width(maps, width)

    def _transform(self, data: QueryDataset) -> QueryDataset:
        names = data.feature_names
        if self.maps_ != ["raw"]:
            names = tuple(self._mapped_names(self.maps_, names, data.n_features))
        return replace(data, X=self._transform_rows(data.X, data.offsets), feature_names=names)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:
        return change_numbers(X, self.indicators, lambda rows: self._prepare(rows, offsets))

    def _prepare(self, X: Rows, offsets: Offsets) -> Rows:
        """Scale and map the columns that are no indicators."""
        rows = self._scale(X, offsets)
        if self.maps_ == ["raw"]:
            return rows
        absent = np.isnan(rows)
        if not absent.any():
            return map_rows(self.maps_, rows, offsets)
        # Ranks need an order, which NaN does not have: rank them as the lowest number, and then
        # make the columns of `raw` missing again.
        mapped = map_rows(self.maps_, np.where(absent, _LOWEST, rows), offsets)
        for k, name in enumerate(self.maps_):
            if name == "raw":
                mapped[:, k * rows.shape[1] :][:, : rows.shape[1]][absent] = np.nan
        return mapped

    def _scale(self, X: Rows, offsets: Offsets) -> Rows:
        return scaler_from_dict(self.scaler_).transform_rows(X, offsets) if self.scaler_ else X

    def kernel_features(self) -> dict[str, KernelFeatures]:
        """Return the features of each map that approximates a kernel, by the name of the map."""
        return {
            name: KernelFeatures.from_dict(known) if known else KernelFeatures(name)
            for name, known in self.features_.items()
        }

    def explain(self) -> Parts:
        """Return the parts of the ranker; thresholds and weights refer to prepared features."""
        self._check_fitted()
        return self.ranker_.explain()


def _check_features(features: Mapping[str, Any], maps: Sequence[str], width: int) -> None:
    """Raise unless these are the fitted kernel features of these maps."""
    if features.keys() != set(kernel_maps(maps)):
        raise ModelError(f"features_ do not belong to the maps {maps!r}")
    for name, known in features.items():
        if known:
            kernel = KernelFeatures.from_dict(known)
            kernel.check(width)
            if kernel.text != name:
                raise ModelError(f"features_ of {name!r} describe {kernel.text!r}")


class OnlinePrepared(OnlineWrapped, Prepared, special_case_of=Prepared):
    """A :class:`Prepared` whose ranker is online."""

    features_: Mapping[str, Mapping[str, object]] = MappingProxyType({})

    def _check_maps(self, maps: object) -> None:
        check_maps(maps)
        kernel_maps(maps)  # type: ignore[arg-type]  # check_maps has checked its type

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("indicators", self.indicators, 0)
        self._check_maps(self.maps)
        if self.scale is not None:
            scaler_from_name(self.scale)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.features_ = {name: {} for name in kernel_maps(self.maps)}

    @property
    def _looks_ahead(self) -> bool:
        """Whether it has a scaler, which is fitted to the first data."""
        return self.scale is not None

    def _look_ahead(self, data: QueryDataset) -> None:
        """Fit the scaler, unless it is fitted."""
        if not self.is_fitted:
            self.feature_names_in_ = data.feature_names or ()
            self._reset(data.n_features)
        if not self.scaler_:
            self._fit_transformation(data)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        X, offsets = queries.X, queries.offsets
        if self._looks_ahead and not self.scaler_:
            self._look_ahead(QueryDataset(X, queries.y, offsets, np.arange(queries.n)))
        ranker = self.ranker_ = self.ranker_.copy()
        if not self.features_:
            rows = change_numbers(
                X,
                self.indicators,
                lambda numbers: map_rows(self.maps_, self._scale(numbers, offsets), offsets),
            )
            ranker._check_and_learn(queries._replace(X=rows), scores)
            return
        X = self._scale(X, offsets)
        # Each query may add landmarks, which the next query is mapped with. So queries are mapped
        # and learnt one at a time; all at once, the first would see landmarks of the last.
        features = self.kernel_features()
        for n, (first, end) in enumerate(itertools.pairwise(offsets.tolist())):
            for kernel in features.values():
                kernel.partial_fit(X[first:end])
            query = queries.one(n)
            rows = map_rows(self.maps_, X[first:end], query.offsets, features)
            before = None if scores is None else scores[first:end]
            ranker._check_and_learn(query._replace(X=rows), before)
        self.features_ = {
            name: kernel.to_dict() if kernel.is_started else {} for name, kernel in features.items()
        }

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        digests = {digest_of((ranker.scaler_, ranker.features_)) for ranker in rankers}
        if len(digests) > 1:
            raise DataError(
                "cannot merge rankers whose scalers or kernel features were fitted on different "
                "data; fit them on common data first, and continue from there"
            )
        self.ranker_ = self.ranker_.copy()
        self.ranker_._merge_copies([ranker.ranker_ for ranker in rankers], base.ranker_)

    def _prepare(self, X: Rows, offsets: Offsets) -> Rows:
        return map_rows(self.maps_, self._scale(X, offsets), offsets, self.kernel_features())

    def explain(self) -> Parts:
        """Return the parts of the ranker, with features named after their maps."""
        self._check_fitted()
        names = self._mapped_names(self.maps_, self.feature_names_in_, self.n_features_in_)
        return with_feature_names(self.ranker_, names).explain()
