"""Sources of tables, files or memory, which can be read several times, some columns at a time."""

from __future__ import annotations

import contextlib
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop._utils.argument_names import argument
from rankloop._utils.arguments import as_list, path_text
from rankloop.data.io.files import unreadable
from rankloop.data.io.format_names import decide_table_format
from rankloop.data.validation import column_names
from rankloop.exceptions import (
    DataError,
    MemoryLimitError,
    MissingExtraError,
    MissingValuesWarning,
    ParseError,
    RankloopError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    import pyarrow.parquet

    from rankloop.data.io.tables.roles import TableOptions
    from rankloop.data.io.tables.text import TextTable

COLUMNS_AT_ONCE = 16
"""To decode a column takes some MB however few rows are read, so that many are read at once."""
_COLUMN_BYTES = 6 * 2**20


@dataclass(frozen=True)
class TableSource:
    """The schema of a table, its number of rows, and a function that reads some of its columns."""

    schema: pyarrow.Schema
    n_rows: int
    batches: Callable[[Sequence[str], int], Iterator[pyarrow.RecordBatch]]  # columns, rows at most
    decoding: int = 0  # bytes that giving them takes meanwhile
    table: Any = None  # the table, if it is in memory
    line_of: Callable[[int], int | None] | None = None  # of a row, in a file of text


def arrow() -> ModuleType:
    """Return pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "Parquet and Arrow tables") from None
    module: ModuleType = pyarrow
    return module


def in_memory(table: object) -> TableSource:
    """Take a pyarrow table, or anything that pyarrow can convert to one."""
    pa = arrow()
    try:
        taken = table if isinstance(table, pa.Table) else pa.table(table)
    except (AttributeError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"cannot take a {type(table).__name__} as a table: {error}; give a pyarrow table or a "
            "pandas or polars frame"
        ) from None
    return TableSource(
        taken.schema,
        taken.num_rows,
        lambda names, rows: iter(taken.select(names).to_batches(max_chunksize=rows)),
        table=taken,
    )


@contextlib.contextmanager
def naming(name: str, line_of: Callable[[int], int | None] | None = None) -> Iterator[None]:
    """Turn every error with a file into an error that names the file, and the line of a row."""
    pa = arrow()
    try:
        yield
    except MemoryError as error:  # pyarrow's own is one too
        if isinstance(error, RankloopError):
            raise
        raise MemoryLimitError(
            f"{name}: there is not enough memory to read it, or it is damaged ({error})"
        ) from None
    except (OSError, UnicodeError, OverflowError, pa.ArrowException) as error:
        raise unreadable(name, error) from None
    except DataError as error:
        if type(error) is not DataError:
            raise
        line = None if error.row is None or line_of is None else line_of(error.row)
        raise ParseError(name, line, str(error)) from None


@contextlib.contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[TableSource]:
    """Open a Parquet or Arrow file."""
    name = os.fspath(path)
    with naming(name), contextlib.ExitStack() as stack:
        yield open_binary(name, stack)


@contextlib.contextmanager
def in_files(
    paths: Sequence[str | os.PathLike[str]],
    formats: str | Sequence[str] | None,
    options: TableOptions,
) -> Iterator[TableSource]:
    """Open the files of one table; their formats are given, or one for all, or are detected here.

    Readers that have already detected the formats pass them on, because each detection opens the
    file and reads its beginning.
    """
    if not paths:
        raise DataError("name at least one file to read")
    names = [path_text(path) for path in paths]
    if formats is not None and not isinstance(formats, str):
        formats = as_list("format", formats, "the name of a format, or one for each file")
        if len(formats) != len(names):
            raise DataError(f"format has {len(formats)} values for {len(names)} files")
    with contextlib.ExitStack() as stack:
        sources = []
        for i, name in enumerate(names):
            with naming(name):
                given = formats if formats is None or isinstance(formats, str) else formats[i]
                decided = decide_table_format(name, given)
                sources.append(_open(name, decided, options, stack))
        if len(names) == 1:
            with naming(names[0], sources[0].line_of):
                yield sources[0]
            return
        with naming(f"{names[0]} and {len(names) - 1} more"):
            yield _chain(names, sources, options)


def _open(
    name: str, format: str, options: TableOptions, stack: contextlib.ExitStack
) -> TableSource:
    if format in ("csv", "tsv"):
        from rankloop.data.io.tables.text import read_csv

        text = read_csv(name, options, "\t" if format == "tsv" else None)
        return _from_text(name, text, options)
    if format == "jsonl":
        from rankloop.data.io.tables.text import read_json_lines

        return _from_text(name, read_json_lines(name), options)
    if options.skip_bad_rows:
        raise DataError(
            f"{argument('skip_bad_rows')} is for text, but this is {format}: leave the rows out "
            "when you write it, or in the query"
        )
    if format == "sql":
        from rankloop.data.io.tables.databases import run_query

        return _with_numbers(run_query(name), options, typed=True)
    return open_binary(name, stack)


def _from_text(name: str, text: TextTable, options: TableOptions) -> TableSource:
    """Return text as a source, without its bad rows if the caller says so."""
    from rankloop.data.io.tables.bad_rows import warn_of_bad_rows, without_bad_rows

    table, bad = text.table, text.bad
    if options.skip_bad_rows:
        table, more = without_bad_rows(table, options, text.line_of)
        warn_of_bad_rows(name, sorted(bad + more), table.num_rows)
    with naming(name, text.line_of):
        source = _with_numbers(table, options)
    return source if options.skip_bad_rows else replace(source, line_of=text.line_of)


def _with_numbers(table: pyarrow.Table, options: TableOptions, typed: bool = False) -> TableSource:
    from rankloop.data.io.tables.numerals import read_numbers

    cleaned, notes = read_numbers(table, options, typed)
    for note in notes:
        warnings.warn(note, MissingValuesWarning, stacklevel=2)
    return in_memory(cleaned)


def in_frame(table: object, options: TableOptions) -> TableSource:
    """Take a table in memory, with numbers and dates in its columns of text that hold them."""
    from rankloop.data.io.tables.dates import with_dates
    from rankloop.data.io.tables.mixed import separate

    ids = options.id_columns(column_names(table) or ())
    taken = in_memory(separate(table, ids)).table
    known = options.description or ()
    words = {column.name for column in known if column.kind == "category"}
    words |= {*options.category, *options.id_columns(taken.column_names)}
    return _with_numbers(with_dates(taken, words), options, typed=True)


def _chain(names: list[str], sources: list[TableSource], options: TableOptions) -> TableSource:
    """Return files as one source; their columns may be in any order."""
    pa = arrow()
    first = sources[0].schema
    sources = [_with_ids_as_text(source, sources, options) for source in sources]
    for name, source in zip(names, sources, strict=True):
        differ = set(first.names) ^ set(source.schema.names)
        if differ:
            lacks = sorted(differ - set(source.schema.names))
            difference = f"lacks {lacks[0]!r}" if lacks else f"also has {min(differ)!r}"
            raise ParseError(
                name,
                None,
                f"it {difference}, unlike {names[0]}; the files of one table must have the same "
                "columns: read this file separately",
            )
    try:
        schemas = [source.schema.remove_metadata() for source in sources]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise DataError(f"a column has different types in different files: {error}") from None

    def batches(columns: Sequence[str], rows: int) -> Iterator[pyarrow.RecordBatch]:
        wanted = pa.schema([schema.field(name) for name in columns])
        for source in sources:
            for batch in source.batches(columns, rows):
                yield batch.select(list(columns)).cast(wanted)

    decoding = max(source.decoding for source in sources)
    schema = schema.with_metadata(first.metadata)
    return TableSource(schema, sum(source.n_rows for source in sources), batches, decoding)


def _with_ids_as_text(
    source: TableSource, sources: list[TableSource], options: TableOptions
) -> TableSource:
    """Return a source with ids as text where another file of the table has them as text."""
    pa = arrow()

    def is_text(kind: pyarrow.DataType) -> bool:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return kind in (pa.string(), pa.large_string(), pa.string_view())

    names = [
        name
        for name in sorted(options.id_columns(source.schema.names) & {*source.schema.names})
        if pa.types.is_integer(source.schema.field(name).type)
        and any(
            name in other.schema.names and is_text(other.schema.field(name).type)
            for other in sources
        )
    ]
    if not names:
        return source
    schema = source.schema
    for name in names:
        field = pa.field(name, pa.string())
        schema = schema.set(schema.get_field_index(name), field)

    def batches(columns: Sequence[str], rows: int) -> Iterator[pyarrow.RecordBatch]:
        wanted = pa.schema([schema.field(name) for name in columns])
        for batch in source.batches(columns, rows):
            yield batch.select(list(columns)).cast(wanted)

    return replace(source, schema=schema, batches=batches, table=None)


def open_binary(name: str, stack: contextlib.ExitStack) -> TableSource:
    """Open a Parquet or Arrow file; its first bytes decide, even if the caller named a format."""
    try:
        with Path(name).open("rb") as file:
            head = file.read(6)
    except ValueError as error:  # a NUL in the name
        raise unreadable(name, error) from None
    if head[:4] == b"PAR1":
        import pyarrow.parquet as pq

        # Buffered, a column is read page by page; else as a whole, row group by row group.
        options = {"pre_buffer": False, "buffer_size": 2**16, "page_checksum_verification": True}
        return _parquet(stack.enter_context(pq.ParquetFile(name, **options)))
    if head == b"ARROW1":
        return _ipc(stack.enter_context(arrow().OSFile(name)))
    raise DataError(
        f"it starts with {head!r}; expected a Parquet file (PAR1) or an Arrow file (ARROW1): "
        "convert it, or use the reader of its format"
    )


def _parquet(file: pyarrow.parquet.ParquetFile) -> TableSource:
    def batches(names: Sequence[str], rows: int) -> Iterator[pyarrow.RecordBatch]:
        for group in range(file.num_row_groups):  # one at a time: bounds the memory
            yield from file.iter_batches(rows, row_groups=[group], columns=list(names))

    metadata = file.metadata
    groups = (metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups))
    decoding = min(_COLUMN_BYTES * COLUMNS_AT_ONCE, 2 * max([0, *groups]))
    return TableSource(file.schema_arrow, metadata.num_rows, batches, decoding)


def _ipc(opened: object) -> TableSource:
    import pyarrow as pa

    def whole_batches(fields: list[int]) -> Iterator[pyarrow.RecordBatch]:
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        reader = pa.ipc.open_file(opened, options=options)
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            batch.validate(full=True)  # its offsets and indices are used as they stand
            yield batch

    def batches(names: Sequence[str], rows: int) -> Iterator[pyarrow.RecordBatch]:
        for batch in whole_batches([schema.get_field_index(name) for name in names]):
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)

    schema = pa.ipc.open_file(opened).schema
    sizes = [batch.num_rows for batch in whole_batches([0] if schema.names else [])]
    return TableSource(schema, sum(sizes), batches, 2 * max([0, *sizes]) * _row_bytes(schema))


def _row_bytes(schema: pyarrow.Schema) -> int:
    """Return the approximate size of a row; a text counts as a pointer and some bytes."""
    total = 0
    for kind in schema.types:
        width = getattr(kind, "list_size", 1) if hasattr(kind, "value_type") else 1
        inner = getattr(kind, "value_type", kind)
        try:
            total += width * max(inner.bit_width // 8, 1)
        except ValueError:  # texts have no width
            total += 24 * width
    return total
