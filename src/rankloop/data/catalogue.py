"""Read a catalogue: a table with a row for each item or user, or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import os
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

from rankloop._utils.argument_names import argument
from rankloop.data.io.files import bare_suffix, open_input
from rankloop.exceptions import DataError, MissingExtraError, ParseError
from rankloop.features.field_texts import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rankloop.features.fields import Field

    Row = tuple[str, dict[str, Any]]

IDS = ("id", "item_id", "item", "product_id", "doc_id", "object_id", "sku", "asin", "user_id")
"""Names of the column of ids, in the order in which they are looked for."""


def read_catalogue(
    path: str | os.PathLike[str],
    fields: Mapping[str, Field] | None = None,
    id: str | None = None,  # noqa: A002
    notice: Callable[[str], object] | None = None,
) -> Iterator[Row]:
    r"""Yield the id of each item and its fields; values are not checked yet.

    Parameters
    ----------
    path : Parquet, CSV, TSV or JSON lines, which may be compressed; in JSON lines, fields are those
        of a row, or under `fields`
    fields : by name; other columns are left out, and texts of tables become values of their types:
        `yes`, `3.5`, `Drama|War`, `[0.1, 0.2]`. Without them, all values are given as they are
    id : the column of the ids; by default, the first of :data:`IDS` that there is
    notice : called with a line about columns that are left out

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "items.csv"
    >>> _ = path.write_text("id,price,genres\na,3.5,Drama|War\nb,,\n")
    >>> from rankloop.features.fields import Field
    >>> known = {"price": Field("price", "number"), "genres": Field("genres", "categories")}
    >>> list(read_catalogue(path, known))
    [('a', {'price': 3.5, 'genres': ['Drama', 'War']}), ('b', {'price': None, 'genres': None})]
    """
    name, suffix = os.fspath(path), bare_suffix(path)
    if suffix in (".parquet", ".pq"):
        rows = _parquet_rows(name)
    elif suffix in (".csv", ".tsv", ".txt"):
        rows = _text_rows(name, "\t" if suffix == ".tsv" else ",")
    else:
        rows = _json_rows(name)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{name}: there are no items in it")
    key = id or next((known for known in IDS if known in first[1]), None)
    if key is None or key not in first[1]:
        raise DataError(
            f"{name}: there is no column {id or 'id'!r}; name the column of the ids with "
            f"{argument('item_id', '...')}; the columns are {', '.join(map(str, first[1]))}"
        )
    if fields is not None and notice is not None:
        left = [column for column in first[1] if column != key and column not in fields]
        if left:
            notice(f"{name}: left out: {', '.join(left)}; the settings define no such fields")
    for place, row in chain([first], rows):
        yield _read_row(name, place, row, key, fields)


def _read_row(
    name: str, place: int, row: dict[str, Any], key: str, fields: Mapping[str, Field] | None
) -> Row:
    found = row.pop(key, None)
    if found is None or found == "":
        raise ParseError(name, place, f"it has no {key}")
    if fields is not None:
        row = {
            field: read_text(fields[field], value) if isinstance(value, str) else value
            for field, value in row.items()
            if field in fields
        }
    return str(found), row


def _parquet_rows(name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "a Parquet catalogue") from None
    number = 0
    try:
        with pq.ParquetFile(name) as file:
            for batch in file.iter_batches(10_000):
                columns = {
                    column: [_plain(value) for value in batch.column(column).to_pylist()]
                    for column in batch.schema.names
                }
                for values in zip(*columns.values(), strict=True):
                    number += 1
                    yield number, dict(zip(columns, values, strict=True))
    except (OSError, pa.ArrowException) as error:
        raise ParseError(name, None, f"cannot be read as Parquet: {error}") from None


def _text_rows(name: str, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    with open_input(name) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", newline="")
        reader = csv.reader(text, delimiter=delimiter)
        try:
            head = next(reader, [])
            for row in reader:
                if not row:
                    continue
                if len(row) != len(head):
                    raise ParseError(
                        name,
                        reader.line_num,
                        f"found {len(row)} columns, expected {len(head)} as in the first line",
                    )
                values = (value.strip() or None for value in row)
                yield reader.line_num, dict(zip(head, values, strict=True))
        except (csv.Error, UnicodeDecodeError) as error:
            raise ParseError(name, reader.line_num, f"cannot be read as CSV: {error}") from None
        finally:
            text.detach()


def _json_rows(name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    with open_input(name) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ParseError(name, number, f"it is not JSON: {error}") from None
            for row in found if isinstance(found, list) else [found]:
                if not isinstance(row, dict):
                    raise ParseError(name, number, f"found {str(row)[:60]!r}, expected an object")
                yield number, _flat(row)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its fields beside its id."""
    fields = row.get("fields")
    if isinstance(fields, dict):
        return {**_ids(row), **fields}
    if isinstance(fields, list):  # an event of Metarank
        named: Iterable[Any] = (field for field in fields if isinstance(field, dict))
        key = row.get("item") or row.get("user") or row.get("id")
        return {"id": key, **{str(f["name"]): f.get("value") for f in named if "name" in f}}
    return row


def _ids(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in IDS if name in row}


def _plain(value: Any) -> Any:
    """Return a value of a table as JSON has it."""
    if isinstance(value, float):
        return value if value == value else None
    if isinstance(value, datetime | date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
