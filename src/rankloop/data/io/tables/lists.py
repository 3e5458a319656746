"""Columns that hold several categories in a row: read as one column for each place in the list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.argument_names import argument
from rankloop.data.io.tables.sources import TableSource, arrow
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow

    from rankloop.data.io.tables.roles import TableOptions
    from rankloop.features.columns import Features

MOST = 100
"""The longest list of categories."""
_NOTE, _SEPARATOR = b"rankloop.list", b"rankloop.separator"


@dataclass(frozen=True)
class ListColumn:
    """A column of lists, or of texts that a separator divides, with the length of the longest."""

    name: str
    separator: str
    length: int = 0

    @property
    def names(self) -> list[str]:
        """The names of the columns that it becomes."""
        return [f"{self.name} {place + 1}" for place in range(self.length)]

    def divide(self, array: pyarrow.Array) -> pyarrow.Array:
        """Return the values as lists of texts."""
        pa = arrow()
        if not self.separator:
            return array.cast(pa.list_(pa.string()))
        return pa.compute.split_pattern(array.cast(pa.string()), self.separator)

    def place(self, lists: pyarrow.Array, place: int) -> pyarrow.Array:
        """Return the category at one place of each list, without blanks; null behind its end."""
        pa = arrow()
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        starts = np.cumsum(lengths) - lengths  # `flatten` leaves out null lists
        at = pa.array(starts + place, pa.int64(), mask=lengths <= place)
        words = pa.compute.utf8_trim_whitespace(lists.flatten().take(at))
        return pa.compute.if_else(pa.compute.equal(words, ""), None, words)


def list_of(field: pyarrow.Field) -> tuple[str, str]:
    """Return the list that a column is a place of, and its separator; empty if it is none."""
    note = field.metadata or {}
    return note.get(_NOTE, b"").decode(), note.get(_SEPARATOR, b"").decode()


def list_note(name: str, separator: str) -> dict[bytes, bytes]:
    """Return the metadata of a column that is a place of a list; see :func:`list_of`."""
    return {_NOTE: name.encode(), _SEPARATOR: separator.encode()}


def spread_lists(source: TableSource, options: TableOptions) -> tuple[TableSource, TableOptions]:
    """Return a table with a column for each place of its lists of categories, and its options.

    Cost: the columns of lists are read once more, for the length of the longest list.
    """
    found = _list_columns(source, options)
    if not found:
        return source, options
    if options.description is None:
        found = [replace(column, length=_longest(source, column)) for column in found]
    by_name = {column.name: column for column in found}
    pa = arrow()
    fields: list[pyarrow.Field] = []
    for field in source.schema:
        known = by_name.get(field.name)
        if known is None:
            fields.append(field)
        else:
            note = list_note(field.name, known.separator)
            fields += [pa.field(name, pa.string(), metadata=note) for name in known.names]
    origin = {name: (column, k) for column in found for k, name in enumerate(column.names)}
    schema = pa.schema(fields, source.schema.metadata)

    def batches(names: Sequence[str], rows: int) -> Iterator[pyarrow.RecordBatch]:
        real = dict.fromkeys(origin[name][0].name if name in origin else name for name in names)
        for batch in source.batches(tuple(real), rows):
            lists = {n: by_name[n].divide(batch.column(n)) for n in real if n in by_name}
            arrays = []
            for name in names:
                if name in origin:
                    column, k = origin[name]
                    arrays.append(column.place(lists[column.name], k))
                else:
                    arrays.append(batch.column(name))
            yield pa.record_batch(arrays, schema=pa.schema([schema.field(n) for n in names]))

    spread = TableSource(schema, source.n_rows, batches, source.decoding)
    if options.description is not None or options.chosen is None:
        return spread, replace(options, lists=())
    chosen = [
        part
        for name in options.chosen
        for part in (by_name[name].names if name in by_name else [name])
    ]
    return spread, replace(options, features=chosen, lists=())


def _list_columns(source: TableSource, options: TableOptions) -> list[ListColumn]:
    """Find the columns that hold lists of categories: as given, of the model, or by their type."""
    schema, types = source.schema, arrow().types
    if options.description is not None:
        return _of_model(schema, options.description)
    given: dict[str, str] = {}
    for text in options.lists:
        name, equals, separator = text.partition("=")
        if not equals or not separator or name not in schema.names:
            raise DataError(
                f"lists must name a column and its separator, as in 'genres=|'; found {text!r}; "
                f"the columns are {', '.join(schema.names[:20])}"
            )
        given[name] = separator
    aside = {*options.drop, *(name for name in options.roles.values() if name)}
    wanted = set(options.chosen or schema.names) - aside
    return [
        ListColumn(field.name, given.get(field.name, ""))
        for field in schema
        if field.name in wanted
        and (field.name in given or (_is_list(field.type) and _is_text(field.type.value_type)))
        and (field.name not in given or not types.is_list(field.type))
    ]


def _of_model(schema: pyarrow.Schema, features: Features) -> list[ListColumn]:
    """Return the lists of a model that the table has."""
    parts: dict[str, ListColumn] = {}
    for column in features:
        if column.part_of and column.part_of in schema.names:
            known = parts.get(column.part_of, ListColumn(column.part_of, column.separator))
            parts[column.part_of] = replace(known, length=known.length + 1)
    return [
        replace(column, separator="") if _is_list(schema.field(name).type) else column
        for name, column in parts.items()
    ]


def _longest(source: TableSource, column: ListColumn) -> int:
    longest, row = 1, 0
    for batch in source.batches((column.name,), 65_536):
        lengths = column.divide(batch.column(column.name)).value_lengths().fill_null(0)
        values = lengths.to_numpy(zero_copy_only=False)
        if values.max(initial=0) > MOST:
            at = row + int(values.argmax())
            raise DataError(
                f"{column.name!r} of row {at} has {values.max()} categories; at most {MOST} are "
                f"allowed: leave it out with {argument('drop', [column.name])}, or shorten its "
                "lists"
            )
        longest, row = max(longest, int(values.max(initial=0))), row + batch.num_rows
    return longest


def _is_list(kind: pyarrow.DataType) -> bool:
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: pyarrow.DataType) -> bool:
    types = arrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
