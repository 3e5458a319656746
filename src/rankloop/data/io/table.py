"""Parquet and Arrow files, and tables in memory: pyarrow, pandas, polars.

A table has one row a document, in any query order. Its features are either *wide*, one column of
numbers each, or one *list* column. Files are known by their first bytes. What `write_table`
writes, `read_table` reads back exactly.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankloop.data.dataset import QueryDataset
from rankloop.data.io.replacing import replaced_when_done
from rankloop.data.io.table_build import build, whole_queries
from rankloop.data.io.table_columns import resolve
from rankloop.data.io.table_source import arrow, in_file, in_memory
from rankloop.data.io.table_write import (
    Layout,
    how_they_differ,
    record_batches,
    table_schema,
    table_writer,
)
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")


def read_table(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    query: str | None = None,
    doc_id: str | None = None,
    features: str | Sequence[str] | None = None,
    doc_weight: str | None = None,
    query_weight: str | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
) -> QueryDataset:
    """Read a Parquet or Arrow (IPC, Feather 2) file.

    Ids and grades are read first, then the features, 16 columns at a time, straight into their
    place: the peak is the float32 matrix, the ids a few times, and at most 100 MB of Parquet pages
    (of an Arrow file: twice its largest record batch), whatever the order of the rows.

    Parameters
    ----------
    path : a file; its first bytes tell the format
    label : the column of grades. None: `label`, `y`, `relevance`, `grade` or `target`
    query : the column of query ids, whole numbers or text. None: `qid`, `query_id`, `query` or
        `group`
    doc_id : the column of document ids. None: `doc_id`, `docid` or `document_id`, if there
    features : the columns of features, or the name of one list column. None: all other columns,
        a pandas index left aside
    doc_weight, query_weight : columns of weights; a query's rows share theirs. None: those names,
        if there
    allow_nan : read null and NaN features as NaN
    memory_limit : what reading and the result may take together, in bytes or as `"4GB"`; default:
        three quarters of the memory that is free

    Raises
    ------
    ParseError
        naming the file and the column or row (counted from 0) that cannot be used.
    MemoryLimitError
        where the limit would be passed, before it is.
    """
    with in_file(path) as source:
        columns = resolve(source, features, label, query, doc_id, doc_weight, query_weight)
        return build(source, columns, allow_nan, memory_limit)


def from_table(
    table: Any,
    *,
    label: str | None = None,
    query: str | None = None,
    doc_id: str | None = None,
    features: str | Sequence[str] | None = None,
    doc_weight: str | None = None,
    query_weight: str | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
) -> QueryDataset:
    """Take a pyarrow table, a pandas or polars frame, or any Arrow stream in memory.

    Parameters as in :func:`read_table`. Costs one float32 copy of the features.

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
    columns = resolve(source, features, label, query, doc_id, doc_weight, query_weight)
    return build(source, columns, allow_nan, memory_limit)


def iter_table(
    path: str | os.PathLike[str],
    *,
    batch_rows: int = 65_536,
    progress: Callable[[float], None] | None = None,
    label: str | None = None,
    query: str | None = None,
    doc_id: str | None = None,
    features: str | Sequence[str] | None = None,
    doc_weight: str | None = None,
    query_weight: str | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
) -> Iterator[QueryDataset]:
    """Read a file in batches of whole queries; each query's rows must stand together.

    Holds about two batches (or the longest query, if longer), one row group and the ids of the
    queries seen, by which a query that starts again is found and refused.

    Parameters
    ----------
    batch_rows : rows a batch, at least one query
    progress : called before each batch with the share of rows read so far, this batch included
    memory_limit : what a batch may take, its conversion included
    others : as in :func:`read_table`
    """
    if batch_rows < 1:
        raise DataError(f"batch_rows must be at least 1; found {batch_rows}")
    roles = (features, label, query, doc_id, doc_weight, query_weight)
    for part, share in _parts(path, roles, batch_rows, allow_nan, memory_limit):
        if progress is not None:
            progress(share)
        yield part
        del part  # what is handed over is not kept here


def _parts(
    path: str | os.PathLike[str],
    roles: tuple[Any, ...],
    batch_rows: int,
    allow_nan: bool,
    memory_limit: int | str | None,
) -> Iterator[tuple[QueryDataset, float]]:
    """Give batches of whole queries, each with the share of rows read so far."""
    with in_file(path) as source:
        columns = resolve(source, *roles)
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
                    f"{which} in rows {first} to {end - 1} starts again after other queries; sort "
                    "the rows by query, or use read_table"
                )
            seen.update(ids)
            yield part, end / max(source.n_rows, 1)
            del part


def to_table(dataset: QueryDataset, layout: Layout = "wide") -> Any:
    """Return a pyarrow table, its rows in the caller's order; costs a copy of everything.

    Queries without documents have no row and are lost.

    Parameters
    ----------
    layout : `wide`, one column a feature (`f0`, `f1`, ... where they have no names), or `list`,
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
    format: Literal["parquet", "arrow"] | None = None,  # noqa: A002 - what users call it
) -> None:
    """Write a Parquet or Arrow file, whole or not at all, in row groups of about 64 MB.

    Parameters
    ----------
    data : a data set, or several with the same columns to write one after the other
    path : the file; rows in the caller's order, as in :func:`to_table`
    layout : as in :func:`to_table`
    format : None: as the suffix says, `.parquet` or `.pq`, `.arrow`, `.feather` or `.ipc`
    """
    suffix = f".{format}" if format else Path(path).suffix.lower()
    if suffix not in PARQUET_SUFFIXES + ARROW_SUFFIXES:
        raise DataError(
            f"cannot tell the format of {os.fspath(path)!r}; end its name in "
            f"{', '.join(PARQUET_SUFFIXES + ARROW_SUFFIXES)}, or pass format='parquet' or 'arrow'"
        )
    parts = iter([data] if isinstance(data, QueryDataset) else data)
    first = next(parts, None)
    if first is None:
        raise DataError("there is no data set to write; give at least one")
    schema = table_schema(first, layout)
    with (
        replaced_when_done(path) as partial,
        table_writer(partial, schema, parquet=suffix in PARQUET_SUFFIXES) as writer,
    ):
        for i, part in enumerate(itertools.chain([first], parts)):
            if not table_schema(part, layout).equals(schema, check_metadata=True):
                raise DataError(
                    f"data set {i} has other columns than the first: {how_they_differ(part, first)}"
                    "; write them to files of their own, or join them with concat"
                )
            for batch in record_batches(part, schema):
                writer.write_batch(batch)
