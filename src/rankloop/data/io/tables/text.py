"""CSV, TSV and JSON lines, compressed or not, as Arrow tables."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import itertools
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankloop._utils.argument_names import argument
from rankloop.data.io.decompression import memory_taken
from rankloop.data.io.files import open_input
from rankloop.data.io.tables.csv_lines import check_quotes
from rankloop.data.io.tables.dates import with_dates
from rankloop.data.io.tables.roles import ROLES
from rankloop.data.io.tables.sources import arrow
from rankloop.data.io.tables.values import is_float
from rankloop.exceptions import DataError, ParseError, RankloopError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

    import pyarrow

    from rankloop.data.io.tables.roles import TableOptions

_BLOCK = 2**20
_HEAD = 2**18
_LONGEST_LINE = 2**28
_DELIMITERS = ",\t;|"
_NULL = re.compile(rb"\n[ \t\r]*null")


@dataclass(frozen=True)
class TextTable:
    """A table read from text; each of its rows has a line.

    line_of : returns the line, counted from 1, of a row counted from 0; None if it is not known
    bad : the lines that were left out, because they have too many or too few fields, and why
    """

    table: pyarrow.Table
    line_of: Callable[[int], int | None]
    bad: list[tuple[int, str]] = field(default_factory=list)


def read_csv(name: str, options: TableOptions, delimiter: str | None = None) -> TextTable:
    """Read a table whose first line has the names; the delimiter is detected in that line.

    Real numbers are read as float32, except ids, grades and weights. Empty fields and the usual
    words (NA, NULL, nan) are missing values, unless they are quoted.
    """
    from pyarrow import csv as reader

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
    ragged: list[Any] = []

    def leave_out(row: Any) -> str:
        ragged.append(row)
        return "skip" if options.skip_bad_rows else "error"

    parsing = reader.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in head)
    # Threads of arrow must not call Python: they go on after an error, and if the program ends in
    # the meantime, the process is aborted. So only a single thread has a handler.
    if options.skip_bad_rows:
        parsing.invalid_row_handler = leave_out
    missing: dict[str, object] = {
        "strings_can_be_null": True,
        "quoted_strings_can_be_null": False,
        "null_values": [*reader.ConvertOptions().null_values, *options.missing],
    }
    # A block must hold a line, and arrow takes the first one for the names.
    longest = max(map(len, head.split(b"\n")))
    block = max(_BLOCK, 4 * longest)
    # With one thread, arrow knows the number of a bad row.
    reading = reader.ReadOptions(
        block_size=block, encoding=options.encoding, use_threads=not options.skip_bad_rows
    )
    rest = {"read_options": reading, "parse_options": parsing}
    line_of = functools.partial(_line_of, given, delimiter, options.encoding)

    def explain() -> ParseError | None:
        """Return what is wrong with the first bad row, if there is one."""
        if options.skip_bad_rows:
            return None
        if not ragged:
            reading.use_threads, parsing.invalid_row_handler = False, leave_out
            with contextlib.suppress(arrow().ArrowInvalid):
                _read(reader.read_csv, given, **rest)
        return ParseError(name, *_ragged(ragged[0], line_of)) if ragged else None

    if b'"' in head:
        check_quotes(name, delimiter, options.encoding)
    with _parse_errors(name, explain):
        guess = reader.read_csv(
            arrow().py_buffer(_whole_lines(head, options.encoding)),
            read_options=reading,
            parse_options=parsing,
            convert_options=reader.ConvertOptions(**missing),
        )
        _check_names(name, guess.column_names)
        ragged.clear()
        types = _narrow(guess.schema, options)
        try:
            converting = reader.ConvertOptions(**missing, column_types=types)
            table = _read(reader.read_csv, given, convert_options=converting, **rest)
        except arrow().ArrowInvalid:  # a later row has values of another type
            if ragged and not options.skip_bad_rows:
                raise
            ragged.clear()
            converting = reader.ConvertOptions(**missing)
            table = _read(reader.read_csv, given, convert_options=converting, **rest)
    for column in table.schema:
        if arrow().types.is_binary(column.type) and column.name not in options.drop:
            raise ParseError(
                name,
                None,
                f"column {column.name!r} is not UTF-8 text; {_suggest_encoding(head)}",
            )
    bad = [row.number - 2 for row in ragged]  # the first is that of names
    lines = _lines_of(bad[:3], line_of)
    found = (f"found {row.actual_columns} fields" for row in ragged)
    return TextTable(table, _past(bad, line_of), list(zip(lines + bad[3:], found, strict=True)))


def _ragged(row: Any, line_of: Callable[[int], int | None]) -> tuple[int | None, str]:
    """Return the line of a row with too many or too few fields, and what is wrong with it."""
    line = None if row.number is None else line_of(row.number - 2)
    return line, (
        f"cannot read it: found {row.actual_columns} fields, expected {row.expected_columns} as in "
        f"the first line: {row.text[:80]!r}; correct the line, or leave it out with "
        f"{argument('skip_bad_rows', True)}"
    )


def _lines_of(rows: Sequence[int], line_of: Callable[[int], int | None]) -> list[int]:
    return [line_of(row) or row for row in rows]


def _past(bad: Sequence[int], line_of: Callable[[int], int | None]) -> Callable[[int], int | None]:
    """Return the line of a row of the table that is left when bad rows are left out."""

    def line(row: int) -> int | None:
        for number in bad:  # of rows in the file, in order
            row += number <= row
        return line_of(row)

    return line


def _line_of(given: str | bytes, delimiter: str, encoding: str, row: int) -> int | None:
    """Return the line where a row of CSV begins; empty lines are none, and quoted ones no end."""
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    with contextlib.ExitStack() as stack:
        raw = io.BytesIO(given) if isinstance(given, bytes) else None
        stream: Any = raw or stack.enter_context(open_input(str(given)))
        with contextlib.suppress(csv.Error, UnicodeError, OSError, RankloopError):
            text = io.StringIO(stream.read().decode(encoding), newline="")
            records, start = csv.reader(text, delimiter=delimiter), 1
            left = row + 1  # the names come first
            for record in records:
                if record:
                    if not left:
                        return start
                    left -= 1
                start = records.line_num + 1
    return None


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


def read_json_lines(name: str) -> TextTable:
    """Read one JSON object per line, or one array of objects."""
    from pyarrow import json

    with open_input(name) as stream:
        head = b"" if name == "-" else stream.read(_HEAD)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        return TextTable(with_dates(_read_json_array(name)), lambda _: None)
    with _parse_errors(name):
        options = json.ReadOptions(block_size=_BLOCK)
        source = for_arrow(name)
        _refuse_nulls(name, source)
        table = json.read_json(source, read_options=options)
    return TextTable(with_dates(table), functools.partial(_line_of_object, name))


def _refuse_nulls(name: str, source: Any) -> None:
    """Raise if a line is null: pyarrow ends the process where a block begins with one."""
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(open_input(name)) if isinstance(source, str) else source
        text, lines = b"\n", 0  # the last line so far, and the ends of lines before it
        while block := stream.read(_BLOCK):
            text += block
            found = _NULL.search(text)
            if found:
                line = lines + text.count(b"\n", 0, found.end())
                raise ParseError(name, line, "the line is null; expected an object per line")
            last = text.rfind(b"\n")
            lines += text.count(b"\n", 0, last)
            text = text[last:]
        if not isinstance(source, str):
            source.seek(0)


def _line_of_object(name: str, row: int) -> int | None:
    """Return the line of a row of JSON lines; empty lines are none."""
    if name == "-":
        return None
    with open_input(name) as stream:
        filled = (k for k, line in enumerate(stream.read().splitlines(), 1) if line.strip())
        return next(itertools.islice(filled, row, None), None)


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
    if all(map(is_float, names)):
        raise DataError(
            f"the first line holds numbers ({', '.join(names[:3])}, ...); expected the names of "
            "the columns: add a line with them"
        )


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
def _parse_errors(
    name: str, explain: Callable[[], ParseError | None] = lambda: None
) -> Iterator[None]:
    """Turn errors of pyarrow into errors that name the file; `explain` may know more."""
    try:
        yield
    except arrow().ArrowInvalid as error:
        known = explain()
        if known is not None:
            raise known from None
        reason = str(error).replace("CSV parse error: ", "").replace("JSON parse error: ", "")
        if "invalid UTF8" in reason or "UTF-8" in reason:
            reason = f"it is not UTF-8 text; {_suggest_encoding(b'')} ({reason.splitlines()[0]})"
        raise ParseError(name, None, f"cannot read it: {reason.splitlines()[0]}") from None
