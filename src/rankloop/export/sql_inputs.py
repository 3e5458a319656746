"""SQL that reads the user's own columns: categories by their text, dates, and booleans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TRUE, _FALSE = ("true", "t", "1", "1.0"), ("false", "f", "0", "0.0")


def text_literal(text: str) -> str:
    """Write a text.

    >>> text_literal("Levi's")
    "'Levi''s'"
    """
    if "\0" in text:
        raise DataError(
            f"the category {text!r} holds a NUL, which no SQL text can; export to onnx or json"
        )
    return "'" + text.replace("'", "''") + "'"


def code(
    column: str, categories: Sequence[str], dialect: str, number: Callable[[float], str]
) -> str:
    r"""Return the place of a text among the categories; NULL if it is none of them.

    >>> code('"brand"', ["acme"], "postgresql", str)
    'CASE CAST("brand" AS TEXT) WHEN \'acme\' THEN 0 END'
    """
    places = {category: place for place, category in enumerate(categories)}
    for category, place in list(places.items()):
        if _is_whole_number(category):  # numbers that name categories may be stored as real ones
            places.setdefault(f"{category}.0", place)
    if not places:
        return "CAST(NULL AS DOUBLE PRECISION)"
    # A column of SQLite may have a collation that takes two categories for the same.
    binary = " COLLATE BINARY" if dialect == "sqlite" else ""
    cases = " ".join(f"WHEN {text_literal(text)} THEN {number(k)}" for text, k in places.items())
    return f"CASE CAST({column} AS TEXT){binary} {cases} END"


def boolean(column: str, number: Callable[[float], str]) -> str:
    """Return 1 or 0, of a boolean, a number or a word."""
    cases = " ".join(
        f"WHEN '{word}' THEN {number(value)}"
        for words, value in ((_TRUE, 1.0), (_FALSE, 0.0))
        for word in words
    )
    return f"CASE LOWER(CAST({column} AS TEXT)) {cases} END"


def days(column: str, dialect: str) -> str:
    """Return a date or a moment as days since 1970 in UTC.

    SQLite has no type for dates, so there text is read as ISO 8601, a whole number as seconds since
    1970 and a real number as a Julian day, as SQLite's documentation names the three; it keeps
    milliseconds. PostgreSQL and DuckDB keep microseconds.
    """
    if dialect == "postgresql":
        microseconds = f"EXTRACT(EPOCH FROM {column}) * 1000000"
        return f"CAST({microseconds} AS DOUBLE PRECISION) / 86400000000"
    if dialect == "duckdb":
        return f"CAST(EPOCH_US({column}) AS DOUBLE PRECISION) / 86400000000"
    julian = f"ROUND((JULIANDAY({column}) - 2440587.5) * 86400000) / 86400000"
    return f"CASE TYPEOF({column}) WHEN 'integer' THEN {column} / 86400e0 ELSE {julian} END"


def _is_whole_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit()
