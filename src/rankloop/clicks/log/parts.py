"""The files of a click table as one Arrow table, whose rows know their file and line."""

from __future__ import annotations

import contextlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.argument_names import argument
from rankloop.data.io.files import open_input
from rankloop.data.io.format_names import decide_table_format
from rankloop.data.io.locations import data_files, local_copies
from rankloop.data.io.tables.csv_lines import (
    check_quotes,
    csv_lines,
    lines_of_other_width,
)
from rankloop.data.io.tables.sources import arrow, in_file, naming
from rankloop.data.io.tables.text import for_arrow
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import pyarrow

    Lines = Callable[[int], int | None]

_DELIMITERS = ",\t;|"


@dataclass(frozen=True, eq=False)
class ClickRows:
    """All rows of some files.

    table : the rows, file after file
    names : the files; one that is empty stands for a table in memory
    starts : the first row of each file
    lines : for each file, the line of its k-th row, or None if its format has no lines
    bad : what was left out, as errors that name the place
    """

    table: pyarrow.Table
    names: tuple[str, ...] = ("",)
    starts: tuple[int, ...] = (0,)
    lines: tuple[Lines, ...] = (lambda _: None,)
    bad: tuple[str, ...] = ()

    def error(self, row: int, reason: str) -> DataError:
        """Return an error that names the place of a row."""
        part = int(np.searchsorted(self.starts, row, side="right")) - 1
        name, k = self.names[part], row - self.starts[part]
        line = self.lines[part](k)
        if not name:
            return DataError(f"row {k} {reason}")
        return ParseError(name, line, f"row {k} {reason}" if line is None else f"it {reason}")


def read_rows(
    paths: Sequence[str | os.PathLike[str]], encoding: str = "utf-8", skip_bad_rows: bool = False
) -> ClickRows:
    """Read the files of a table: CSV, TSV, JSON lines, Parquet or Arrow, all with the same columns.

    paths : files, folders or patterns
    skip_bad_rows : whether lines that cannot be read are left out
    """
    files = [file for path in paths for file in data_files(path)]
    if not files:
        raise DataError("name at least one file of clicks")
    tables, lines, bad = [], [], []
    with local_copies(files) as places:
        for name in places:
            table, line, left = _read(name, encoding, skip_bad_rows)
            tables.append(table)
            lines.append(line)
            bad += left
    sizes = [table.num_rows for table in tables]
    starts = tuple(itertools.accumulate(sizes[:-1], initial=0))
    return ClickRows(_concat(tables, files), tuple(files), starts, tuple(lines), tuple(bad))


def _read(name: str, encoding: str, skip: bool) -> tuple[pyarrow.Table, Lines, list[str]]:
    kind = decide_table_format(name)
    if kind == "jsonl":
        return _read_json(name, skip)
    if kind in ("csv", "tsv"):
        return _read_csv(name, "\t" if kind == "tsv" else "", encoding, skip)
    with in_file(name) as source:
        batches = list(source.batches(source.schema.names, 1 << 20))
        return arrow().Table.from_batches(batches, source.schema), lambda _: None, []


