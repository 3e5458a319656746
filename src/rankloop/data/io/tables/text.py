"""CSV, TSV and JSON lines, compressed or not, as Arrow tables."""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop._utils.arguments import argument
from rankloop.data.io.decompression import memory_taken
from rankloop.data.io.files import open_input
from rankloop.data.io.tables.csv_lines import check_quotes, lines_of_other_width
from rankloop.data.io.tables.roles import ROLES
from rankloop.data.io.tables.sources import arrow
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    import pyarrow

    from rankloop.data.io.tables.roles import TableOptions

_BLOCK = 2**20
_HEAD = 2**18
_LONGEST_LINE = 2**28
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
        head = _head(io.BytesIO(given))
    else:
        with open_input(name) as stream:
            head = _head(stream)
    header = _header(name, head, options.encoding)
    delimiter = delimiter or max(_DELIMITERS, key=header.count)
    parsing = csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in head)
    missing: dict[str, object] = {
        "strings_can_be_null": True,
        "quoted_strings_can_be_null": False,
        "null_values": [*csv.ConvertOptions().null_values, *options.missing],
    }
    # A block must hold a line, and arrow takes the first one for the names.
    longest = max(map(len, head.split(b"\n")))
    block = max(_BLOCK, 4 * longest)
    reading = csv.ReadOptions(block_size=block, encoding=options.encoding)
    rest = {"read_options": reading, "parse_options": parsing}
    if b'"' in head:
        check_quotes(name, delimiter, options.encoding)
    with _parse_errors(name, _WidthError(name, delimiter, options.encoding)):
        guess = csv.read_csv(
            arrow().py_buffer(_whole_lines(head, options.encoding)),
            read_options=reading,
            parse_options=parsing,
            convert_options=csv.ConvertOptions(**missing),
        )
        _check_names(name, guess.column_names)
        types = _narrow(guess.schema, options)
        try:
            converting = csv.ConvertOptions(**missing, column_types=types)
            table = _read(csv.read_csv, given, convert_options=converting, **rest)
        except arrow().ArrowInvalid:  # a later row has values of another type
            converting = csv.ConvertOptions(**missing)
            table = _read(csv.read_csv, given, convert_options=converting, **rest)
    for field in table.schema:
        if arrow().types.is_binary(field.type) and field.name not in options.drop:
            raise ParseError(
                name,
                None,
                f"column {field.name!r} is not UTF-8 text; {_suggest_encoding(head)}",
            )
    return table


def _head(stream: BinaryIO) -> bytes:
    """Return the beginning of a file, at least its first line."""
    head = stream.read(_HEAD)
    while b"\n" not in head[-_HEAD:] and len(head) < _LONGEST_LINE:
        more = stream.read(_HEAD)
        if not more:
            break
        head += more
    return head


def _whole_lines(head: bytes, encoding: str) -> bytes:
    if "16" in encoding or "32" in encoding:  # where a line ends in several bytes
        width = 2 if "16" in encoding else 4
        text = head[: len(head) // width * width].decode(encoding, "ignore")
        return text[: text.rfind("\n") + 1].encode(encoding) or head
    return head[: head.rfind(b"\n") + 1] or head


def read_json_lines(name: str) -> pyarrow.Table:
    """Read one JSON object per line, or one array of objects."""
    from pyarrow import json

    with open_input(name) as stream:
        head = b"" if name == "-" else stream.read(_HEAD)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        return _with_dates(_read_json_array(name))
    with _parse_errors(name):
        options = json.ReadOptions(block_size=_BLOCK)
        table = _read(json.read_json, name, read_options=options)
    return _with_dates(table)


def _read_json_array(name: str) -> pyarrow.Table:
    import json

    with open_input(name) as stream:
        content = stream.read()
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ParseError(name, None, f"it is not a JSON array: {error}") from None
    if not rows:
        raise ParseError(name, None, "its array is empty; expected one object per document")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ParseError(
            name, None, "its array has values that are no objects; expected one object per document"
        )
    names = dict.fromkeys(key for row in rows for key in row)
    try:
        columns = {key: [row.get(key) for row in rows] for key in names}
        return arrow().table(columns)
    except (arrow().ArrowException, OverflowError, TypeError) as error:
        raise ParseError(name, None, f"a key has values of different types: {error}") from None


def _with_dates(table: pyarrow.Table) -> pyarrow.Table:
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
    return reader(for_arrow(name), **options)


def for_arrow(name: str | bytes) -> Any:
    """Return a file as pyarrow may read it: its path, or its content if it is compressed.

    It never gets a stream of Python. Its threads go on to read ahead after an error, and when the
    program ends in the meantime, their next call into Python aborts the process.
    """
    if isinstance(name, bytes):
        return arrow().BufferReader(name)
    with open_input(name) as stream:
        if name == "-" or memory_taken(stream):
            return arrow().BufferReader(stream.read())
    return name


def _header(name: str, head: bytes, encoding: str) -> str:
    if not head.strip():
        raise ParseError(name, None, "the file is empty; expected a line of column names and rows")
    is_utf_8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    try:
        if "16" in encoding or "32" in encoding:
            return head.decode(encoding, "ignore").split("\n", 1)[0]
        return head.split(b"\n", 1)[0].decode("utf-8-sig" if is_utf_8 else encoding)
    except UnicodeDecodeError:
        raise ParseError(
            name, 1, f"its first line is not {encoding} text; {_suggest_encoding(head)}"
        ) from None
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}; for example: utf-8, latin-1") from None


def _suggest_encoding(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"pass {argument('encoding', 'utf-16')}, which its first bytes show"
    return f"pass {argument('encoding', 'latin-1')}, or what else its encoding is, as cp1252"


def _check_names(file: str, names: list[str]) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise ParseError(
            file,
            1,
            f"two columns are named {twice!r}; rename one, or add a line with the names of the "
            "columns if it has none",
        )
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


@dataclass(frozen=True)
class _WidthError:
    """Says where a row has more or fewer cells than the header, as pyarrow does not."""

    name: str
    delimiter: str
    encoding: str

    def line(self, reason: str) -> int | None:
        """Return the line of the first such row, if that is the reason."""
        if not reason.startswith("Expected ") or self.name == "-":
            return None
        rows = lines_of_other_width(self.name, self.delimiter, self.encoding)
        return next((line for line, _, _ in rows), None)


@contextlib.contextmanager
def _parse_errors(name: str, widths: _WidthError | None = None) -> Iterator[None]:
    """Turn errors of pyarrow into errors that name the file."""
    try:
        yield
    except arrow().ArrowInvalid as error:
        reason = str(error).replace("CSV parse error: ", "").replace("JSON parse error: ", "")
        if "invalid UTF8" in reason or "UTF-8" in reason:
            reason = f"it is not UTF-8 text; {_suggest_encoding(b'')} ({reason.splitlines()[0]})"
        line = None if widths is None else widths.line(reason)
        raise ParseError(name, line, f"cannot read it: {reason.splitlines()[0]}") from None
