"""Feature scaling: fitted once, stored with a model, applied whenever it predicts.

================ ========================================= ==========================
name             what it does                              learnt
================ ========================================= ==========================
``query-minmax`` 0 to 1 within each query, as LETOR does   nothing
``standard``     mean 0 and deviation 1 over documents     `centre_`, `scale_`
``log``          logarithm, median 0, interquartile range 1 `centre_`, `scale_`
``none``         nothing                                   nothing
================ ========================================= ==========================

All give float32, keep NaN as NaN and leave it out of their statistics. Statistics are float64,
taken in blocks: no float64 copy of X is ever made.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import log1p, row_pairs
from rankloop.data.memory import row_blocks
from rankloop.data.transformer import Transformer
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, TypeAlias

    from numpy.typing import NDArray

    from rankloop.data.transformer import Offsets, Rows

    Statistics: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

_LARGEST = float(np.finfo(np.float32).max)


class Scaler(Transformer):
    """What every scaler does: it is fitted once, and then scales data sets or rows.

    Scalers are scikit-learn transformers: see :class:`rankloop.data.transformer.Transformer`.
    """

    name: ClassVar[str]
    takes_nan: ClassVar[bool] = True

    def to_dict(self) -> dict[str, object]:
        """Return the whole scaler as text, numbers and lists, which JSON keeps exactly."""
        return {"name": self.name}

    @classmethod
    def from_dict(cls, manifest: Mapping[str, object]) -> Self:
        """Make a scaler from the values of :meth:`to_dict`."""
        if manifest.get("name") != cls.name:
            raise DataError(f"this describes scaler {manifest.get('name')!r}, not {cls.name!r}")
        return cls()


class _StatelessScaler(Scaler):
    """A scaler that learns nothing but the number of features, and works without `fit` too."""

    needs_fit: ClassVar[bool] = False
    _n_features: int

    def _learn(self, X: Rows) -> None:
        self._n_features = X.shape[1]

    def _width(self) -> int:
        return self._n_features


class NoScaling(_StatelessScaler):
    """Leave features as they are; no copy is made."""

    name = "none"

    def _transform(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        return X


class QueryMinMax(_StatelessScaler):
    """Scale each feature to 0..1 within each query: (x - min) / (max - min), 0 if all are equal.

    This is how LETOR's normalised files are made. Nothing is learnt, so a query is scaled in the
    same way in any data set, but all its documents are needed: a single document becomes all 0.
    Cost: O(n d).

    Examples
    --------
    >>> QueryMinMax().transform([[1.0], [3.0], [7.0], [2.0]], qid=["a", "a", "b", "a"]).ravel()
    array([0. , 1. , 0. , 0.5], dtype=float32)
    """

    name = "query-minmax"
    needs_queries: ClassVar[bool] = True

    def _transform(self, X: Rows, offsets: Offsets) -> Rows:
        if offsets is None:
            raise DataError(
                "query-minmax scales within queries, and which rows belong to which query is not "
                "known: pass qid=, one query id per row, or a QueryDataset (to transform_rows "
                f"offsets=, which is [0, {len(X)}] if all rows are one query). A pipeline passes "
                "qid on after sklearn.set_config(enable_metadata_routing=True)"
            )
        out = np.empty_like(X)
        _core.query_minmax(X, offsets, out, 0)
        return out


class _CentredScaler(Scaler):
    """(g(x) - centre) / scale for each feature, and 0 if scale is 0."""

    centre_: NDArray[np.float64]
    scale_: NDArray[np.float64]

    def _learn(self, X: Rows) -> None:
        if len(X) == 0:
            raise DataError(f"scaler {self.name!r} cannot be fitted: there are no documents")
        self.centre_, self.scale_ = self._statistics(X)

    def _width(self) -> int:
        return len(self.centre_)

    @staticmethod
    def _link(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x

    @abstractmethod
    def _statistics(self, X: Rows) -> Statistics: ...

    def _transform(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        divisor = np.where(self.scale_ > 0, self.scale_, np.inf)
        out = np.empty_like(X)
        with np.errstate(over="ignore"):  # what exceeds float32 is clipped to its largest
            for rows in row_blocks(*X.shape):
                values = (self._link(X[rows].astype(np.float64)) - self.centre_) / divisor
                out[rows] = np.clip(values, -_LARGEST, _LARGEST, out=values)
        return out

    def to_dict(self) -> dict[str, object]:
        """Return name, centre and scale; JSON keeps every bit of them."""
        self._check_fitted()
        return {"name": self.name, "centre": self.centre_.tolist(), "scale": self.scale_.tolist()}

    @classmethod
    def from_dict(cls, manifest: Mapping[str, object]) -> Self:
        """Make a fitted scaler from the values of :meth:`to_dict`."""
        scaler = super().from_dict(manifest)
        try:
            centre, scale = (np.array(manifest[k], np.float64) for k in ("centre", "scale"))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"cannot read scaler {cls.name!r}: {error!r}") from None
        if centre.ndim != 1 or centre.shape != scale.shape:
            raise DataError(
                f"cannot read scaler {cls.name!r}: centre and scale must be lists of one length; "
                f"found shapes {centre.shape} and {scale.shape}"
            )
        if not (np.isfinite(centre) & np.isfinite(scale) & (scale >= 0)).all():
            raise DataError(f"cannot read scaler {cls.name!r}: numbers must be finite, scales >= 0")
        scaler.centre_, scaler.scale_ = centre, scale
        return scaler


class Standard(_CentredScaler):
    """Mean 0 and standard deviation 1 over all documents; a constant feature becomes 0.

    (x - mean) / sqrt(mean((x - mean)^2)). Two passes, O(n d).

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays([[1.0, 5.0], [3.0, 5.0]], [0, 1], group=[2])
    >>> Standard().fit(data).transform(data).X.tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    name = "standard"

    def _statistics(self, X: Rows) -> Statistics:
        d = X.shape[1]
        known, total, squares = np.zeros(d), np.zeros(d), np.zeros(d)
        for rows in row_blocks(*X.shape):
            known += np.count_nonzero(~np.isnan(X[rows]), axis=0)
            total += _column_sums(np.nan_to_num(X[rows].astype(np.float64)))
        known = np.maximum(known, 1)
        mean = total / known
        for rows in row_blocks(*X.shape):
            squares += _column_sums(np.nan_to_num((X[rows] - mean) ** 2))
        # sums of equal float32 are exact up to 2^29 rows: the deviation of a constant is exactly 0
        return mean, np.sqrt(squares / known)


