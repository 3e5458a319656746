"""Columns of text that hold dates in the form of ISO 8601, such as 2026-01-31."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankloop.data.io.tables.sources import arrow

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def with_dates(table: pyarrow.Table, aside: Collection[str] = ()) -> pyarrow.Table:
    """Return a table whose columns of dates are of that type, all but those to leave aside."""
    for j, name in enumerate(table.column_names):
        dates = None if name in aside else _dates(table.column(j))
        if dates is not None:
            table = table.set_column(j, name, dates)
    return table


def _dates(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray | None:
    """Return a column of text as dates, if every value is one; else None."""
    pa = arrow()
    if column.type not in (pa.string(), pa.large_string(), pa.string_view()):
        return None
    first = next((value.as_py() for value in column if value.is_valid), "")
    if _DATE.match(first) is None:
        return None
    try:
        return column.cast(pa.string()).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
