"""Turn the arguments of callers, and the fields of data sets, into checked arrays."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop._utils.arguments import check_type
from rankloop._utils.messages import show_names
from rankloop.data.grouping import TEXT, as_array, as_ids, as_texts
from rankloop.data.memory import check_fits
from rankloop.data.sparse_rows import (
    SparseRows,
    all_values,
    as_dense_type,
    is_sparse,
    place_in_rows,
    sparse_rows,
)
from rankloop.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Sized

    import pyarrow
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids

MISSING_VALUES = (
    "; if NaN means missing, use Described(ranker) or trees, which learn from missing values (and "
    "make data sets with allow_nan=True)"
)
"""What to do about missing values."""
_FLOAT32 = np.dtype(np.float32)


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the column names of a pandas or polars frame or an Arrow table, else None."""
    if type(X) is np.ndarray:
        return None
    names = getattr(X, "column_names", None)  # Arrow
    if names is None:
        names = getattr(X, "columns", None)  # pandas, polars
    return None if names is None else tuple(str(name) for name in names)


def as_rows(
    X: Any, *, allow_nan: bool = False, memory_limit: int | str | None = None
) -> NDArray[np.float32]:
    """Return features as :func:`as_matrix` does, but sparse ones as sparse rows."""
    if not is_sparse(X):
        return as_matrix(X, allow_nan=allow_nan, memory_limit=memory_limit)
    rows = as_dense_type(sparse_rows(X))
    place = _core.first_not_finite(all_values(rows), allow_nan=allow_nan)
    if place >= 0:
        raise bad_feature(rows, place)
    return rows


def as_matrix(
    X: Any, *, allow_nan: bool = False, memory_limit: int | str | None = None
) -> NDArray[np.float32]:
    """Return features as a row-major float32 matrix; an error names the first bad value."""
    dense: NDArray[np.float32]
    if type(X) is np.ndarray and X.dtype is _FLOAT32:
        dense = X if X.flags.c_contiguous else np.ascontiguousarray(X)
    elif isinstance(X, SparseRows):
        dense = X.toarray(memory_limit)
    elif hasattr(X, "toarray"):  # scipy sparse
        check_fits(X.shape[0], X.shape[1], memory_limit)
        with np.errstate(over="ignore"):
            dense = X.astype(np.float32).toarray(order="C")
    elif hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        dense = _from_arrow(X, memory_limit)
    else:
        try:
            dense = np.asarray(X)
            if np.iscomplexobj(dense):
                raise DataError("features must be real numbers. Complex data not supported")
            if dense.dtype != np.float32:
                if dense.ndim == 2:
                    check_fits(dense.shape[0], dense.shape[1], memory_limit)
                with np.errstate(over="ignore"):
                    dense = dense.astype(np.float32)
        except TypeError as error:
            raise DataTypeError(f"features must be numbers: {error}") from None
        except ValueError as error:
            raise DataError(_not_numbers(X, error)) from None
        dense = np.ascontiguousarray(dense)
    if dense.ndim != 2:
        raise DataError(
            f"X must have two dimensions, documents by features; found shape {dense.shape}. "
            "Reshape your data: X.reshape(1, -1) is one document, X.reshape(-1, 1) one feature"
        )
    place = _core.first_not_finite(dense, allow_nan=allow_nan)
    if place >= 0:
        raise bad_feature(dense, place, column_names(X))
    return dense


def _not_numbers(X: Any, error: ValueError) -> str:
    """Say which columns of a frame are no numbers, and what to do; of an array, what NumPy says."""
    types = zip(column_names(X) or (), getattr(X, "dtypes", ()), strict=False)
    texts = [name for name, kind in types if getattr(kind, "kind", "O") in "OSUT"]
    if not texts:
        return f"features must be numbers: {error}"
    found = next(
        (f"row {i} of {name!r} has {value!r}" for name in texts for i, value in _texts(X, name)),
        str(error),
    )
    return (
        f"features must be numbers, but not all values of {show_names(texts)} are ({found}); leave "
        "out what is no feature, and learn from text with Described(ranker)"
    )


