"""What a table is read from, more than once and some columns at a time: a file, or memory."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.exceptions import DataError, MissingExtraError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Source:
    """A table's schema, its number of rows, and record batches of the columns asked for."""

    schema: Any
    n_rows: int
    batches: Callable[[Sequence[str], int], Iterator[Any]]  # columns, rows at most


def arrow() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "Parquet and Arrow tables") from None
    return pyarrow


def in_memory(table: Any) -> Source:
    """Take a pyarrow table, or whatever pyarrow can make one of."""
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
def in_file(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a file by its first bytes; errors name it."""
    pa, name = arrow(), os.fspath(path)
    try:
        with contextlib.ExitStack() as stack:
            yield _open(name, stack)
    except (OSError, pa.ArrowException) as error:
        what = getattr(error, "strerror", None) or error
        raise ParseError(name, None, f"cannot read it: {what}") from None
    except DataError as error:
        if type(error) is not DataError:
            raise
        raise ParseError(name, None, str(error)) from None


def _open(name: str, stack: contextlib.ExitStack) -> Source:
    with Path(name).open("rb") as file:
        head = file.read(6)
    if head[:4] == b"PAR1":
        import pyarrow.parquet as pq

        return _parquet(stack.enter_context(pq.ParquetFile(name, pre_buffer=False)))
    if head == b"ARROW1":
        return _ipc(stack.enter_context(arrow().memory_map(name)))
    raise DataError(
        f"it starts with {head!r}; expected a Parquet file (PAR1) or an Arrow file (ARROW1): "
        "convert it, or use the reader of its format"
    )


def _parquet(file: Any) -> Source:
    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        for group in range(file.num_row_groups):  # one at a time: bounds the memory
            yield from file.iter_batches(rows, row_groups=[group], columns=list(names))

    return Source(file.schema_arrow, file.metadata.num_rows, batches)


def _ipc(mapped: Any) -> Source:
    import pyarrow as pa
    import pyarrow.dataset as ds

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        fields = [schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        reader = pa.ipc.open_file(mapped, options=options)
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)

    schema = pa.ipc.open_file(mapped).schema
    n_rows = ds.IpcFileFormat().make_fragment(mapped).count_rows()  # from the batches' headers
    return Source(schema, n_rows, batches)
