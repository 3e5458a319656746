"""Feature maps in front of any learner: what a row means beside the others of its query."""

from __future__ import annotations

import copy
import itertools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.scaling import scaler_from_dict, scaler_from_name
from rankloop.exceptions import DataError, ModelError
from rankloop.learners.forms import Learner, Values
from rankloop.learners.kernel.features import KernelFeatures
from rankloop.learners.online.base import OnlineRanker
from rankloop.learners.parameters import check_learners

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.forms import Form
    from rankloop.learners.online.base import Queries


def raw(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:  # noqa: ARG001
    """Take the features as they are."""
    out[:, column : column + X.shape[1]] = X


def minmax(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:
    """Scale each feature to 0 .. 1 inside its query: O(m d)."""
    _core.query_minmax(X, offsets, out, column)


def rank(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:
    """Find the place, 0 to 1, of each feature's value inside its query; ties share theirs.

    O(m d), by sorting; for lists of up to 160 documents by counting.
    """
    _core.query_ranks(X, offsets, out, column)


def square(X: Rows, offsets: Offsets, out: Rows, column: int) -> None:  # noqa: ARG001
    """Take the squares of the features."""
    np.multiply(X, X, out=out[:, column : column + X.shape[1]])


MAPS: Mapping[str, Callable[[Rows, Offsets, Rows, int], None]] = MappingProxyType(
    {"raw": raw, "minmax": minmax, "rank": rank, "square": square}
)
"""Every map by its name; `i*j` is the product of two features, counted from 0."""

_PRODUCT = re.compile(r"(\d+)\*(\d+)")


def map_rows(
    names: Sequence[str],
    X: Rows,
    offsets: Offsets,
    features: Mapping[str, KernelFeatures] = MappingProxyType({}),
) -> Rows:
    """Put the results of maps, and of features of kernels that are given, side by side.

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
            out[:, column : column + width] = features[name].transform(X)
        else:
            i, j = map(int, name.split("*"))
            np.multiply(X[:, i], X[:, j], out=out[:, column])
        column += width
    return out


def _width(name: str, n_features: int, features: Mapping[str, KernelFeatures]) -> int:
    """Return how many columns a map makes; raise where there is no such map."""
    if name in MAPS:
        return n_features
    if name in features:
        return features[name].size
    product = _PRODUCT.fullmatch(name)
    if product is None:
        raise DataError(
            f"unknown map {name!r}; known: {', '.join(MAPS)}, products as 0*1, and features of "
            "kernels as nystrom(rbf(1),200)"
        )
    if max(int(product[1]), int(product[2])) >= n_features:
        raise DataError(f"the map {name!r} names a feature beyond all {n_features}")
    return 1


def check_maps(maps: Any) -> None:
    """Raise unless these are names of maps, at least one."""
    named = isinstance(maps, list | tuple) and all(isinstance(name, str) for name in maps)
    if not named or not maps:
        raise DataError(f"maps must be a list of names of maps, at least one; found {maps!r}")


def map_width(maps: Sequence[str], n_features: int) -> int:
    """Return how many columns maps make of so many features; raise where one is none.

    >>> map_width(["raw", "rank", "0*1", "nystrom(rbf(1),200)"], 3)
    207
    """
    nothing, end = np.zeros((0, n_features), np.float32), np.zeros(1, np.int64)
    plain = [name for name in maps if "(" not in name]
    width = map_rows(plain, nothing, end).shape[1] if plain else 0
    return width + sum(KernelFeatures(name).size for name in maps if "(" in name)


def map_names(maps: Sequence[str], names: Sequence[str] | None, n_features: int) -> list[str]:
    """Name the columns that maps make.

    >>> map_names(["raw", "rank", "0*1"], ["bm25", "age"], 2)
    ['bm25', 'age', 'rank of bm25', 'rank of age', 'bm25 x age']
    """
    known = names or [str(j + 1) for j in range(n_features)]
    found: list[str] = []
    for name in maps:
        product = _PRODUCT.fullmatch(name)
        if product is not None:
            found.append(f"{known[int(product[1])]} x {known[int(product[2])]}")
        else:
            found += known if name == "raw" else [f"{name} of {one}" for one in known]
    return found


class Mapped(OnlineRanker):
    """A learner that sees mapped, and perhaps scaled, features.

    Parameters
    ----------
    learner : any online learner
    maps : names of :data:`MAPS`, products such as `0*1`, or features of a kernel such as
        `nystrom(rbf(1),200)` (:class:`rankloop.KernelFeatures`), whose landmarks are taken from the
        first queries; their results stand side by side
    scale : `standard` or `log`, or another of :data:`rankloop.data.scaling.SCALERS`: scale features
        first. Fitted once, on the first data given, and kept: give it more than a query (`fit`).
    passes, random_state : see :class:`OnlineRanker`

    Notes
    -----
    `minmax` and `rank` look at a whole query, so `predict` wants to know which rows belong
    together: pass a Query, a QueryDataset or `qid=`.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.learners.online.newton import NewtonXENDCG
    >>> data = separable(50, np.random.default_rng(0)).data
    >>> ranker = Mapped(NewtonXENDCG(), ["raw", "rank"]).fit(data)
    >>> ranker.learner_.n_features_in_
    40
    """

    scores_rows_alone: ClassVar[bool] = False

    def __init__(
        self,
        learner: OnlineRanker | None = None,
        maps: Sequence[str] = ("raw", "rank"),
        scale: str | None = None,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.learner = learner
        self.maps = maps
        self.scale = scale
        self.passes = passes
        self.random_state = random_state

    learner_: OnlineRanker
    scaler_: dict[str, Any]
    features_: dict[str, Any]

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before the first query."""
        if not self.is_learnt:
            return {}
        names = ["n_features_in_", "queries_", "learner_", "scaler_"]
        if self._kernel_maps():
            names.append("features_")
        return {name: getattr(self, name) for name in names}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_maps(self.maps)
        if self.learner is not None:
            check_learners("learner", [self.learner], OnlineRanker)
        if self.scale is not None:
            scaler_from_name(self.scale)
        self._kernel_maps()

    def _check(self, queries: Queries) -> None:
        learner = self.learner_ if self.is_learnt else self.learner
        if learner is not None:
            learner._check_all(queries)

    def _forms(self, n_features: int) -> dict[str, Form]:
        learner = Learner(OnlineRanker, map_width(self.maps, n_features))
        kept = ["scaler_", "features_"] if self._kernel_maps() else ["scaler_"]
        return {**super()._forms(n_features), "learner_": learner, **dict.fromkeys(kept, Values())}

    def _check_state(self, state: Mapping[str, Any]) -> None:
        super()._check_state(state)
        width, scaler = state["n_features_in_"], state["scaler_"]
        if scaler:
            scaler_from_dict(scaler).transform_rows(np.zeros((0, width)), [0])
        features = state.get("features_", {})
        if features.keys() != set(self._kernel_maps()):
            raise ModelError(f"features_ are not those of the maps {self.maps!r}")
        for name, known in features.items():
            if known:
                kept = KernelFeatures.from_dict(known)
                kept.check(width)
                if kept.text != name:
                    raise ModelError(f"features_ of {name!r} are those of {kept.text!r}")

    def _take_over(self, state: Mapping[str, Any]) -> None:
        self.features_ = {}
        super()._take_over(state)

    def _reset(self, n_features: int) -> None:
        from rankloop.learners.online.newton import NewtonXENDCG

        self.n_features_in_ = n_features
        self.queries_ = 0
        self.scaler_ = {}
        self.features_ = {name: {} for name in self._kernel_maps()}
        self.learner_ = NewtonXENDCG() if self.learner is None else copy.deepcopy(self.learner)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        X, offsets = queries.X, queries.offsets
        if self.scale is not None and not self.scaler_:
            data = QueryDataset(X, queries.y, offsets, np.arange(queries.n))
            self.scaler_ = scaler_from_name(self.scale).fit(data).to_dict()
        X = self._scaled(X, offsets)
        learner = self.learner_ = self.learner_._twin()
        if not self.features_:
            learner._learn_from(queries._replace(X=map_rows(self.maps, X, offsets)), scores)
            return
        features = self._kernel_features()
        for n, (first, end) in enumerate(itertools.pairwise(offsets.tolist())):
            for one in features.values():  # each query may bring landmarks
                one.partial_fit(X[first:end])
            query = queries.one(n)
            rows = map_rows(self.maps, X[first:end], query.offsets, features)
            before = None if scores is None else scores[first:end]
            learner._learn_from(query._replace(X=rows), before)
        self.features_ = {
            name: one.to_dict() if one.is_started else {} for name, one in features.items()
        }

    def _loosen(self, hold: float) -> None:
        self.learner_ = self.learner_._twin()
        self.learner_._loosen(hold)

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        return self.learner_._score_rows(self._mapped(X, offsets), offsets)

    def _mapped(self, X: Rows, offsets: Offsets) -> Rows:
        return map_rows(self.maps, self._scaled(X, offsets), offsets, self._kernel_features())

    def _kernel_features(self) -> dict[str, KernelFeatures]:
        return {
            name: KernelFeatures.from_dict(known) if known else KernelFeatures(name)
            for name, known in self.features_.items()
        }

    def _scaled(self, X: Rows, offsets: Offsets) -> Rows:
        return scaler_from_dict(self.scaler_).transform_rows(X, offsets) if self.scaler_ else X

    def _kernel_maps(self) -> list[str]:
        """Return the maps that are features of a kernel; raise where one cannot be read."""
        found = [name for name in self.maps if "(" in name]
        return [name for name in found if KernelFeatures(name)]
