"""Tables in files, databases and memory: Parquet, Arrow, CSV, JSON lines, SQL, pandas, polars.

A table has one row per document, in any query order. Its features are either *wide*, one column
each, or one *list* column. What `write_table` writes to Parquet or Arrow, `read_table` reads back
exactly.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rankloop.data.dataset import QueryDataset
from rankloop.data.io.files import bare_suffix
from rankloop.data.io.table_build import build, whole_queries
from rankloop.data.io.table_columns import TableOptions, resolve
from rankloop.data.io.table_files import in_files
from rankloop.data.io.table_source import arrow, in_memory
from rankloop.data.io.table_write import (
    Layout,
    how_they_differ,
    record_batches,
    table_schema,
    table_writer,
)
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow

    from rankloop.data.io.table_source import Source

PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
TEXT_SUFFIXES = (".csv", ".tsv")


def read_table(
    *paths: str | os.PathLike[str],
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
    format: str | None = None,
    **options: object,
) -> QueryDataset:
    """Read a table: Parquet, Arrow (IPC, Feather 2), CSV, TSV, JSON lines, or a database query.

    Ids and grades are read first, then the features, 16 columns at a time, directly into the
    matrix. For Parquet the peak memory is the float32 matrix, a few copies of the ids, and at most
    100 MB of pages (for Arrow files: twice the largest record batch), for any order of the rows.
    Text and database queries are held as an Arrow table, with real numbers as float32.

    Parameters
    ----------
    paths : files of one table, one after the other, with the same columns in any order; or
        `duckdb:FILE?SELECT ...` or `postgresql://...?SELECT ...`
    allow_nan : read null and NaN features as NaN
    memory_limit : the memory for reading and for the result, in bytes or as `"4GB"`; by default,
        three quarters of the free memory
    format : `parquet`, `arrow`, `csv`, `tsv`, `jsonl` or `sql`; by default it is detected
    options : see :class:`rankloop.data.io.table_columns.TableOptions`

    Raises
    ------
    ParseError
        with the file and the column or row (counted from 0) that cannot be used.
    MemoryLimitError
        before the limit would be exceeded.
    """
    chosen = table_options(options)
    with in_files(paths, format, chosen) as source:
        return build(source, resolve(source, chosen), allow_nan, memory_limit)


def table_options(options: Mapping[str, Any]) -> TableOptions:
    """Return options by name; raise if one is unknown."""
    known = [field.name for field in fields(TableOptions)]
    for name in options:
        if name not in known:
            raise DataError(f"tables have no option {name!r}; they have: {', '.join(known)}")
    return TableOptions(**options)


def from_table(
    table: object,
    *,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
    **options: object,
) -> QueryDataset:
    """Take a pyarrow table, a pandas or polars frame, or any Arrow stream in memory.

    The parameters are those of :func:`read_table`. It makes one float32 copy of the features.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"qid": ["a", "b", "a"], "label": [0, 1, 2], "bm25": [0.5, 1.5, 2.5]})
    >>> data = from_table(table)
    >>> data
    QueryDataset(2 queries, 3 documents, 1 feature, grades 0 to 2)
    >>> data.feature_names, data.X.ravel().tolist()
    (('bm25',), [0.5, 2.5, 1.5])
    """
    source = in_memory(table)
    return build(source, resolve(source, table_options(options)), allow_nan, memory_limit)


def iter_table(
    *paths: str | os.PathLike[str],
    batch_rows: int = 65_536,
    progress: Callable[[float], None] | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
    format: str | None = None,
    **options: object,
) -> Iterator[QueryDataset]:
    """Read a table in batches of whole queries; the rows of a query must be next to each other.

    It holds about two batches (or the longest query, if it is longer), one row group and the ids of
    all queries so far, so that a query that starts again is an error.

    Parameters
    ----------
    batch_rows : rows per batch, at least one query
    progress : called before each batch with the share of rows read, including this batch
    memory_limit : the memory for a batch, including its conversion
    the others : as in :func:`read_table`
    """
    if batch_rows < 1:
        raise DataError(f"batch_rows must be at least 1; found {batch_rows}")
    chosen = table_options(options)
    with in_files(paths, format, chosen) as source:
        for part, share in _parts(source, chosen, batch_rows, allow_nan, memory_limit):
            if progress is not None:
                progress(share)
            yield part
            del part  # what is handed over is not kept here


def _parts(
    source: Source,
    options: TableOptions,
    batch_rows: int,
    allow_nan: bool,
    memory_limit: int | str | None,
) -> Iterator[tuple[QueryDataset, float]]:
    """Yield batches of whole queries, each with the share of rows read so far."""
    columns = resolve(source, options)
    seen: set[int | str] = set()
    for table, first in whole_queries(source, columns, batch_rows):
        part = build(in_memory(table), columns, allow_nan, memory_limit, first)
        del table  # two batches at most are held
        end = first + part.n_documents
        ids = part.query_ids.tolist()
        again = seen.intersection(ids)
        if part.rows is not None or again:
            which = f"query {min(again)!r}" if again else "a query"
            raise DataError(
                f"{which} in rows {first} to {end - 1} starts again after other queries; "
                "bring the rows of each query together first (rankloop convert --gather, or "
                "rankloop.read_table, which reads all at once)"
            )
        seen.update(ids)
        yield part, end / max(source.n_rows, 1)
        del part


def to_table(dataset: QueryDataset, layout: Layout = "wide") -> pyarrow.Table:
    """Return a pyarrow table with the rows in the caller's order; it copies everything.

    Queries without documents have no row and are lost.

    Parameters
    ----------
    layout : `wide`, one column per feature (`f0`, `f1`, ... if they have no names), or `list`,
        one column `features`

    Examples
    --------
    >>> data = QueryDataset.from_arrays([[1.0, 2.0], [3.0, 4.0]], [0, 1], qid=[7, 7])
    >>> to_table(data).column_names
    ['label', 'qid', 'f0', 'f1']
    """
    schema = table_schema(dataset, layout)
    return arrow().Table.from_batches(record_batches(dataset, schema), schema)


def write_table(
    data: QueryDataset | Iterable[QueryDataset],
    path: str | os.PathLike[str],
    layout: Layout = "wide",
    *,
    format: str | None = None,
) -> None:
    """Write a Parquet, Arrow, CSV or TSV file, completely or not at all, about 64 MB at a time.

    Parameters
    ----------
    data : a data set, or several with the same columns to write one after the other
    path : the file; rows in the caller's order, as in :func:`to_table`
    layout : as in :func:`to_table`
    format : `parquet`, `arrow`, `csv` or `tsv`; by default, the suffix decides: `.parquet`,
        `.pq`, `.arrow`, `.feather` or `.ipc`, `.csv` or `.tsv`; text may be compressed: `.csv.gz`
    """
    suffix = f".{format}" if format else bare_suffix(path)
    known = PARQUET_SUFFIXES + ARROW_SUFFIXES + TEXT_SUFFIXES
    if suffix not in known:
        raise DataError(
            f"cannot tell the format of {os.fspath(path)!r}; end its name in "
            f"{', '.join(known)}, or pass format='parquet', 'arrow', 'csv' or 'tsv'"
        )
    parts = iter([data] if isinstance(data, QueryDataset) else data)
    first = next(parts, None)
    if first is None:
        raise DataError("there is no data set to write; give at least one")
    schema = table_schema(first, layout)
    kind = "parquet" if suffix in PARQUET_SUFFIXES else "arrow"
    kind = suffix[1:] if suffix in TEXT_SUFFIXES else kind
    with table_writer(path, schema, kind) as writer:
        for i, part in enumerate(itertools.chain([first], parts)):
            if not table_schema(part, layout).equals(schema, check_metadata=True):
                raise DataError(
                    f"data set {i} has different columns from the first: "
                    f"{how_they_differ(part, first)}; write them to separate files, or join "
                    "them with concat"
                )
            for batch in record_batches(part, schema):
                writer.write_batch(batch)
