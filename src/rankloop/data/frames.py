"""Frames of callers: columns that are not numbers, and rows that must belong together."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.messages import show_names
from rankloop.data.memory import check_fits
from rankloop.data.validation import column_names
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.features.columns import Features


_NO_CHANCE = 100
"""So many rows of a feature are not the grades or the query ids by chance."""


def has_other_kinds(X: object) -> bool:
    """Whether a pandas or polars frame or an Arrow table has columns that are not numbers."""
    types = getattr(X, "dtypes", None)
    if types is None or getattr(types, "shape", None) == ():
        types = getattr(getattr(X, "schema", None), "types", None)
    if types is None or not hasattr(X, "columns"):
        return False
    return not all(map(_is_number, types))


def _is_number(kind: object) -> bool:
    if hasattr(kind, "kind"):  # NumPy's and pandas's
        return kind.kind in "biuf" and not str(kind).startswith("string")
    if hasattr(kind, "is_numeric"):  # polars's
        return bool(kind.is_numeric()) or str(kind) == "Boolean"
    from rankloop.data.io.tables.values import is_number

    return is_number(kind)


def frame_rows(
    X: object, features: Features | None = None, memory_limit: int | str | None = None
) -> tuple[NDArray[np.float32], Features | None]:
    """Return a frame as a matrix, with NaN for missing values, and what its columns are.

    features : the description of a model; its columns are found by name, and have its codes
    """
    from rankloop.data.io.tables.lists import spread_lists
    from rankloop.data.io.tables.roles import TableOptions, feature_columns
    from rankloop.data.io.tables.sources import in_frame
    from rankloop.data.io.tables.values import read_features

    given = TableOptions(features=features)
    source, options = spread_lists(in_frame(X, given), given)
    columns = feature_columns(source, options)
    check_fits(source.n_rows, columns.width, memory_limit)
    rows = np.empty((source.n_rows, columns.width), np.float32)
    first = 0
    for batch in source.batches(columns.features, columns.rows_at_once):
        rows[first : first + batch.num_rows] = read_features(batch, columns, first, True)
        first += batch.num_rows
    return rows, columns.describe() if features is None else features


def check_same_rows(X: object, name_of_rows: str = "X", **others: object) -> None:
    """Raise if a pandas series has another index than X: its values belong to other rows."""
    index: Any = getattr(X, "index", None)
    if not hasattr(index, "equals"):
        return
    for name, values in others.items():
        other: Any = getattr(values, "index", None)
        if hasattr(other, "equals") and not index.equals(other):
            where = next(
                (i for i, (a, b) in enumerate(zip(index, other, strict=False)) if a != b), 0
            )
            difference = (
                f"{len(other):,} labels for {len(index):,} rows"
                if len(other) != len(index)
                else f"row {where} is {index[where]} in {name_of_rows} and {other[where]} in {name}"
            )
            raise DataError(
                f"{name_of_rows} and {name} have different pandas indices: {difference}; bring "
                f"them into the same order, as with {name}.loc[{name_of_rows}.index], or pass "
                f"{name}.to_numpy() where the order is right"
            )


def refuse_other_columns(X: Any, **others: object) -> None:
    """Raise if a frame or table has columns that are not features: ids, grades, facts of a log.

    others : what was given beside the frame; a column with its name or its values is no feature
    """
    names = column_names(X)
    if names is None:
        return
    from rankloop.data.io.tables.leaks import leaks
    from rankloop.data.io.tables.roles import ROLES

    usual = {*(name for role in ROLES.values() for name in role), *map(str.lower, leaks(names))}
    given = [_name_and_values(values) for values in others.values() if values is not None]
    found = [
        name
        for place, name in enumerate(names)
        if name.lower() in usual
        or name.startswith("__index_level_")  # as Arrow calls the index of pandas
        or any(_is_copy(X, place, name, *known) for known in given)
    ]
    if not found:
        return
    drop = f"X.drop({'columns=' if hasattr(X, 'iloc') else ''}{found})"
    raise DataError(
        f"X has columns that are not features, but ids, grades, weights or facts of a log: "
        f"{show_names(found)}; a model would learn from the answer itself. Leave them out, as with "
        f"{drop}, or make the data with rankloop.from_table, which finds their roles. If they are "
        "features all the same, say so with QueryDataset.from_arrays(X, y, qid=qid, "
        "feature_names=list(X.columns))"
    )


def _name_and_values(given: Any) -> tuple[str | None, NDArray[Any] | None]:
    """Return the name of a series, or its values if they must tell.

    They must if it has no name, or a number that is often only a place. Without a name, values must
    differ and be so many that they are not in a column by chance.
    """
    name = getattr(given, "name", None)
    if isinstance(name, str):
        return name, None
    try:
        values = np.asarray(given).ravel()
    except ValueError:  # lists of different lengths, which are an error later on
        return None, np.empty(0)
    if name is None and (len(values) < _NO_CHANCE or bool((values == values[0]).all())):
        return None, np.empty(0)
    return None if name is None else str(name), values


def _is_copy(X: Any, place: int, name: str, given: str | None, values: NDArray[Any] | None) -> bool:
    """Whether a column is what was given beside the frame: by its name, its values, or both."""
    if values is None or given not in (None, name):
        return given == name
    if not len(values):
        return False
    if hasattr(X, "iloc"):
        column = np.asarray(X.iloc[:, place])
    else:
        column = np.asarray(X.column(place) if hasattr(X, "column_names") else X[name])
    with contextlib.suppress(TypeError, ValueError):  # missing texts cannot be compared
        few = slice(0, _NO_CHANCE)
        return np.array_equal(column[few], values[few]) and np.array_equal(column, values)
    return False


def as_frame(records: Sequence[Mapping[str, object]], kind: str | None = None) -> Any:
    """Return records as a frame of pandas or polars; if `kind` is None, of the installed one.

    >>> as_frame([{"ranker": "slam", "mean": 0.5}], "polars").shape
    (1, 2)
    """
    if kind not in (None, "pandas", "polars"):
        raise DataError(f"the kind of a frame must be 'pandas' or 'polars'; found {kind!r}")
    for package in (kind,) if kind else ("pandas", "polars"):
        try:
            return import_module(package).DataFrame(list(records))
        except ImportError:
            continue
    wanted = kind or "pandas"
    raise DataError(f"a frame needs {wanted}, which is not installed: pip install {wanted}")