class RobustLog(_CentredScaler):
    """Logarithm, then median 0 and interquartile range 1: for raw counts, as in MSLR-WEB.

    (g(x) - median g) / scale with g(x) = sign(x) log(1 + abs(x)). The scale is the first of

    1. P75 - P25 of g,
    2. P95 - P5, for features that are mostly one value,
    3. max - min, for features that are nearly always one value,

    that exceeds a thousandth of max - min, so that no training value exceeds 1000 in size;
    a constant feature becomes 0. Fitting costs O(n d) time and a few float64 columns.

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays([[0.0], [9.0], [99.0]], [0, 1, 2], group=[3])
    >>> RobustLog().fit(data).transform(data).X.ravel().tolist()
    [-1.0, 0.0, 1.0]
    """

    name = "log"

    @staticmethod
    def _link(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.copysign(log1p(np.abs(x)), x)

    def _statistics(self, X: Rows) -> Statistics:
        centre, scale = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for first in range(0, X.shape[1], 16):  # 16 columns share a cache line
            columns = np.ascontiguousarray(X[:, first : first + 16].T)
            for j, column in enumerate(columns, start=first):
                values = column[~np.isnan(column)].astype(np.float64)
                if len(values):
                    centre[j], scale[j] = _median_and_spread(self._link(values))
        return centre, scale


def _median_and_spread(g: NDArray[np.float64]) -> tuple[float, float]:
    low, p5, p25, median, p75, p95, high = np.quantile(g, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
    width = high - low
    spread = next((s for s in (p75 - p25, p95 - p5, width) if s > width / 1000), 0.0)
    return float(median), float(spread)


SCALERS: Mapping[str, type[Scaler]] = {
    scaler.name: scaler for scaler in (QueryMinMax, Standard, RobustLog, NoScaling)
}
"""Every scaler by its name."""


def scaler_from_name(name: str) -> Scaler:
    """Make a scaler, not fitted, from its name.

    >>> scaler_from_name("query-minmax")
    QueryMinMax()
    """
    if not isinstance(name, str) or name not in SCALERS:
        raise DataError(f"there is no scaler {name!r}; choose from {', '.join(SCALERS)}")
    return SCALERS[name]()


def scaler_from_dict(manifest: Mapping[str, Any]) -> Scaler:
    """Make a scaler from the values of :meth:`~Scaler.to_dict`."""
    return type(scaler_from_name(manifest.get("name", ""))).from_dict(manifest)


def _column_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return row_pairs(values.T, np.ones((1, len(values))))[:, 0]
