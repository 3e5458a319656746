"""What the values of a click table must be, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.io.tables.sources import arrow

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "t": 1.0, "f": 0.0}
_IDS = ("query", "document", "page")


def as_numbers(column: pyarrow.ChunkedArray) -> NDArray[np.float64]:
    """Return a column as numbers, NaN where a value is missing or no number.

    >>> import pyarrow as pa
    >>> as_numbers(pa.chunked_array([["1", "x", None, "true"]])).tolist()
    [1.0, nan, nan, 1.0]
    """
    pa = arrow()
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    return np.array([_number(value) for value in column.to_pylist()], np.float64)


def _number(value: object) -> float:
    if isinstance(value, str):
        word = value.strip()
        value = _WORDS.get(word.lower(), word)
    try:
        return float(value)  # type: ignore[arg-type] # what is no number raises
    except (TypeError, ValueError):
        return np.nan


def find_bad(role: str, column: pyarrow.ChunkedArray) -> tuple[Mask, Callable[[int], str]]:
    """Return which rows of a column cannot be used in its role, and a function that says why."""
    if role in _IDS:
        return _missing(column), lambda _: f"has no {role}"
    values = as_numbers(column)
    fits, expected = _FITS[role]
    with np.errstate(invalid="ignore"):
        bad = ~fits(values)

    def why(row: int) -> str:
        found = column[row].as_py()
        hint = ": add 1 if positions count from 0" if role == "position" and found == 0 else ""
        return f"has the {role} {found!r}; expected {expected}{hint}"

    return bad, why


def _missing(column: pyarrow.ChunkedArray) -> Mask:
    pa = arrow()
    missing: Mask = np.array(column.is_null().to_numpy(), bool)
    if column.type in (pa.string(), pa.large_string()):
        import pyarrow.compute as pc

        empty = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0).fill_null(True)
        missing |= np.asarray(empty.to_numpy(), bool)
        return missing
    if pa.types.is_floating(column.type):
        missing |= np.isnan(np.asarray(column.to_numpy(), np.float64))
    return missing


def _whole(x: NDArray[np.float64]) -> Mask:
    result: Mask = (x >= 1) & (x < 2**31) & (x == np.floor(x))
    return result


_FITS: dict[str, tuple[Callable[[Any], Mask], str]] = {
    "clicked": (lambda x: (x >= 0) & np.isfinite(x), "0, 1 or a number of clicks"),
    "position": (_whole, "a whole number from 1"),
    "propensity": (lambda x: (x > 0) & (x <= 1), "a number above 0 and at most 1"),
    "seen": (lambda x: (x >= 0) & np.isfinite(x), "0 or a number above it"),
    "count": (lambda x: (x >= 0) & np.isfinite(x), "a number of at least 0"),
}
