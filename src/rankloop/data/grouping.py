"""Which rows belong to which query: the one place that turns query ids into groups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Ids = NDArray[Any]  # whole numbers or texts

_PLAIN = re.compile(r"0|-?[1-9][0-9]{0,18}")
TEXT = np.dtypes.StringDType()
"""The dtype of textual ids: short strings are stored inline, 16 bytes each."""


@dataclass(frozen=True)
class Grouping:
    """Rows grouped by query; queries are in the order of their first appearance.

    offsets : the grouped rows of query q are offsets[q]:offsets[q + 1]
    ids : one id per query, numbers or text
    rows : grouped row i was row rows[i] of the input; None if the order did not change
    """

    offsets: NDArray[np.int64]
    ids: Ids
    rows: NDArray[np.int64] | None


@lru_cache(maxsize=1024)
def one_query(n: int) -> NDArray[np.int64]:
    """Return the offsets of one query of n rows; the array is shared and read-only.

    >>> one_query(3)
    array([0, 3])
    """
    offsets = np.array([0, n])
    offsets.setflags(write=False)
    return offsets


def group_by_id(qid: ArrayLike) -> Grouping:
    """Group rows by one id per row. O(n) if the rows of each query are contiguous, else O(n log n).

    >>> group_by_id(["b", "b", "a", "b"]).rows
    array([0, 1, 3, 2])
    """
    ids = as_ids(qid, "qid")
    if len(ids) == 0:
        return Grouping(np.zeros(1, np.int64), ids, None)
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    return group_runs(ids[starts], starts, len(ids))


def group_by_size(group: ArrayLike, n_rows: int) -> Grouping:
    """Group contiguous rows by the size of each query, as LightGBM and XGBoost do.

    >>> group_by_size([2, 1], 3).offsets
    array([0, 2, 3])
    """
    try:
        sizes = np.asarray(group)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"group must be a list of whole numbers: {error}") from None
    if sizes.size == 0:
        sizes = sizes.astype(np.int64)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        raise DataError(
            f"group must be a list of whole numbers, one size per query; found {sizes.dtype} "
            f"of shape {sizes.shape}"
        )
    if (sizes < 0).any():
        raise DataError(f"group sizes must not be negative; found {sizes.min()}")
    if sizes.sum() != n_rows:
        raise DataError(
            f"group sizes add up to {sizes.sum():,} rows, but there are {n_rows:,}; "
            "check that they belong to the same data"
        )
    offsets = np.r_[0, np.cumsum(sizes, dtype=np.int64)]
    return Grouping(offsets, np.arange(len(sizes), dtype=np.int64), None)


def group_runs(
    run_ids: Ids,
    starts: NDArray[np.int64],
    n_rows: int,
    before_sorting: Callable[[], None] | None = None,
) -> Grouping:
    """Group runs of rows with one id each; runs with the same id are combined.

    `before_sorting` is called if there are such runs, before sorting takes memory for each row.
    """
    lengths = np.diff(np.r_[starts, n_rows])
    _, first, query_of_run = np.unique(run_ids, return_index=True, return_inverse=True)
    if len(first) == len(run_ids):
        return Grouping(np.r_[0, np.cumsum(lengths)], run_ids, None)
    if before_sorting is not None:
        before_sorting()
    by_appearance = np.argsort(first)
    place = np.empty(len(first), np.int64)
    place[by_appearance] = np.arange(len(first))
    query_of_run = place[query_of_run]
    sizes = np.bincount(query_of_run, weights=lengths, minlength=len(first)).astype(np.int64)
    rows = np.argsort(np.repeat(query_of_run, lengths), kind="stable")
    return Grouping(np.r_[0, np.cumsum(sizes)], run_ids[np.sort(first)], rows)


def as_ids(values: ArrayLike, name: str) -> Ids:
    """Return ids as an array of int64 or of text; other values are an error."""
    ids = as_array(values, name)
    if ids.dtype in (np.int64, TEXT):
        return ids
    if ids.dtype.kind in "iuf":
        if ids.dtype.kind == "f" and np.isnan(ids).any():
            raise _missing(name, int(np.isnan(ids).argmax()))
        fits = np.abs(ids) < 2.0**63 if ids.dtype.kind != "i" else np.ones(len(ids), bool)
        whole = fits & (ids == np.floor(ids)) if ids.dtype.kind == "f" else fits
        if not whole.all():
            raise DataError(f"{name} must be whole 64-bit numbers or text; found {ids[~whole][0]}")
        return ids.astype(np.int64, copy=False)
    return as_texts(ids, name)


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return values in one dimension; NumPy would make the NaN among texts the text nan."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            array = np.asarray(values, dtype=object)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"{name} must be one-dimensional: {error}") from None
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional; found shape {array.shape}")
    return array


def as_texts(values: NDArray[Any], name: str) -> Ids:
    """Return values as text, none of them missing."""
    if values.dtype.kind in "OfMm":
        missing = first_missing(values)
        if missing is not None:
            raise _missing(name, missing)
    return values.astype(str if values.dtype.kind != "O" else TEXT).astype(TEXT)


def _missing(name: str, row: int) -> DataError:
    return DataError(f"{name} is missing in row {row}; every row needs one")


def first_missing(values: Ids) -> int | None:
    """Return the first row whose value is None, NaN or NA, or None if there is no such row."""
    for i, value in enumerate(values):
        equal = value == value  # NaN is not; NA does not say
        if value is None or not isinstance(equal, bool | np.bool_) or not equal:
            return i
    return None


def ids_from_text(texts: Sequence[str]) -> Ids:
    """Return ids read from text: int64 if every one is a plain whole number, otherwise text.

    >>> ids_from_text(["10", "7"])
    array([10,  7])
    >>> ids_from_text(["10", "007"]).tolist()
    ['10', '007']
    """
    if all(_PLAIN.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts):
        return np.array([int(text) for text in texts], np.int64)
    return np.array(texts, dtype=TEXT)
