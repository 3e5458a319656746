"""Several files of a table as one source; every error names the file."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from rankloop.data.io.format_names import is_sql, table_format
from rankloop.data.io.table_source import Source, arrow, in_memory, naming, open_binary
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow

    from rankloop.data.io.table_columns import TableOptions


@contextlib.contextmanager
def in_files(
    paths: Sequence[str | os.PathLike[str]], format: str | None, options: TableOptions
) -> Iterator[Source]:
    """Open the files of one table."""
    if not paths:
        raise DataError("name at least one file to read")
    names = [os.fspath(path) for path in paths]
    with contextlib.ExitStack() as stack:
        sources = []
        for name in names:
            with naming(name):
                sources.append(_opened(name, format, options, stack))
        with naming(names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"):
            yield sources[0] if len(sources) == 1 else _chained(names, sources)


def _opened(
    name: str, format: str | None, options: TableOptions, stack: contextlib.ExitStack
) -> Source:
    known = "sql" if is_sql(name) else format or table_format(name)
    if known in ("csv", "tsv"):
        from rankloop.data.io.table_text import read_csv

        return in_memory(read_csv(name, options, "\t" if known == "tsv" else None))
    if known == "jsonl":
        from rankloop.data.io.table_text import read_json_lines

        return in_memory(read_json_lines(name))
    if known == "sql":
        from rankloop.data.io.table_sql import run_query

        return in_memory(run_query(name))
    return open_binary(name, stack)


def _chained(names: list[str], sources: list[Source]) -> Source:
    """Return files as one source; their columns may be in any order."""
    pa = arrow()
    first = sources[0].schema
    for name, source in zip(names, sources, strict=True):
        differ = set(first.names) ^ set(source.schema.names)
        if differ:
            lacks = sorted(differ - set(source.schema.names))
            told = f"lacks {lacks[0]!r}" if lacks else f"also has {min(differ)!r}"
            raise ParseError(
                name,
                None,
                f"it {told}, unlike {names[0]}; the files of one table must have the same "
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
    kept = schema.with_metadata(first.metadata)
    return Source(kept, sum(source.n_rows for source in sources), batches, decoding)
