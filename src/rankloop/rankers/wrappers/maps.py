"""Feature maps, for example the rank of a value in its query, and their names."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.data.sparse_rows import SparseRows, as_dense_type
from rankloop.exceptions import DataError
from rankloop.rankers.kernel.features import KernelFeatures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankloop.rankers.base import Offsets, Rows


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


def change_numbers(X: Rows, indicators: int, change: Callable[[Rows], Rows]) -> Rows:
    """Change all columns but the last ones, which are indicators and stay as they are.

    Indicators are 0 or 1, so there is nothing to scale; and the rank of a value that is one of two
    differs from the other's by 1/2 in every query, so it says the same as the value. With sparse
    rows, all other columns are changed in dense form.

    >>> X = np.array([[2.0, 1.0], [4.0, 0.0]], np.float32)
    >>> change_numbers(X, 1, lambda numbers: np.hstack([numbers, numbers**2])).tolist()
    [[2.0, 4.0, 1.0], [4.0, 16.0, 0.0]]
    """
    if not indicators:
        return change(X)
    first = X.shape[1] - indicators
    if isinstance(X, SparseRows):
        changed = np.ascontiguousarray(change(_core.first_columns(X.core, first)))
        starts, columns, values = _core.replace_first_columns(X.core, first, changed)
        width = changed.shape[1] + indicators
        return as_dense_type(SparseRows(values, columns, starts, width))
    changed = change(np.ascontiguousarray(X[:, :first]))
    return np.hstack([changed, X[:, first:]])


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
    columns: list[str] = []
    for name in maps:
        product = _PRODUCT.fullmatch(name)
        if product is not None:
            columns.append(f"{known[int(product[1])]} x {known[int(product[2])]}")
        elif "(" in name:
            columns += [f"{name} {k + 1}" for k in range(KernelFeatures(name).size)]
        else:
            columns += known if name == "raw" else [f"{name} of {feature}" for feature in known]
    return columns


def kernel_maps(maps: Sequence[str]) -> list[str]:
    """Return the maps that are kernel features; raise if one cannot be read.

    >>> kernel_maps(["raw", "nystrom(rbf(1),200)"])
    ['nystrom(rbf(1),200)']
    """
    return [name for name in maps if "(" in name and KernelFeatures(name).size]
