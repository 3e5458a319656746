"""Columns of pandas frames that hold numbers and texts together, which Arrow cannot take."""

from __future__ import annotations

from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


def separate(frame: Any, ids: Collection[str]) -> Any:
    """Return a pandas frame whose mixed columns are as in CSV: numbers if all are, and else text.

    Other tables are returned as they are, and so are columns that hold something else as well.

    ids : the names of columns of ids, which are text then

    >>> import pandas as pd
    >>> separate(pd.DataFrame({"price": [3, "4.5"], "id": [7, "007"], "size": [38, "L"]}), ["id"])
       price   id size
    0    3.0    7   38
    1    4.5  007    L
    """
    if not (hasattr(frame, "iloc") and hasattr(frame, "columns")):
        return frame
    infer = import_module("pandas.api.types").infer_dtype
    plain = {}
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if column.dtype != object or infer(column) not in ("mixed", "mixed-integer"):
            continue
        known = column.dropna()
        if not all(isinstance(value, str | Real) for value in known):
            continue
        plain[name] = column.map(str, na_action="ignore")
        if name not in ids and all(map(_is_number, known)):
            plain[name] = column.astype(float)
    return frame.assign(**plain) if plain else frame


def _is_number(value: object) -> bool:
    from rankloop.data.io.tables.values import is_float

    return isinstance(value, Real) or is_float(str(value))
