"""The features of what a log shows: other columns of its table, or a table of items."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.log.columns import ROLES
from rankloop.clicks.log.parts import read_rows
from rankloop.clicks.training import ShownFeatures
from rankloop.data.io.format_names import TABLES, decide_format
from rankloop.data.io.formats import read
from rankloop.data.io.locations import data_files
from rankloop.data.io.tables.reading import from_table
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.table import ClickTable
    from rankloop.data.dataset import QueryDataset

_ROW = "row of the table"


def features_of_table(table: ClickTable, **options: Any) -> ShownFeatures:
    """Return the columns of a click table that have no role, in the order of its log.

    options : of tables, such as `features`, `drop` and `category`
    """
    columns = table.others()
    if not columns.num_columns:
        raise DataError(
            "the log has no columns besides those of a click log, so there are no features to "
            "learn from; add them to its rows, or give a table of items with them"
        )
    data = _as_data(columns, options)
    return ShownFeatures(data.X, data.feature_names, data.features)


def features_of_items(
    log: ClickLog, *paths: str | os.PathLike[str], **options: Any
) -> ShownFeatures:
    """Return the features of a log's documents, which other files hold.

    paths : a table with a column of documents, and one of queries if features depend on the query;
        or LETOR text, where a document without an id is named by the number of its row
    options : of tables
    """
    files = [file for path in paths for file in data_files(path)]
    if not files:
        raise DataError("name at least one file of items")
    if decide_format(files[0]) in TABLES:
        data, keys, by_query = _items_of_table(files, options)
    else:
        data = read(*files, labelled=False, **options)
        by_query = data.doc_ids is not None
        documents = np.arange(data.n_documents) if data.doc_ids is None else data.doc_ids
        keys = _keys(data.qid if by_query else None, documents)
    places = {key: row for row, key in enumerate(keys)}
    queries = log.query_ids[log.row_queries] if by_query else None
    wanted = _keys(queries, log.document_ids[log.documents])
    found = np.fromiter((places.get(key, -1) for key in wanted), np.int64, len(wanted))
    if (found < 0).any():
        row = int((found < 0).argmax())
        missing = int((found < 0).sum())
        document = log.document_ids.tolist()[log.documents[row]]
        query = log.query_ids.tolist()[log.row_queries[row]]
        asked = f" for the query {query!r}" if by_query else ""
        raise ParseError(
            os.fspath(files[0]),
            None,
            f"it has no document {document!r}{asked}; the log shows {missing:,} rows of such "
            "documents",
        )
    return ShownFeatures(data.X[found], data.feature_names, data.features)


def _items_of_table(
    files: Sequence[str], options: dict[str, Any]
) -> tuple[QueryDataset, list[str], bool]:
    table = read_rows(files).table
    ids = {role: _usual(table, role, files[0]) for role in ("document", "query")}
    document, query = ids["document"], ids["query"]
    if document is None:
        raise ParseError(
            files[0], None, f"no column is named {' or '.join(map(repr, ROLES['document']))}"
        )
    names = [name for name in (document, query) if name is not None]
    data = _as_data(table.drop_columns(names), options)
    asked = None if query is None else table.column(query).to_pylist()
    return data, _keys(asked, table.column(document).to_pylist()), query is not None


def _usual(table: pyarrow.Table, role: str, name: str) -> str | None:
    fit = [column for column in table.column_names if column.lower() in ROLES[role]]
    if len(fit) > 1:
        raise ParseError(name, None, f"{' and '.join(map(repr, fit))} could each be the {role}")
    return fit[0] if fit else None


def _as_data(columns: pyarrow.Table, options: dict[str, Any]) -> QueryDataset:
    """Return all rows in their order."""
    numbered = columns.append_column(_ROW, [np.zeros(columns.num_rows, np.int64)])
    return from_table(numbered, query=_ROW, labelled=False, allow_nan=True, **options)


def _keys(queries: Any, documents: Any) -> list[str]:
    if queries is None:
        return [str(document) for document in documents]
    return [f"{query}\x1f{document}" for query, document in zip(queries, documents, strict=True)]
