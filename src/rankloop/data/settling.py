"""The fields of a data set in their usual form, or an error that gives the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.grouping import as_ids
from rankloop.data.sparse_rows import SparseRows
from rankloop.data.validation import (
    as_feature_names,
    as_grades,
    as_text,
    as_weights,
    check_length,
)
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized

    from numpy.typing import ArrayLike, NDArray


def settled_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a data set by name, in their usual form, without those that are None.

    The values of X are not checked. Fields that have their usual form are not copied. It makes a
    pass over the grades and, if there are any, the weights and row numbers of documents.
    """
    X = values["X"]
    if not isinstance(X, np.ndarray | SparseRows) or X.ndim != 2 or X.dtype != np.float32:
        found = f"{X.dtype} of shape {X.shape}" if isinstance(X, np.ndarray) else type(X)
        raise DataError(
            f"X must be a float32 array, documents by features, or SparseRows; found {found}: "
            "QueryDataset.from_arrays takes other numbers, frames and sparse matrices"
        )
    n, d = X.shape
    offsets = as_offsets(values["offsets"], n)
    q = len(offsets) - 1
    fields: dict[str, object] = {"offsets": offsets}

    def settle(name: str, value: Sized, length: int, what: str = "rows") -> None:
        check_length(name, value, length, what)
        fields[name] = value

    settle("y", as_grades(values["y"]), n)
    settle("query_ids", as_ids(values["query_ids"], "query_ids"), q, "queries")
    if (doc_ids := values["doc_ids"]) is not None:
        settle("doc_ids", as_text(doc_ids, "doc_ids"), n)
    if (names := values["feature_names"]) is not None:
        settle("feature_names", as_feature_names(names), d, "features")
    if (weights := values["sample_weight"]) is not None:
        settle("sample_weight", as_weights(weights, "sample_weight"), n)
    if (weights := values["query_weight"]) is not None:
        settle("query_weight", as_weights(weights, "query_weight"), q, "queries")
    if (rows := values["rows"]) is not None:
        fields["rows"] = as_row_numbers(rows, n)
    if (features := values.get("features")) is not None and len(features) != d:
        if not features.are_numbers:
            raise DataError(f"features describes {len(features)} columns, but X has {d}")
        fields["features"] = None  # other columns of numbers took their place
    return fields


def as_offsets(offsets: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return offsets of queries as int64: the first is 0, the last is n, and they never fall."""
    values = np.asarray(offsets)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iu":
        raise DataError(
            "offsets must be a list of whole numbers: the row where each query "
            f"starts, and last the number of rows; found {values.dtype} of shape "
            f"{values.shape}"
        )
    falls = values[1:] < values[:-1]
    some_fall = falls.any()
    if some_fall or values[0] != 0 or values[-1] != n:
        at = int(falls.argmax()) if some_fall else 0
        found = (
            f"{values[at]} followed by {values[at + 1]} at {at}"
            if some_fall
            else f"{values[0]} first and {values[-1]} last"
        )
        raise DataError(
            "offsets must start at 0, never decrease and end at the number of rows, "
            f"{n:,}; found {found}"
        )
    return values if values.dtype == np.int64 else values.astype(np.int64)


def as_row_numbers(rows: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the caller's row numbers as int64: each number below n exactly once."""
    values = np.asarray(rows)
    fit = values.ndim == 1 and len(values) == n and values.dtype.kind in "iu"
    if fit and n:
        fit = values.min() >= 0 and values.max() < n and bool((np.bincount(values) == 1).all())
    if not fit:
        raise DataError(
            f"rows must contain each number from 0 to {n - 1:,} exactly once; found {values!r}"
        )
    return values.astype(np.int64, copy=False)


def positions(queries: slice | ArrayLike, n: int) -> NDArray[np.int64]:
    """Return the positions of some of n queries: a slice, positions or a mask.

    >>> positions([True, False, True], 3)
    array([0, 2])
    >>> positions([-1, 0], 3)
    array([2, 0])
    """
    if isinstance(queries, slice):
        return np.arange(n)[queries]
    chosen = np.asarray(queries)
    if chosen.dtype == bool:
        check_length("the mask", chosen, n, "queries")
    elif chosen.size and (chosen.dtype.kind not in "iu" or chosen.ndim != 1):
        raise DataError(
            "select takes a slice, positions or a mask of queries; found "
            f"{chosen.dtype} of shape {chosen.shape}"
        )
    taken: NDArray[np.int64] = np.arange(n)[chosen if chosen.size else np.zeros(0, np.int64)]
    return taken
