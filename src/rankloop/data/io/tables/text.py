"""CSV, TSV and JSON lines, compressed or not, as Arrow tables."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from rankloop.data.io.decompression import memory_taken
from rankloop.data.io.files import open_input
from rankloop.data.io.tables.columns import ROLES
from rankloop.data.io.tables.sources import arrow
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow

    from rankloop.data.io.tables.columns import TableOptions

_BLOCK = 2**20
_HEAD = 2**18
_DELIMITERS = ",\t;|"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def read_csv(name: str, options: TableOptions, delimiter: str | None = None) -> pyarrow.Table:
    """Read a table whose first line has the names; the delimiter is detected in that line.

    Real numbers are read as float32, except ids, grades and weights. Empty fields and the usual
    words (NA, NULL, nan) are missing values, unless they are quoted.
    """
    from pyarrow import csv

    given: str | bytes = name
    if name == "-":  # which can be read only once
        with open_input(name) as stream:
            given = stream.read()
        head = given[:_HEAD]
    else:
        with open_input(name) as stream:
            head = stream.read(_HEAD)
    header = _header(name, head)
    delimiter = delimiter or max(_DELIMITERS, key=header.count)
    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in head)
    missing: dict[str, object] = {"strings_can_be_null": True, "quoted_strings_can_be_null": False}
    rest = {"read_options": csv.ReadOptions(block_size=_BLOCK), "parse_options": parsing}
    with _parse_errors(name):
        guess = csv.read_csv(
            arrow().py_buffer(head[: head.rfind(b"\n") + 1] or head),
            parse_options=parsing,
            convert_options=csv.ConvertOptions(**missing),
        )
        _check_names(guess.column_names)
        types = _narrow(guess.schema, options)
        try:
            converting = csv.ConvertOptions(**missing, column_types=types)
            return _read(csv.read_csv, given, convert_options=converting, **rest)
        except arrow().ArrowInvalid:  # a later row has values of another type
            converting = csv.ConvertOptions(**missing)
            return _read(csv.read_csv, given, convert_options=converting, **rest)


def read_json_lines(name: str) -> pyarrow.Table:
    """Read one JSON object per line."""
    from pyarrow import json

    with _parse_errors(name):
        options = json.ReadOptions(block_size=_BLOCK)
        table = _read(json.read_json, name, read_options=options)
    for j, column in enumerate(table.columns):
        dates = _dates(column)
        if dates is not None:
            table = table.set_column(j, table.column_names[j], dates)
    return table


def _dates(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray | None:
    """Return a column of text as dates, if every value is a date in the form of ISO 8601."""
    pa = arrow()
    if column.type != pa.string():
        return None
    first = next((word for word in column.to_pylist() if word is not None), "")
    if _DATE.match(first) is None:
        return None
    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None


def _read(
    reader: Callable[..., pyarrow.Table], name: str | bytes, **options: object
) -> pyarrow.Table:
    """Call a reader of pyarrow, which reads uncompressed files by itself."""
    if isinstance(name, bytes):
        return reader(arrow().BufferReader(name), **options)
    with open_input(name) as stream:
        if name == "-" or memory_taken(stream):
            return reader(stream, **options)
    return reader(name, **options)


def _header(name: str, head: bytes) -> str:
    if not head.strip():
        raise ParseError(name, None, "the file is empty; expected a line of column names and rows")
    try:
        return head.split(b"\n", 1)[0].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParseError(
            name, 1, "its first line is not UTF-8 text; expected the names of columns"
        ) from None


def _check_names(names: list[str]) -> None:
    if all(_is_number(name) for name in names):
        raise DataError(
            f"the first line holds numbers ({', '.join(names[:3])}, ...); expected the names of "
            "the columns: add a line with them"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _narrow(schema: pyarrow.Schema, options: TableOptions) -> dict[str, object]:
    """Return the types for reading columns: float32 for those that look like features."""
    pa = arrow()
    usual = {name for names in ROLES.values() for name in names}
    own_type = {*options.roles.values(), *options.category}
    return {
        field.name: pa.float32() if field.type == pa.float64() else field.type
        for field in schema
        if field.name not in own_type
        and field.name.lower() not in usual
        and field.type not in (pa.null(), pa.int64())
    }


@contextlib.contextmanager
def _parse_errors(name: str) -> Iterator[None]:
    """Turn errors of pyarrow into errors that name the file."""
    try:
        yield
    except arrow().ArrowInvalid as error:
        reason = str(error).replace("CSV parse error: ", "").replace("JSON parse error: ", "")
        raise ParseError(name, None, f"cannot read it: {reason.splitlines()[0]}") from None