def _read_csv(
    name: str, delimiter: str, encoding: str, skip: bool
) -> tuple[pyarrow.Table, Lines, list[str]]:
    arrow()
    from pyarrow import csv

    with open_input(name) as stream:
        head = stream.read(1 << 18)
    with naming(name):
        header = head.split(b"\n", 1)[0].decode(encoding, "replace")
    if not head.strip():
        raise ParseError(name, None, "the file is empty; expected a line of column names and rows")
    delimiter = delimiter or max(_DELIMITERS, key=header.count)
    several = b'"' in head

    if several:
        check_quotes(name, delimiter, encoding)
    bad: list[str] = []

    def leave_out(row: Any) -> str:
        bad.append(f"it has {row.actual_columns} columns, expected {row.expected_columns}")
        return "skip"

    # Threads of arrow must not call Python: they go on after an error, and if the program ends in
    # the meantime, the process is aborted. So there is one thread where rows are left out.
    handler = {"invalid_row_handler": leave_out} if skip else {}
    try:
        table = csv.read_csv(
            for_arrow(name),
            read_options=csv.ReadOptions(encoding=encoding, use_threads=not skip),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=several, **handler
            ),
        )
    except arrow().ArrowInvalid as error:
        reason = _reason(str(error))
        if reason.startswith("Expected "):
            for line, cells, width in lines_of_other_width(name, delimiter, encoding):
                way = argument("skip_bad_rows", True)
                found = f"it has {cells} columns, expected {width}; correct it, or pass {way}"
                raise ParseError(name, line, found) from None
        raise ParseError(name, None, f"cannot read it: {reason}") from None
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}; for example: utf-8, latin-1") from None

    for field in table.schema:
        if arrow().types.is_binary(field.type):
            raise ParseError(
                name,
                None,
                f"column {field.name!r} is not UTF-8 text; pass {argument('encoding', 'latin-1')} "
                "or another",
            )

    def line_of(row: int) -> int | None:
        every = csv_lines(name, delimiter, encoding)
        rows = (number for number, words in every if len(words) == table.num_columns)
        return next(itertools.islice(rows, row + 1, None), None)  # the first is the header

    if bad:
        places = lines_of_other_width(name, delimiter, encoding)
        bad = [
            str(ParseError(name, place[0], reason))
            for place, reason in zip(places, bad, strict=False)
        ]
    return table, line_of, bad


def _reason(text: str) -> str:
    first = text.removeprefix("CSV parse error: ").splitlines()[0]
    if "UTF8" in first:
        return f"it is not UTF-8 text; pass {argument('encoding', 'latin-1')} or another ({first})"
    return first


def _read_json(name: str, skip: bool) -> tuple[pyarrow.Table, Lines, list[str]]:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    bad: list[str] = []
    with open_input(name) as stream:
        if stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
            return _read_array(name)
    with open_input(name) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                rows.append(_object(line))
                numbers.append(number)
            except (ValueError, RecursionError) as error:
                problem = ParseError(name, number, f"it is not a JSON object: {error}")
                if not skip:
                    raise problem from None
                bad.append(str(problem))
    return _table(rows), lambda k: numbers[k], bad


def _read_array(name: str) -> tuple[pyarrow.Table, Lines, list[str]]:
    with open_input(name) as stream:
        try:
            rows = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise ParseError(name, None, f"it is not a JSON array: {error}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise ParseError(name, None, "its array has values that are no objects")
    return _table(rows), lambda _: None, []


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError(f"found {str(value)[:60]!r}")  # noqa: TRY004 - as of the parser
    return value


def _table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    names = dict.fromkeys(key for row in rows for key in row)
    return arrow().table({key: _array([row.get(key) for row in rows]) for key in names})


def _array(values: list[Any]) -> pyarrow.Array:
    pa = arrow()
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):  # numbers beside texts
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _concat(tables: list[pyarrow.Table], names: Sequence[str]) -> pyarrow.Table:
    pa = arrow()
    present = tables[0].column_names
    for table, name in zip(tables, names, strict=True):
        lacking = [column for column in present if column not in table.column_names]
        if lacking:
            raise ParseError(
                name,
                None,
                f"it lacks the column {lacking[0]!r} of {names[0]}; the files of one log must have "
                "the same columns: read this file separately",
            )
    tables = [table.select(present).replace_schema_metadata() for table in tables]
    for column in present:
        types = {table.schema.field(column).type for table in tables}
        if len(types) > 1 and pa.string() in types:  # an id that is a number in some files
            tables = [_as_text(table, column) for table in tables]
    with naming(names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"):
        return pa.concat_tables(tables, promote_options="permissive")


def _as_text(table: pyarrow.Table, column: str) -> pyarrow.Table:
    pa = arrow()
    place = table.column_names.index(column)
    with contextlib.suppress(pa.ArrowException):
        return table.set_column(place, column, table.column(column).cast(pa.string()))
    return table
