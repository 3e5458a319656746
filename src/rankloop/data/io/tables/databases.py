"""Queries of databases as tables: DuckDB, PostgreSQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankloop.data.io.tables.sources import arrow
from rankloop.exceptions import DataError, MissingExtraError, ParseError

if TYPE_CHECKING:
    import pyarrow

_QUERY = re.compile(r"\?(?=\s*(?:select|with|from|table|values)\b)", re.IGNORECASE)


def run_query(place: str) -> pyarrow.Table:
    """Run `duckdb:FILE?SELECT ...` or `postgresql://...?SELECT ...`, and return an Arrow table.

    A DuckDB file is opened read-only; without a file the query runs in memory, and may read files
    by itself.
    """
    match = _QUERY.search(place)
    if match is None:
        raise DataError(
            f"{place!r} names a database but no query; write the query after a "
            "question mark, as in 'duckdb:shop.db?select * from judged'"
        )
    database, query = place[: match.start()], place[match.end() :].strip()
    return (
        _duckdb(database, query) if database.startswith("duckdb:") else _postgres(database, query)
    )


def _duckdb(database: str, query: str) -> pyarrow.Table:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb", "reading from DuckDB") from None
    file = database.removeprefix("duckdb:")
    try:
        with duckdb.connect(file or ":memory:", read_only=bool(file)) as connection:
            return connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise ParseError(database, None, f"DuckDB says: {_one_line(error)}") from None


def _postgres(database: str, query: str) -> pyarrow.Table:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("psycopg", "postgres", "reading from PostgreSQL") from None
    shown = re.sub(r"//[^@/]*@", "//", database)  # no password in an error
    try:
        with psycopg.connect(database) as connection, connection.cursor() as cursor:
            connection.read_only = True
            cursor.execute(query.encode())
            names = [column.name for column in cursor.description or ()]
            rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        raise ParseError(shown, None, f"PostgreSQL says: {_one_line(error)}") from None
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return arrow().table(
        {name: _column(list(values)) for name, values in zip(names, columns, strict=True)}
    )


def _column(values: list[object]) -> pyarrow.Array:
    pa = arrow()
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