def _texts(X: Any, name: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of a column that hold text which is no number, and the text."""
    for i, value in enumerate(X[name] if name in X.columns else ()):
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                yield i, value


def bad_feature(
    X: NDArray[np.float32], place: int, names: Sequence[str] | None = None, first_row: int = 0
) -> DataError:
    """Return the error for a feature that is not finite: value number `place` of X, row by row.

    Of sparse rows, only stored values count.
    """
    row, column = place_in_rows(X, place)
    value = all_values(X).ravel()[place]
    nan = bool(np.isnan(value))
    return DataError(
        f"feature {names[column] if names else column} of row {first_row + row} is "
        f"{'missing (null or NaN)' if nan else f'{value} as float32'}; features must be finite: "
        "remove the row, replace the value" + (MISSING_VALUES if nan else "")
    ).at_row(first_row + row)


def check_not_empty(X: NDArray[np.generic]) -> None:
    """Raise if there is nothing to learn from: no row, or no feature."""
    if X.size == 0:
        none = "0 feature(s)" if len(X) else "0 row(s)"
        raise DataError(
            f"X has {none} (shape={X.shape}) while a minimum of 1 is required. "
            "There is nothing to learn from: give other data"
        )


def _from_arrow(table: pyarrow.Table, memory_limit: int | str | None) -> NDArray[np.float32]:
    """Convert column by column; in addition to the matrix, it needs one float32 column."""
    check_fits(table.num_rows, table.num_columns, memory_limit)
    matrix = np.empty((table.num_rows, table.num_columns), np.float32)
    for j, column in enumerate(table.columns):
        try:
            numbers = column.cast("float32", safe=False)  # null becomes NaN, too large inf
        except (TypeError, ValueError, NotImplementedError) as error:
            name = table.column_names[j]
            raise DataError(f"features must be numbers: column {name!r}: {error}") from None
        matrix[:, j] = numbers.to_numpy(zero_copy_only=False)
    return matrix


def as_grades(y: ArrayLike) -> NDArray[np.float64]:
    """Return grades as float64; an error names the first that is not a finite number."""
    try:
        grades = np.asarray(y, dtype=np.float64)
    except TypeError as error:
        raise DataTypeError(f"grades must be numbers: {error}") from None
    except ValueError as error:
        raise DataError(f"grades must be numbers: {error}") from None
    if grades.ndim != 1:
        raise DataError(f"y must be one-dimensional; found shape {grades.shape}")
    bad = _core.first_not_finite(grades)
    if bad >= 0:
        raise DataError(
            f"the grade of row {bad} is {grades[bad]}; grades must be finite "
            "(use -1 for a document that was not judged)"
        )
    return grades


def as_feature_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of features as a tuple of text."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if isinstance(names, str) or wrong is not None:
        given = repr(names) if isinstance(names, str) else repr(wrong)
        raise DataError(f"feature_names must be a list of texts; found {given}")
    return tuple(names)


def as_weights(weights: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return weights as float64, finite and not negative."""
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    good = (values >= 0) & (values < np.inf)
    if values.ndim != 1 or not good.all():
        problem = f"shape {values.shape}"
        if values.ndim == 1:
            bad = int(good.argmin())
            problem = f"{values[bad]} at {bad}"
        raise DataError(f"{name} must be finite numbers >= 0 in one dimension; found {problem}")
    return values


def as_text(values: ArrayLike, name: str) -> Ids:
    """Return document ids as text, none of them missing."""
    texts = as_array(values, name)
    return texts if texts.dtype == TEXT else as_texts(texts, name)


def one_each(name: str, values: Any, n: int) -> Any:
    """Return values as an array whose first dimension has one place for each of n rows."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"{name} must be an array: {error}") from None
    if not array.ndim:
        raise DataTypeError(f"{name} must be an array of {n:,} values; found {values!r:.60}")
    check_length(name, array, n)
    return array


def check_length(name: str, values: Sized, n: int, what: str = "rows") -> None:
    """Raise unless there is one value per row (or query, or feature)."""
    if len(values) != n:
        raise DataError(f"{name} has {len(values):,} values for {n:,} {what}")


def check_counts(**counts: int) -> None:
    """Raise unless each is a whole number of at least 1."""
    for name, count in counts.items():
        if not isinstance(count, int | np.integer) or count < 1:
            raise DataError(f"{name} must be a whole number of at least 1; found {count!r}")


def check_rng(rng: object) -> None:
    """Raise unless this is a NumPy random generator."""
    if not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a NumPy random generator; found {rng!r}: "
            "write np.random.default_rng(seed)"
        )


def validate_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a data set by name, in their usual form, without those that are None.

    The values of X are not checked. Fields that have their usual form are not copied. It makes a
    pass over the grades and, if there are any, the weights and row numbers of documents.
    """
    X = values["X"]
    if not isinstance(X, np.ndarray | SparseRows) or X.ndim != 2 or X.dtype != np.float32:
        given = f"{X.dtype} of shape {X.shape}" if isinstance(X, np.ndarray) else type(X)
        raise DataError(
            f"X must be a float32 array, documents by features, or SparseRows; found {given}: "
            "QueryDataset.from_arrays takes other numbers, frames and sparse matrices"
        )
    n, d = X.shape
    offsets = as_offsets(values["offsets"], n)
    q = len(offsets) - 1
    fields: dict[str, object] = {"offsets": offsets}

    def add(name: str, value: Sized, length: int, what: str = "rows") -> None:
        check_length(name, value, length, what)
        fields[name] = value

    add("y", as_grades(values["y"]), n)
    add("query_ids", as_ids(values["query_ids"], "query_ids"), q, "queries")
    if (doc_ids := values["doc_ids"]) is not None:
        add("doc_ids", as_text(doc_ids, "doc_ids"), n)
    if (names := values["feature_names"]) is not None:
        add("feature_names", as_feature_names(names), d, "features")
    if (weights := values["sample_weight"]) is not None:
        add("sample_weight", as_weights(weights, "sample_weight"), n)
    if (weights := values["query_weight"]) is not None:
        add("query_weight", as_weights(weights, "query_weight"), q, "queries")
    if (rows := values["rows"]) is not None:
        fields["rows"] = as_row_numbers(rows, n)
    check_type("query_name", values.get("query_name"), (str, NoneType), "a name, or None")
    if (features := values.get("features")) is not None and len(features) != d:
        if not features.are_numbers:
            raise DataError(f"features describes {len(features)} columns, but X has {d}")
        fields["features"] = None  # other columns of numbers took their place
    return fields


def as_offsets(offsets: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return offsets of queries as int64: the first is 0, the last is n, and they never fall."""
    try:
        values = np.asarray(offsets)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"offsets must be one-dimensional: {error}") from None
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
        problem = (
            f"{values[at]} followed by {values[at + 1]} at {at}"
            if some_fall
            else f"{values[0]} first and {values[-1]} last"
        )
        raise DataError(
            "offsets must start at 0, never decrease and end at the number of rows, "
            f"{n:,}; found {problem}"
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
    try:
        chosen = np.asarray(queries)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"select takes positions or a mask of queries: {error}") from None
    if chosen.dtype == bool and chosen.ndim:
        check_length("the mask", chosen, n, "queries")
    elif chosen.size and (chosen.dtype.kind not in "iu" or chosen.ndim != 1):
        raise DataError(
            "select takes a slice, positions or a mask of queries; found "
            f"{chosen.dtype} of shape {chosen.shape}"
        )
    taken: NDArray[np.int64] = np.arange(n)[chosen if chosen.size else np.zeros(0, np.int64)]
    return taken
