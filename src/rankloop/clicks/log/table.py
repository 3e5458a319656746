"""Tables with one row per shown document: CSV, Parquet and Arrow files, and frames in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.messages import show_names
from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import bare_suffix
from rankloop.data.io.tables.sources import arrow, in_file, in_memory
from rankloop.data.io.tables.text import for_arrow
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow
    from numpy.typing import NDArray

    from rankloop.data.io.tables.sources import TableSource

ROLES = {
    "query": ("query", "query_id", "qid", "user_query"),
    "document": (
        "document",
        "document_id",
        "doc_id",
        "docid",
        "item",
        "item_id",
        "product",
        "product_id",
    ),
    "clicked": ("clicked", "click", "clicks", "click_bool"),
    "position": ("position", "rank"),
    "page": ("page", "page_id", "session_id", "ranking_id", "impression_id"),
    "propensity": ("propensity",),
    "seen": ("seen",),
    "count": ("page_count",),
}
"""What a column of a click table can be, with its usual names."""
_ENOUGH = 10
"""Rows from which on a log without any row that was not clicked is refused."""
_NEEDED = ("query", "document", "clicked")


def read_click_table(path: str | os.PathLike[str], **columns: str) -> ClickLog:
    """Read a CSV, Parquet or Arrow file with one row per shown document.

    Parameters
    ----------
    path : `.csv` or `.tsv`, plain or compressed; other files are detected by their first bytes
    columns : `query="srch_id"` names the column of a role. Roles that are not named are found by
        their usual names, see `ROLES`; `query`, `document` and `clicked` are needed, `position`,
        `page`, `propensity`, `seen` and `count` are not. Other columns are not read.

    Raises
    ------
    ParseError
        which names the file and the column or row that cannot be used.

    Notes
    -----
    Without `page`, all rows of a query are one page.
    """
    if bare_suffix(path) not in (".csv", ".tsv"):
        with in_file(path) as source:
            return _build(source, columns)
    name = os.fspath(path)
    try:
        return from_click_table(_read_csv(path), **columns)
    except ParseError:
        raise
    except DataError as error:
        raise ParseError(name, None, str(error)) from None


def from_click_table(table: object, **columns: str) -> ClickLog:
    """Take a pyarrow table, a pandas or polars frame, or any Arrow stream in memory.

    Parameters as in :func:`read_click_table`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"query": ["q", "q"], "item": ["a", "b"], "rank": [2, 1], "click": [1, 0]})
    >>> log = from_click_table(table)
    >>> log.document_ids[log.documents].tolist(), log.clicks.tolist()
    (['b', 'a'], [False, True])
    """
    return _build(in_memory(table), columns)


def read_click_values(
    path: str | os.PathLike[str], column: str, log: ClickLog
) -> NDArray[np.float64]:
    """Read a column of numbers of the file that a log came from, in the log's order.

    Raises
    ------
    ParseError
        which names the column that is missing or does not contain numbers.
    """
    if bare_suffix(path) in (".csv", ".tsv"):
        return _numbers(in_memory(_read_csv(path)), column, log, os.fspath(path))
    with in_file(path) as source:
        return _numbers(source, column, log, os.fspath(path))


def _numbers(source: TableSource, column: str, log: ClickLog, name: str) -> NDArray[np.float64]:
    if column not in source.schema.names:
        known = show_names(source.schema.names)
        raise ParseError(name, None, f"there is no column {column!r}; the columns are {known}")
    batches = list(source.batches([column], 1 << 20))
    table = arrow().Table.from_batches(batches, source.schema.empty_table().select([column]).schema)
    try:
        values = np.asarray(_values(table, column), np.float64)
    except (TypeError, ValueError):
        raise ParseError(name, None, f"column {column!r} must hold numbers") from None
    except DataError as error:
        raise ParseError(name, None, str(error)) from None
    return values if log.rows is None else values[log.rows]


def _read_csv(path: str | os.PathLike[str]) -> pyarrow.Table:
    arrow()
    from pyarrow import ArrowException, csv

    options = csv.ParseOptions(delimiter="\t" if bare_suffix(path) == ".tsv" else ",")
    try:
        return csv.read_csv(for_arrow(os.fspath(path)), parse_options=options)
    except ArrowException as error:
        raise ParseError(os.fspath(path), None, f"cannot read it: {error}") from None


def _build(source: TableSource, columns: dict[str, str]) -> ClickLog:
    roles = _resolve(source.schema.names, columns)
    pa = arrow()
    batches = list(source.batches(list(dict.fromkeys(roles.values())), 1 << 20))
    table = pa.Table.from_batches(batches, batches[0].schema) if batches else None
    if table is None or table.num_rows == 0:
        raise DataError("it has no rows; expected one row per shown document")
    values = {role: _values(table, name) for role, name in roles.items()}
    _refuse_clicked_only(values["clicked"])
    try:
        return ClickLog.from_rows(**values)
    except DataError as error:
        used = ", ".join(f"{role}={name!r}" for role, name in roles.items())
        raise DataError(f"{error} (columns: {used})") from None


def _refuse_clicked_only(clicked: Any) -> None:
    """Raise if a log of some length has clicked rows only: nothing says what was passed over."""
    clicks = np.asarray(clicked)
    if len(clicks) >= _ENOUGH and clicks.dtype.kind in "biuf" and (clicks > 0).all():
        raise DataError(
            f"all {len(clicks):,} rows were clicked; a ranker learns from what was shown and not "
            "clicked, too: log every document of each page, with 0 where there was no click"
        )


def _values(table: pyarrow.Table, name: str) -> Any:
    column = table.column(name)
    if column.null_count:
        raise DataError(f"column {name!r} has {column.null_count:,} missing values; expected none")
    return column.to_numpy()


def _resolve(present: Sequence[str], given: dict[str, str]) -> dict[str, str]:
    unknown = [role for role in given if role not in ROLES]
    if unknown:
        raise DataError(f"there is no role {unknown[0]!r}; the roles are {show_names(list(ROLES))}")
    for name in given.values():
        if name not in present:
            raise DataError(f"there is no column {name!r}; the columns are {show_names(present)}")
    roles = dict(given)
    for role, usual in ROLES.items():
        fit = [name for name in present if name.lower() in usual and name not in given.values()]
        if role in given:
            continue
        if len(fit) > 1:
            raise DataError(
                f"{show_names(fit)} could each be the {role}; pass {role}= to choose one"
            )
        if fit:
            roles[role] = fit[0]
        elif role in _NEEDED:
            raise DataError(
                f"no column is named {show_names(usual, ' or ')}; pass {role}= to name the column; "
                f"the columns are {show_names(present)}"
            )
    return roles
