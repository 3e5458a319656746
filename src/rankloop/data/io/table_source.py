"""The source of a table, a file or memory, which can be read several times, by columns."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.data.io.files import unreadable
from rankloop.exceptions import (
    DataError,
    MemoryLimitError,
    MissingExtraError,
    ParseError,
    RankloopError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    import pyarrow.parquet

COLUMNS_AT_ONCE = 16
"""To decode a column takes some MB however few rows are read, so that many are read at once."""
_COLUMN_BYTES = 6 * 2**20


@dataclass(frozen=True)
class Source:
    """The schema of a table, its number of rows, and a function that reads some of its columns."""

    schema: pyarrow.Schema
    n_rows: int
    batches: Callable[[Sequence[str], int], Iterator[pyarrow.RecordBatch]]  # columns, rows at most
    decoding: int = 0  # bytes that giving them takes meanwhile


def arrow() -> ModuleType:
    """Return pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "Parquet and Arrow tables") from None
    module: ModuleType = pyarrow
    return module


def in_memory(table: object) -> Source:
    """Take a pyarrow table, or anything that pyarrow can convert to one."""
    pa = arrow()
    try:
        taken = table if isinstance(table, pa.Table) else pa.table(table)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"cannot take a {type(table).__name__} as a table: {error}; give a pyarrow table or a "
            "pandas or polars frame"
        ) from None
    return Source(
        taken.schema,
        taken.num_rows,
        lambda names, rows: iter(taken.select(names).to_batches(max_chunksize=rows)),
    )


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Turn every error with a file into an error that names the file."""
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
        raise ParseError(name, None, str(error)) from None


@contextlib.contextmanager
def in_file(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a Parquet or Arrow file."""
    name = os.fspath(path)
    with naming(name), contextlib.ExitStack() as stack:
        yield open_binary(name, stack)


def open_binary(name: str, stack: contextlib.ExitStack) -> Source:
    """Open a Parquet or Arrow file by its first bytes."""
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


def _parquet(file: pyarrow.parquet.ParquetFile) -> Source:
    def batches(names: Sequence[str], rows: int) -> Iterator[pyarrow.RecordBatch]:
        for group in range(file.num_row_groups):  # one at a time: bounds the memory
            yield from file.iter_batches(rows, row_groups=[group], columns=list(names))

    metadata = file.metadata
    groups = (metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups))
    decoding = min(_COLUMN_BYTES * COLUMNS_AT_ONCE, 2 * max([0, *groups]))
    return Source(file.schema_arrow, metadata.num_rows, batches, decoding)


def _ipc(opened: object) -> Source:
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
    return Source(schema, sum(sizes), batches, 2 * max([0, *sizes]) * _row_bytes(schema))


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
