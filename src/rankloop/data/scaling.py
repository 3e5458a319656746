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

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop import _core
from rankloop.arithmetic import log1p, row_pairs
from rankloop.data.blocks import row_blocks
from rankloop.data.validation import as_matrix
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self, TypeAlias

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset

    Rows: TypeAlias = NDArray[np.float32]
    Offsets: TypeAlias = NDArray[np.int64] | None
    Statistics: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

_LARGEST = float(np.finfo(np.float32).max)


class Scaler(ABC):
    """What every scaler does: fit once, then transform data sets or raw rows."""

    name: ClassVar[str]

    @abstractmethod
    def fit(self, dataset: QueryDataset) -> Self:
        """Learn what the scaler needs from the training data; grades and weights play no part."""

    def transform(self, dataset: QueryDataset) -> QueryDataset:
        """Return the data set with scaled features; all else is shared with the original."""
        return replace(dataset, X=self._scaled(dataset.X, dataset.offsets))

    def transform_rows(self, X: Any, offsets: ArrayLike | None = None) -> Rows:
        """Return scaled rows; rows of query q are `offsets[q]:offsets[q + 1]`.

        Only ``query-minmax`` needs `offsets`.
        """
        matrix = as_matrix(X, allow_nan=True)
        bounds = None if offsets is None else np.asarray(offsets)
        if bounds is not None and not _are_offsets(bounds, len(matrix)):
            raise DataError(
                f"offsets must be whole numbers that rise from 0 to {len(matrix)}, the number of "
                f"rows; found {bounds.tolist()[:10]}"
            )
        return self._scaled(matrix, bounds)

    @abstractmethod
    def _scaled(self, X: Rows, offsets: Offsets) -> Rows: ...

    def to_dict(self) -> dict[str, Any]:
        """Return all there is to know, as plain text, numbers and lists that JSON keeps exactly."""
        return {"name": self.name}

    @classmethod
    def from_dict(cls, manifest: Mapping[str, Any]) -> Self:
        """Make the scaler that :meth:`to_dict` described."""
        if manifest.get("name") != cls.name:
            raise DataError(f"this describes scaler {manifest.get('name')!r}, not {cls.name!r}")
        return cls()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and vars(self).keys() == vars(other).keys()
            and all(np.array_equal(value, vars(other)[key]) for key, value in vars(self).items())
        )

    __hash__ = None  # type: ignore[assignment]  # fitting changes it

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NoScaling(Scaler):
    """Leave features as they are; no copy is made."""

    name = "none"

    def fit(self, dataset: QueryDataset) -> Self:  # noqa: ARG002
        """Do nothing."""
        return self

    def _scaled(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        return X


class QueryMinMax(Scaler):
    """Bring each feature to 0..1 within each query: (x - min) / (max - min), 0 where all are equal.

    As LETOR's normalised files. Nothing is learnt, so a query is scaled alike wherever it stands,
    but its documents must come together: a single document becomes all 0. Cost O(n d).

    Examples
    --------
    >>> QueryMinMax().transform_rows([[1.0], [3.0], [2.0], [7.0]], offsets=[0, 3, 4]).ravel()
    array([0. , 1. , 0.5, 0. ], dtype=float32)
    """

    name = "query-minmax"

    def fit(self, dataset: QueryDataset) -> Self:  # noqa: ARG002
        """Do nothing: each query is scaled by its own documents."""
        return self

    def _scaled(self, X: Rows, offsets: Offsets) -> Rows:
        if offsets is None:
            raise DataError(
                "query-minmax scales within queries: say where they start with offsets= "
                f"([0, {len(X)}] where all rows are one query)"
            )
        out = np.empty_like(X)
        _core.query_minmax(X, offsets, out, 0)
        return out


class _CentredScaler(Scaler):
    """(g(x) - centre) / scale for each feature, and 0 where scale is 0."""

    centre_: NDArray[np.float64]
    scale_: NDArray[np.float64]

    def fit(self, dataset: QueryDataset) -> Self:
        """Learn the centre and scale of each feature over all documents."""
        if dataset.n_documents == 0:
            raise DataError(f"scaler {self.name!r} cannot be fitted: there are no documents")
        self.centre_, self.scale_ = self._statistics(dataset.X)
        return self

    @staticmethod
    def _link(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x

    @abstractmethod
    def _statistics(self, X: Rows) -> Statistics: ...

    def _scaled(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        self._check_fitted()
        if X.shape[1] != len(self.centre_):
            raise DataError(
                f"scaler {self.name!r} was fitted on {len(self.centre_)} features, but found "
                f"{X.shape[1]}; give the features it was fitted on, in the same order"
            )
        divisor = np.where(self.scale_ > 0, self.scale_, np.inf)
        out = np.empty_like(X)
        with np.errstate(over="ignore"):  # what exceeds float32 is clipped to its largest
            for rows in row_blocks(*X.shape):
                values = (self._link(X[rows].astype(np.float64)) - self.centre_) / divisor
                out[rows] = np.clip(values, -_LARGEST, _LARGEST, out=values)
        return out

    def _check_fitted(self) -> None:
        if not hasattr(self, "centre_"):
            raise DataError(f"scaler {self.name!r} is not fitted: call fit with training data")

    def to_dict(self) -> dict[str, Any]:
        """Return name, centre and scale; JSON keeps every bit of them."""
        self._check_fitted()
        return {"name": self.name, "centre": self.centre_.tolist(), "scale": self.scale_.tolist()}

    @classmethod
    def from_dict(cls, manifest: Mapping[str, Any]) -> Self:
        """Make the fitted scaler that :meth:`to_dict` described."""
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
    """Make the scaler that its :meth:`~Scaler.to_dict` described."""
    return type(scaler_from_name(manifest.get("name", ""))).from_dict(manifest)


def _column_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return row_pairs(values.T, np.ones((1, len(values))))[:, 0]


def _are_offsets(offsets: NDArray[Any], n: int) -> bool:
    return (
        offsets.ndim == 1
        and offsets.dtype.kind in "iu"
        and len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == n
        and bool((offsets[1:] >= offsets[:-1]).all())
    )
