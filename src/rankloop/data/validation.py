"""Turn the arguments of callers into checked arrays, or say which value is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop.data.grouping import TEXT
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
    from collections.abc import Sequence, Sized

    import pyarrow
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids

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
            raise DataError(f"features must be numbers: {error}") from None
        dense = np.ascontiguousarray(dense)
    if dense.ndim != 2:
        raise DataError(
            f"X must have two dimensions, documents by features; found shape {dense.shape}. "
            "Reshape your data: X.reshape(1, -1) is one document, X.reshape(-1, 1) one feature"
        )
    place = _core.first_not_finite(dense, allow_nan=allow_nan)
    if place >= 0:
        raise bad_feature(dense, place)
    return dense


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
        "remove the row, replace the value"
        + (", or pass allow_nan=True if NaN means missing" if nan else "")
    )


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
        found = repr(names) if isinstance(names, str) else repr(wrong)
        raise DataError(f"feature_names must be a list of texts; found {found}")
    return tuple(names)


def as_weights(weights: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return weights as float64, finite and not negative."""
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers: {error}") from None
    good = (values >= 0) & (values < np.inf)
    if values.ndim != 1 or not good.all():
        bad = int(good.argmin())
        found = f"shape {values.shape}" if values.ndim != 1 else f"{values[bad]} at {bad}"
        raise DataError(f"{name} must be finite numbers >= 0 in one dimension; found {found}")
    return values


def as_text(values: ArrayLike, name: str) -> Ids:
    """Return document ids as text, none of them missing."""
    texts = np.asarray(values)
    if texts.dtype == TEXT and texts.ndim == 1:
        return texts
    if texts.ndim != 1:
        raise DataError(f"{name} must be one-dimensional; found shape {texts.shape}")
    if texts.dtype.kind in "fO":
        missing = next((i for i, value in enumerate(texts) if _is_missing(value)), None)
        if missing is not None:
            raise DataError(f"{name} is missing in row {missing}; every row needs one")
    return texts.astype(str).astype(TEXT)


def _is_missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True


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
