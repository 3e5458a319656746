"""Make a data set, or batches of whole queries, from the columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import group_by_id
from rankloop.data.io.table_source import COLUMNS_AT_ONCE, arrow, in_memory
from rankloop.data.io.table_values import read_features, read_roles
from rankloop.data.memory import check_fits, memory_limit_or_default
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from numpy.typing import NDArray

    from rankloop.data.grouping import Grouping
    from rankloop.data.io.table_columns import Columns
    from rankloop.data.io.table_source import Source


_MANY = 100  # categories that are never too many
_ROLE_BYTES = 40  # a row and column, numbers or short texts: read, joined, grouped


def build(
    source: Source,
    columns: Columns,
    allow_nan: bool,
    memory_limit: int | str | None,
    first_row: int = 0,
) -> QueryDataset:
    """Read ids and grades, then the features directly into the matrix."""
    n, limit = source.n_rows, memory_limit_or_default(memory_limit)
    at_once = 16 * min(n, columns.rows_at_once) * min(columns.width, COLUMNS_AT_ONCE)
    more = source.decoding + at_once + n * _ROLE_BYTES * len(columns.roles)
    check_fits(n, columns.width, limit, more=more)
    values = read_roles(source, columns.roles, first_row, limit - 4 * n * columns.width - more)
    query_ids = values.pop("query")
    _check_rows(len(query_ids), n)
    grouping = group_by_id(query_ids)
    del query_ids
    place = None  # where each row goes
    if grouping.rows is not None:
        values = {role: found[grouping.rows] for role, found in values.items()}
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
        columns.described(),
    )


def _refuse_ids(columns: Columns, n: int) -> None:
    """Raise if nearly every row has its own text, because it is then an id and not a category."""
    many = {
        name: len(coder.categories)
        for name, coder in columns.coders.items()
        if coder.grows and len(coder.categories) > max(_MANY, n // 2)
    }
    if many:
        shown = ", ".join(f"{name!r} ({count:,} different)" for name, count in many.items())
        raise DataError(
            f"these columns have different text in nearly all of {n:,} rows, so they "
            f"are ids and not categories: {shown}; leave them out with drop=, or say "
            "with doc_id= or query= what they are"
        )


def _check_rows(found: int, expected: int, whole: bool = True) -> None:
    if found > expected or (whole and found < expected):
        raise DataError(
            f"a column has {'more than ' if not whole else ''}{found:,} values, but "
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
    source: Source, columns: Columns, batch_rows: int
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
