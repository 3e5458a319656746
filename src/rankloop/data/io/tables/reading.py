"""Read tables: Parquet, Arrow, CSV, JSON lines, SQL, pandas, polars.

A table has one row per document, in any query order. Its features are either *wide*, one column
each, or one *list* column. What `write_table` writes to Parquet or Arrow, `read_table` reads back
exactly.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.argument_names import argument
from rankloop._utils.arguments import check_type
from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import group_by_id
from rankloop.data.io.tables.lists import spread_lists
from rankloop.data.io.tables.roles import TableOptions, resolve
from rankloop.data.io.tables.sources import COLUMNS_AT_ONCE, arrow, in_files, in_frame, in_memory
from rankloop.data.io.tables.values import read_features, read_roles
from rankloop.data.memory import check_fits, memory_limit_or_default
from rankloop.exceptions import DataError
from rankloop.features.field_texts import are_ids

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow
    from numpy.typing import NDArray

    from rankloop.data.grouping import Grouping
    from rankloop.data.io.tables.roles import Columns
    from rankloop.data.io.tables.sources import TableSource

_ROLE_BYTES = 40  # a row and column, numbers or short texts: read, joined, grouped


def read_table(
    *paths: str | os.PathLike[str],
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
    format: str | Sequence[str] | None = None,
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
    format : `parquet`, `arrow`, `csv`, `tsv`, `jsonl` or `sql`, one for all files or a list
        with one for each; by default it is detected
    options : see :class:`rankloop.data.io.tables.roles.TableOptions`

    Raises
    ------
    ParseError
        with the file and the column or row (counted from 0) that cannot be used.
    MemoryLimitError
        before the limit would be exceeded.
    """
    chosen = table_options(options)
    with in_files(paths, format, chosen) as files:
        source, chosen = spread_lists(files, chosen)
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
    given = table_options(options)
    source, chosen = spread_lists(in_frame(table, given), given)
    return build(source, resolve(source, chosen), allow_nan, memory_limit)


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
    with in_files(paths, format, chosen) as files:
        source, chosen = spread_lists(files, chosen)
        for part, share in _parts(source, chosen, batch_rows, allow_nan, memory_limit):
            if progress is not None:
                progress(share)
            yield part
            del part  # what is handed over is not kept here


def _parts(
    source: TableSource,
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


def build(
    source: TableSource,
    columns: Columns,
    allow_nan: bool,
    memory_limit: int | str | None,
    first_row: int = 0,
) -> QueryDataset:
    """Read ids and grades, then the features directly into the matrix.

    This goes through the table twice: once its ids are known, each row of features goes to its
    place at once. In one pass, the table would be in memory beside the matrix, or X would have to
    be sorted afterwards, which takes its size a second time.
    """
    check_type("allow_nan", allow_nan, bool, "True or False")
    n, limit = source.n_rows, memory_limit_or_default(memory_limit)
    at_once = 16 * min(n, columns.rows_at_once) * min(columns.width, COLUMNS_AT_ONCE)
    more = source.decoding + at_once + n * _ROLE_BYTES * len(columns.roles)
    check_fits(n, columns.width, limit, more=more)
    values = read_roles(source, columns.roles, first_row, limit - 4 * n * columns.width - more)
    query_ids = values.pop("query")
    _check_rows(len(query_ids), n)
    grouping = group_by_id(query_ids)
    del query_ids
    place = None  # where each row goes, if the rows of a query are not together yet
    if grouping.rows is not None:
        values = {role: array[grouping.rows] for role, array in values.items()}
        place = np.empty_like(grouping.rows)
        place[grouping.rows] = np.arange(n)
    X = np.empty((n, columns.width), np.float32)
    for part, part_columns in columns.parts():
        done = 0
        for batch in source.batches(part_columns.features, part_columns.rows_at_once):
            end = done + batch.num_rows
            _check_rows(end, n, whole=False)
            block = read_features(batch, part_columns, first_row + done, allow_nan)
            X[slice(done, end) if place is None else place[done:end], part] = block
            done = end
        _check_rows(done, n)
    # Coders go on from batch to batch, so later on they know the categories of more than n rows.
    if first_row == 0:
        _refuse_ids(columns, n)
    return QueryDataset(
        X,
        values["label"] if "label" in values else np.full(n, -1.0),
        grouping.offsets,
        grouping.ids,
        values.get("doc_id"),
        columns.names,
        values.get("doc_weight"),
        _one_a_query(values.get("query_weight"), grouping, columns.roles),
        grouping.rows,
        columns.describe(),
        columns.roles["query"],
    )


def _refuse_ids(columns: Columns, n: int) -> None:
    """Raise if nearly every row has its own text, because it is then an id and not a category."""
    many = {
        name: len(coder.categories)
        for name, coder in columns.coders.items()
        if coder.grows and not coder.is_named and are_ids(len(coder.categories), n)
    }
    if many:
        shown = ", ".join(f"{name!r} ({count:,} different)" for name, count in many.items())
        raise DataError(
            f"these columns have different text in nearly all of {n:,} rows, so they "
            f"are ids and not categories: {shown}; leave them out with {argument('drop')}, say "
            f"with {argument('doc_id')} or {argument('query')} what they are, or with "
            f"{argument('category')} that they are categories all the same"
        )


def _check_rows(count: int, expected: int, whole: bool = True) -> None:
    if count > expected or (whole and count < expected):
        raise DataError(
            f"a column has {'more than ' if not whole else ''}{count:,} values, but "
            f"the table says that it has {expected:,} rows; the file is damaged: get "
            "a complete copy"
        )


def _one_a_query(
    weights: NDArray[np.float64] | None, grouping: Grouping, roles: dict[str, str]
) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    each = weights[grouping.offsets[:-1]]
    differs = np.flatnonzero(weights != np.repeat(each, np.diff(grouping.offsets)))
    if len(differs):
        q = np.searchsorted(grouping.offsets, differs[0], side="right") - 1
        raise DataError(
            f"query {grouping.ids[q]} has two weights, {each[q]} and "
            f"{weights[differs[0]]}, in column {roles['query_weight']!r}; give all "
            "its rows the same weight"
        )
    return each


def whole_queries(
    source: TableSource, columns: Columns, batch_rows: int
) -> Iterator[tuple[pyarrow.Table, int]]:
    """Yield tables of complete queries with their first row; the last query waits for its end."""
    pa = arrow()
    names = (*columns.roles.values(), *columns.features)
    query = {"query": columns.roles["query"]}
    held: list[pyarrow.RecordBatch] = []
    first = 0
    for batch in source.batches(names, min(batch_rows, columns.rows_at_once)):
        held.append(batch)
        if sum(b.num_rows for b in held) < batch_rows:
            continue
        table = pa.Table.from_batches(held)
        qid = read_roles(in_memory(table), query, first)["query"]
        # The last query may go on in the next batch. So only those before it are complete; if
        # there are none, the query is longer than a batch, and more is read.
        ends = np.flatnonzero(qid[1:] != qid[:-1])
        if len(ends):
            end = int(ends[-1]) + 1
            held = table.slice(end).to_batches()
            ready = [table.slice(0, end)]
            del table, batch  # what is handed over is not kept here
            yield ready.pop(), first
            first += end
    if held:
        yield pa.Table.from_batches(held), first
