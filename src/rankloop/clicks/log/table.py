"""Tables with one row per shown document: CSV, JSON lines, Parquet, Arrow, and frames in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.messages import count, show_names
from rankloop.clicks.log.checks import RowError
from rankloop.clicks.log.coding import code_ids
from rankloop.clicks.log.columns import find_roles
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.log.parts import ClickRows, read_rows
from rankloop.clicks.log.rules import as_numbers, find_bad
from rankloop.data.grouping import TEXT, as_ids
from rankloop.data.io.tables.sources import in_memory
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pyarrow
    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids

_ENOUGH = 10
"""Rows from which on a log without any row that was not clicked is refused."""
_NUMBERS = ("clicked", "position", "propensity", "seen", "count")


def read_click_table(
    *paths: str | os.PathLike[str],
    skip_bad_rows: bool = False,
    drop_duplicates: bool = False,
    encoding: str = "utf-8",
    **columns: str,
) -> ClickLog:
    """Read CSV, TSV, JSON lines, Parquet or Arrow files with one row per shown document.

    Parameters
    ----------
    paths : files, folders or patterns, which together are one log; plain or compressed
    skip_bad_rows : whether rows that cannot be used are left out, and counted in the notes
    drop_duplicates : whether rows that repeat a document of a page, at the same position, are one
        row, which is clicked if one of them is; the others are counted in the notes
    encoding : of CSV and TSV, such as `latin-1`
    columns : `query="srch_id"` names the column of a role. Roles that are not named are found by
        their usual names, see `ROLES`; `query`, `document` and `clicked` are needed, `position`,
        `page`, `propensity`, `seen` and `count` are not. Other columns are not read.
        `page="user,minute"` names several columns, whose values together are the id of a page

    Raises
    ------
    ParseError
        which names the file and the line or row that cannot be used.

    Notes
    -----
    Without `page`, all rows of a query are one page.
    """
    rows = read_rows(paths, encoding, skip_bad_rows)
    return ClickTable(rows, columns, skip_bad_rows, drop_duplicates).log


def from_click_table(
    table: object, *, skip_bad_rows: bool = False, drop_duplicates: bool = False, **columns: str
) -> ClickLog:
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
    rows = ClickRows(in_memory(table).table)
    return ClickTable(rows, columns, skip_bad_rows, drop_duplicates).log


@dataclass(frozen=True)
class _Bad:
    """Rows to leave out: which, and how the first of them is named."""

    mask: NDArray[np.bool_]
    first: str


class ClickTable:
    """A click table: its log, and its other columns in the order of the log.

    Parameters
    ----------
    rows : as :func:`rankloop.clicks.log.parts.read_rows` returns them
    columns, skip_bad_rows, drop_duplicates : as of :func:`read_click_table`
    """

    def __init__(
        self,
        rows: ClickRows,
        columns: Mapping[str, str],
        skip_bad_rows: bool = False,
        drop_duplicates: bool = False,
    ) -> None:
        self._rows = rows
        self.roles = self._naming_file(find_roles, rows.table.column_names, columns)
        if rows.table.num_rows == 0:
            raise self._error("it has no rows; expected one row per shown document")
        n = rows.table.num_rows
        bad = self._bad_rows(skip_bad_rows)
        self._kept = np.flatnonzero(~bad.mask)
        if not len(self._kept):
            raise self._error(f"none of its {n:,} rows can be used; the first: {bad.first}")
        notes = self._skipped(bad)
        values = self._values()
        if "position" not in values and len(self._kept) < n:
            # Where the order of rows is that of the page, what was left out keeps its place.
            values["position"] = self._places(n)[self._kept]
        if skip_bad_rows:
            values, more = self._without_conflicts(values, drop_duplicates)
            notes += more
        if drop_duplicates:
            values, more = self._without_duplicates(values)
            notes += more
        _refuse_clicked_only(values["clicked"], self._error)
        try:
            log = ClickLog.from_rows(**values)
        except RowError as error:
            raise rows.error(int(self._kept[error.row]), error.reason) from None
        order = np.arange(len(self._kept)) if log.rows is None else log.rows
        same = len(self._kept) == n and log.rows is None
        self.log = replace(
            log, rows=None if same else self._kept[order], notes=(*notes, *log.notes)
        )

    def values(self, column: str) -> NDArray[np.float64]:
        """Return a column of numbers, in the order of the log."""
        table = self._rows.table
        if column not in table.column_names:
            known = show_names(table.column_names)
            raise self._error(f"there is no column {column!r}; the columns are {known}")
        chosen = table.column(column)
        chosen = chosen if self.log.rows is None else chosen.take(self.log.rows)
        numbers = as_numbers(chosen)
        bad = np.isnan(numbers)
        if bad.any():
            row = int(bad.argmax())
            place = row if self.log.rows is None else int(self.log.rows[row])
            raise self._rows.error(
                place, f"has {chosen[row].as_py()!r} in {column!r}, not a number"
            )
        return numbers

    def others(self) -> pyarrow.Table:
        """Return the columns without a role, in the order of the log."""
        used = {name for names in self.roles.values() for name in names}
        table = self._rows.table
        table = table.select([name for name in table.column_names if name not in used])
        return table if self.log.rows is None else table.take(self.log.rows)

    def _error(self, reason: str) -> DataError:
        name = self._rows.names[0]
        return ParseError(name, None, reason) if name else DataError(reason)

    def _naming_file(self, function: Any, *given: Any) -> Any:
        try:
            return function(*given)
        except DataError as error:
            raise self._error(str(error)) from None

    def _bad_rows(self, skip: bool) -> _Bad:
        table = self._rows.table
        mask = np.zeros(table.num_rows, bool)
        first: tuple[int, str] | None = None
        for role, names in self.roles.items():
            for name in names:
                bad, why = find_bad(role, table.column(name))
                if bad.any():
                    row = int(bad.argmax())
                    if first is None or row < first[0]:
                        first = row, f"{why(row)} (column {name!r})"
                mask |= bad
        if first is None:
            return _Bad(mask, "")
        error = self._rows.error(*first)
        if not skip:
            raise error
        return _Bad(mask, str(error))

    def _skipped(self, bad: _Bad) -> tuple[str, ...]:
        firsts = [*self._rows.bad[:1], bad.first][:1]
        total = len(self._rows.bad) + int(bad.mask.sum())
        if not total:
            return ()
        return (f"{count(total, 'bad row', 'bad rows')} left out; the first: {firsts[0]}",)

    def _values(self) -> dict[str, Any]:
        table = self._rows.table
        if len(self._kept) < table.num_rows:
            table = table.take(self._kept)
        values: dict[str, Any] = {}
        for role, names in self.roles.items():
            if role in _NUMBERS:
                values[role] = as_numbers(table.column(names[0]))
            elif len(names) == 1:
                values[role] = self._naming_file(as_ids, table.column(names[0]).to_numpy(), role)
            else:
                values[role] = _combine([table.column(name) for name in names])
        return values

    def _places(self, n: int) -> NDArray[np.int64]:
        """Return the position of each row of the table by the order of the rows of its page."""
        names = self.roles.get("page", self.roles["query"])
        ids = _combine([self._rows.table.column(name) for name in names])
        codes, _ = code_ids(ids, "page")
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) > 0])
        places = np.empty(n, np.int64)
        places[order] = np.arange(n) - np.repeat(starts, np.diff(np.r_[starts, n])) + 1
        return places

    def _without_conflicts(
        self, values: dict[str, Any], keep_duplicates: bool
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Leave out rows of another query than their page, and second ones at a position."""
        pages, _ = code_ids(values.get("page", values["query"]), "page")
        queries, _ = code_ids(values["query"], "query")
        _, first = np.unique(pages, return_index=True)
        bad = queries != queries[first][pages] if len(first) else np.zeros(0, bool)
        if "position" in values:
            places = np.asarray(values["position"], np.int64)
            keys = pages.astype(np.int64) * (int(places.max()) + 1) + places
            keys[bad] = -1 - np.arange(int(bad.sum()))
            _, first, same = np.unique(keys, return_index=True, return_inverse=True)
            again = first[same] != np.arange(len(keys))
            if keep_duplicates:
                documents, _ = code_ids(values["document"], "document")
                again &= documents != documents[first[same]]
            bad |= again
        if not bad.any():
            return values, ()
        row = int(self._kept[bad.argmax()])
        error = self._rows.error(row, "is of another query than its page, or at a taken position")
        rows = count(int(bad.sum()), "row", "rows")
        return self._choose(values, ~bad), (
            f"{rows} that contradict their page left out; the first: {error}",
        )

    def _without_duplicates(self, values: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        pages, _ = code_ids(values.get("page", values["query"]), "page")
        documents, known = code_ids(values["document"], "document")
        keys = pages.astype(np.int64) * len(known) + documents
        if "position" in values:
            _, keys = np.unique(keys, return_inverse=True)
            places = np.asarray(values["position"], np.int64)
            keys = keys * (int(places.max()) + 1) + places
        _, first, same = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(keys):
            return values, ()
        clicked = np.zeros(len(first))
        np.maximum.at(clicked, same, values["clicked"])
        keep = np.zeros(len(keys), bool)
        keep[first] = True
        merged = {**values, "clicked": clicked[same]}
        n = len(keys) - len(first)
        note = f"{count(n, 'duplicate row', 'duplicate rows')} left out"
        return self._choose(merged, keep), (note,)

    def _choose(self, values: dict[str, Any], keep: NDArray[np.bool_]) -> dict[str, Any]:
        self._kept = self._kept[keep]
        return {role: array[keep] for role, array in values.items()}


def _combine(columns: Sequence[pyarrow.ChunkedArray]) -> Ids:
    """Return texts that are equal where the values of all columns are."""
    if len(columns) == 1:
        texts = [str(value) for value in columns[0].to_pylist()]
    else:
        lists = [column.to_pylist() for column in columns]
        texts = ["\x1f".join(map(str, row)) for row in zip(*lists, strict=True)]
    return np.array(texts, dtype=TEXT)


def _refuse_clicked_only(clicks: NDArray[np.float64], error: Any) -> None:
    """Raise if a log of some length has clicked rows only: nothing says what was passed over."""
    if len(clicks) >= _ENOUGH and (clicks > 0).all():
        raise error(
            f"all {len(clicks):,} rows were clicked; a ranker learns from what was shown and not "
            "clicked, too: log every document of each page, with 0 where there was no click"
        )
