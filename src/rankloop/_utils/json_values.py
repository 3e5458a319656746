"""Values of tables as JSON has them: gaps become null, and dates become text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import numpy as np

from rankloop.exceptions import DataError

_GAPS = ("NAType", "NaTType")  # pandas.NA and pandas.NaT, without importing pandas


def json_value(value: object, owner: str) -> object:
    """Return a value as JSON can hold it; raise for one that it cannot hold.

    NaN, NaT and pandas.NA become None, dates and times become text, and NumPy's numbers and arrays
    become plain ones.

    Parameters
    ----------
    owner : what has this value, for the error

    >>> json_value([np.float32(0.5), float("nan"), date(2024, 5, 31)], "item 'a'")
    [0.5, None, '2024-05-31']
    """
    if isinstance(value, np.datetime64):  # in microseconds, as nobody reads shorter ones
        return None if np.isnat(value) else str(value.astype("M8[us]"))
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in _GAPS:
        return None
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | Decimal):
        return _finite(float(value), owner)
    if isinstance(value, date):  # and its subclasses: datetime, pandas.Timestamp
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_name(k, owner): json_value(v, f"{owner}, {k!r}") for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(x, owner) for x in value]
    raise DataError(
        f"{owner}: found {value!r:.80} ({type(value).__name__}), which cannot be sent; expected "
        "text, a number, true or false, a date, a list of these, or None if it is missing"
    )


def _finite(number: float, owner: str) -> float | None:
    if math.isinf(number):
        raise DataError(
            f"{owner}: found {number}, expected a finite number, or None if it is missing"
        )
    return None if math.isnan(number) else number


def _name(name: object, owner: str) -> str:
    if not isinstance(name, str):
        raise DataError(f"{owner}: found the name {name!r:.80}, expected text")
    return name
