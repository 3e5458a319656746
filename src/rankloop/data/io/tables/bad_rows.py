"""Rows of text that cannot be used, left out because the caller says so, and counted."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.messages import count
from rankloop.data.io.tables.numerals import plain_number
from rankloop.data.io.tables.roles import resolve
from rankloop.data.io.tables.sources import arrow, in_memory
from rankloop.data.io.tables.values import is_number
from rankloop.exceptions import BadRowsWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow
    from numpy.typing import NDArray

    from rankloop.data.io.tables.roles import TableOptions

    BadRow = tuple[int, str]


def without_bad_rows(
    table: pyarrow.Table, options: TableOptions, line_of: Callable[[int], int | None]
) -> tuple[pyarrow.Table, list[BadRow]]:
    """Return a table without the rows whose ids, grades or weights cannot be used, and these.

    Each of these is given by its line and what is wrong with it.
    """
    pa = arrow()
    roles = resolve(in_memory(table), replace(options, notice=None)).roles
    bad: dict[int, str] = {}
    for role, name in roles.items():
        column = table.column(name)
        wrong = column.is_null().to_numpy()
        if role not in ("query", "doc_id"):
            numbers = _numbers(column, options)
            wrong = ~np.isfinite(numbers) | ((numbers < 0) & (role != "label"))
            if not is_number(column.type):
                table = table.set_column(
                    table.column_names.index(name), name, pa.chunked_array([numbers])
                )
        for row in np.flatnonzero(wrong).tolist():
            value = column[row].as_py()
            found = f"{name!r} is {'missing' if value is None else repr(value)}"
            bad.setdefault(row, found)
    keep = np.ones(table.num_rows, bool)
    keep[list(bad)] = False
    told = [(line_of(row) or row, found) for row, found in sorted(bad.items())[:3]]
    told += [(row, found) for row, found in sorted(bad.items())[3:]]
    return (table.filter(pa.array(keep)) if bad else table), told


def _numbers(column: pyarrow.ChunkedArray, options: TableOptions) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where it has none."""
    if is_number(column.type):
        return np.asarray(column.cast("float64", safe=False).to_numpy())
    texts = column.cast("string").to_pylist()
    plain = (text and plain_number(text.strip(), options) for text in texts)
    return np.array([float(number) if number else np.nan for number in plain])


def warn_of_bad_rows(name: str, bad: Sequence[BadRow], left: int) -> None:
    """Say how many rows were left out, and what is wrong with the first."""
    if not bad:
        return
    first = "; ".join(f"line {line}: {found}" for line, found in bad[:3])
    rows = count(len(bad), "bad row", "bad rows")
    message = f"{name}: {rows} left out of {len(bad) + left:,}; {first}"
    warnings.warn(message, BadRowsWarning, stacklevel=2)
