"""Feature maps in front of any online ranker, for example the rank of a value in its query."""

from __future__ import annotations

import copy
import itertools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.scaling import QueryMinMax, scaler_from_dict, scaler_from_name
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.digest import digest_of
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.forms import FittedRanker, Values
from rankloop.rankers.kernel.features import KernelFeatures
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.parameters import check_rankers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.state import State


def raw(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:  # noqa: ARG001
    """Copy the features unchanged."""
    out[:, column : column + X.shape[1]] = X


def minmax(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:
    """Scale each feature to 0..1 within its query: O(m d)."""
    _core.query_minmax(X, offsets, out, column)


def centre(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:
    """Subtract from each feature its lowest value in the query: O(m d).

    Learning from differences within a query gives the same result, but rounding no longer hides
    the differences of features that are far from 0.
    """
    _core.query_centre(X, offsets, out, column)


def rank(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:
    """Replace each value by its rank within the query, from 0 to 1; equal values share a rank.

    Cost: O(m d), by sorting; lists of up to 800 documents are ranked by comparing all pairs.
    """
    _core.query_ranks(X, offsets, out, column)


def square(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:  # noqa: ARG001
    """Square the features."""
    np.multiply(X, X, out=out[:, column : column + X.shape[1]])


MAPS: Mapping[str, Callable[[Rows, Offsets, Rows, int], None]] = MappingProxyType(
    {"raw": raw, "centre": centre, "minmax": minmax, "rank": rank, "square": square}
)
"""Every map by its name; `i*j` is the product of two features, counted from 0."""

WITHIN_QUERIES = frozenset({"centre", "minmax", "rank"})
"""The maps whose results depend on all documents of a query."""

_PRODUCT = re.compile(r"(\d+)\*(\d+)")


def map_rows(
    names: Sequence[str],
    X: Rows,
    offsets: Offsets,
    features: Mapping[str, KernelFeatures] = MappingProxyType({}),
) -> Rows:
    """Apply maps and the given kernel features, and return all results as columns.

    >>> X = np.array([[1.0, 3.0], [2.0, 3.0]], np.float32)
    >>> map_rows(["raw", "rank", "0*1"], X, np.array([0, 2])).tolist()
    [[1.0, 3.0, 0.25, 0.5, 3.0], [2.0, 3.0, 0.75, 0.5, 6.0]]
    """
    if list(names) == ["raw"]:
        return X
    widths = [_width(name, X.shape[1], features) for name in names]
    out, column = np.empty((len(X), sum(widths)), np.float32), 0
    for name, width in zip(names, widths, strict=True):
        if name in MAPS:
            MAPS[name](X, offsets, out, column)
        elif name in features:
            out[:, column : column + width] = features[name].transform_rows(X)
        else:
            i, j = map(int, name.split("*"))
            np.multiply(X[:, i], X[:, j], out=out[:, column])
        column += width
    return out


def _width(name: str, n_features: int, features: Mapping[str, KernelFeatures]) -> int:
    """Return the number of columns that a map makes; raise if there is no such map."""
    if name in MAPS:
        return n_features
    if name in features:
        return features[name].size
    product = _PRODUCT.fullmatch(name)
    if product is None:
        raise DataError(
            f"unknown map {name!r}; known: {', '.join(MAPS)}, products such as 0*1, and kernel "
            "features such as nystrom(rbf(1),200)"
        )
    if max(int(product[1]), int(product[2])) >= n_features:
        raise DataError(
            f"the map {name!r} uses a feature that does not exist; there are {n_features} "
            f"features, numbered from 0 to {n_features - 1}"
        )
    return 1


def check_maps(maps: object) -> None:
    """Raise unless this is a list of at least one name of a map."""
    named = isinstance(maps, list | tuple) and all(isinstance(name, str) for name in maps)
    if not named or not maps:
        raise DataError(f"maps must be a list of at least one name of a map; found {maps!r}")


def map_width(maps: Sequence[str], n_features: int) -> int:
    """Return the number of columns that maps make; raise if there is no such map.

    >>> map_width(["raw", "rank", "0*1", "nystrom(rbf(1),200)"], 3)
    207
    """
    nothing, end = np.zeros((0, n_features), np.float32), np.zeros(1, np.int64)
    plain = [name for name in maps if "(" not in name]
    width = map_rows(plain, nothing, end).shape[1] if plain else 0
    return width + sum(KernelFeatures(name).size for name in maps if "(" in name)


def map_names(maps: Sequence[str], names: Sequence[str] | None, n_features: int) -> list[str]:
    """Return names for the columns that maps make.

    >>> map_names(["raw", "rank", "0*1"], ["bm25", "age"], 2)
    ['bm25', 'age', 'rank of bm25', 'rank of age', 'bm25 x age']
    """
    known = names or [str(j + 1) for j in range(n_features)]
    found: list[str] = []
    for name in maps:
        product = _PRODUCT.fullmatch(name)
        if product is not None:
            found.append(f"{known[int(product[1])]} x {known[int(product[2])]}")
        elif "(" in name:
            found += [f"{name} {k + 1}" for k in range(KernelFeatures(name).size)]
        else:
            found += known if name == "raw" else [f"{name} of {one}" for one in known]
    return found


class Mapped(OnlineRanker):
    """An online ranker that receives mapped features, which may be scaled first.

    Parameters
    ----------
    ranker : any online ranker
    maps : names in :data:`MAPS`, products such as `0*1`, or kernel features such as
        `nystrom(rbf(1),200)` (:class:`KernelFeatures`), whose landmarks are taken from the
        first queries. The ranker receives all their results as columns.
    scale : `standard`, `log` or another name in :data:`rankloop.data.scaling.SCALERS`: scales the
        features first. The scaler is fitted only once, on the first data, so start with many
        queries (`fit`), not with a single one.
    passes, random_state : see :class:`OnlineRanker`

    Notes
    -----
    `centre`, `minmax` and `rank` look at a whole query, so `predict` needs to know which rows
    belong to which query: pass a Query, a QueryDataset, `qid=` or `group=`.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.online.newton import NewtonXENDCG
    >>> data = separable(50, np.random.default_rng(0)).data
    >>> ranker = Mapped(NewtonXENDCG(), ["raw", "rank"]).fit(data)
    >>> ranker.ranker_.n_features_in_
    40
    """

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        maps: Sequence[str] = ("raw", "rank"),
        scale: str | None = None,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.maps = maps
        self.scale = scale
        self.passes = passes
        self.random_state = random_state

    @property
    def scores_rows_alone(self) -> bool:  # type: ignore[override]
        """Whether neither the scaler nor the maps nor the ranker look at whole queries."""
        alone = self.scale != QueryMinMax.name and not WITHIN_QUERIES & set(self.maps)
        return alone and (self.ranker is None or self.ranker.scores_rows_alone)

    ranker_: OnlineRanker
    scaler_: dict[str, object]
    features_: Mapping[str, Mapping[str, object]] = MappingProxyType({})

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        kernels = ("features_",) if self._kernel_maps() else ()
        return (*known, "ranker_", "scaler_", *kernels) if known else ()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_maps(self.maps)
        if self.ranker is not None:
            check_rankers("ranker", [self.ranker], OnlineRanker)
        if self.scale is not None:
            scaler_from_name(self.scale)
        self._kernel_maps()

    def _check_queries(self, queries: Queries) -> None:
        ranker = self.ranker_ if self.is_fitted else self.ranker
        if ranker is not None:
            ranker._check_all(queries)

    def _forms(self, n_features: int) -> dict[str, Form]:
        ranker = FittedRanker(OnlineRanker, map_width(self.maps, n_features))
        kept = ["scaler_", "features_"] if self._kernel_maps() else ["scaler_"]
        return {**super()._forms(n_features), "ranker_": ranker, **dict.fromkeys(kept, Values())}

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        width, scaler = state["n_features_in_"], state["scaler_"]
        if scaler:
            scaler_from_dict(scaler).transform_rows(np.zeros((0, width)), [0])
        features = state.get("features_", {})
        if features.keys() != set(self._kernel_maps()):
            raise ModelError(f"features_ do not belong to the maps {self.maps!r}")
        for name, known in features.items():
            if known:
                kept = KernelFeatures.from_dict(known)
                kept.check(width)
                if kept.text != name:
                    raise ModelError(f"features_ of {name!r} describe {kept.text!r}")

    def _reset(self, n_features: int) -> None:
        from rankloop.rankers.online.newton import NewtonXENDCG

        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        self.scaler_ = {}
        self.features_ = {name: {} for name in self._kernel_maps()}
        self.ranker_ = NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)

    @property
    def _looks_ahead(self) -> bool:
        """Whether it has a scaler, which is fitted to the first data."""
        return self.scale is not None

    def _look_ahead(self, data: QueryDataset) -> None:
        """Fit the scaler, unless it is fitted."""
        if not self.is_fitted:
            self.feature_names_in_ = data.feature_names or ()
            self._reset(data.n_features)
        if self.scale is not None and not self.scaler_:
            self.scaler_ = scaler_from_name(self.scale).fit(data).to_dict()

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        X, offsets = queries.X, queries.offsets
        if self._looks_ahead and not self.scaler_:
            self._look_ahead(QueryDataset(X, queries.y, offsets, np.arange(queries.n)))
        X = self._scaled(X, offsets)
        ranker = self.ranker_ = self.ranker_.copy()
        if not self.features_:
            ranker._check_and_learn(queries._replace(X=map_rows(self.maps, X, offsets)), scores)
            return
        features = self.kernel_features()
        for n, (first, end) in enumerate(itertools.pairwise(offsets.tolist())):
            for one in features.values():  # each query may add landmarks
                one.partial_fit(X[first:end])
            query = queries.one(n)
            rows = map_rows(self.maps, X[first:end], query.offsets, features)
            before = None if scores is None else scores[first:end]
            ranker._check_and_learn(query._replace(X=rows), before)
        self.features_ = {
            name: one.to_dict() if one.is_started else {} for name, one in features.items()
        }

    def _discount_past(self, keep: float) -> None:
        self.ranker_ = self.ranker_.copy().discount_past(keep)

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        kept = [(one.scaler_, one.features_) for one in rankers]
        if any(digest_of(one) != digest_of(kept[0]) for one in kept):
            raise DataError(
                "cannot merge rankers whose scalers or kernel features were fitted on different "
                "data; fit them on common data first, and continue from there"
            )
        self.ranker_ = self.ranker_.copy()
        self.ranker_._merge_copies([one.ranker_ for one in rankers], base.ranker_)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        return self.ranker_._score_rows(self._mapped(X, offsets), offsets)

    def explain(self) -> Parts:
        """Return the parts of the ranker, with features named after their maps."""
        self._check_fitted()
        names = map_names(self.maps, self.feature_names_in_, self.n_features_in_)
        return with_feature_names(self.ranker_, names).explain()

    def _mapped(self, X: Rows, offsets: Offsets) -> Rows:
        return map_rows(self.maps, self._scaled(X, offsets), offsets, self.kernel_features())

    def kernel_features(self) -> dict[str, KernelFeatures]:
        """Return the features of each map that approximates a kernel, by the name of the map."""
        return {
            name: KernelFeatures.from_dict(known) if known else KernelFeatures(name)
            for name, known in self.features_.items()
        }

    def _scaled(self, X: Rows, offsets: Offsets) -> Rows:
        return scaler_from_dict(self.scaler_).transform_rows(X, offsets) if self.scaler_ else X

    def _kernel_maps(self) -> list[str]:
        """Return the maps that are kernel features; raise if one cannot be read."""
        found = [name for name in self.maps if "(" in name]
        return [name for name in found if KernelFeatures(name).size]
