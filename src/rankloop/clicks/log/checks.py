"""Check the columns of a log and convert them to arrays; an error says which value is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.argument_names import argument
from rankloop.data.grouping import as_ids
from rankloop.data.validation import as_weights, check_length
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.data.grouping import Ids


class RowError(DataError):
    """A row that contradicts its page.

    row : its number
    reason : what is wrong with it
    """

    def __init__(self, row: int, reason: str) -> None:
        self.row, self.reason = row, reason
        super().__init__(f"row {row} {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.row, self.reason)


def whole_or_text(values: Sequence[object]) -> Ids:
    """Return numbers if all values are whole numbers, otherwise text."""
    whole = all(isinstance(value, int | np.integer) for value in values)
    return as_ids(np.array(values, np.int64 if whole else object), "ids")


def as_clicks(values: ArrayLike) -> NDArray[np.bool_]:
    """Return booleans from booleans or numbers of clicks."""
    clicks = np.asarray(values)
    if clicks.ndim != 1 or clicks.dtype.kind not in "biuf":
        raise DataError(
            f"clicks must be booleans or numbers in one dimension; found {clicks.dtype} of shape "
            f"{clicks.shape}"
        )
    bad = np.flatnonzero(~(clicks >= 0))
    if len(bad):
        raise DataError(
            f"a number of clicks must be at least 0; found {clicks[bad[0]]} in row {bad[0]}"
        )
    return clicks > 0


def as_positions(values: ArrayLike) -> NDArray[np.int32]:
    """Return positions as whole numbers from 1."""
    places = np.asarray(values)
    if places.ndim != 1 or places.dtype.kind not in "iuf":
        raise DataError(
            f"positions must be whole numbers in one dimension; found {places.dtype} of shape "
            f"{places.shape}"
        )
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((places >= 1) & (places < 2**31) & (places == np.floor(places))))
    if len(bad):
        raise DataError(
            f"positions must be whole numbers from 1; found {places[bad[0]]} in row "
            f"{bad[0]}: add 1 if they count from 0"
        )
    return places.astype(np.int32)


def as_propensities(
    values: ArrayLike, n: int, order: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Return n propensities, above 0 and at most 1, in the order of the log's rows."""
    chances = as_weights(values, "propensity")
    check_length("propensity", chances, n)
    bad = np.flatnonzero((chances <= 0) | (chances > 1))
    if len(bad):
        raise DataError(
            f"propensities must be above 0 and at most 1; found {chances[bad[0]]} in row {bad[0]}"
        )
    return chances if order is None else chances[order]


def as_seen(values: ArrayLike, n: int, order: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return whether each of n documents was looked at, in the order of the log's rows."""
    seen = as_weights(values, "seen") > 0
    check_length("seen", seen, n)
    return seen if order is None else seen[order]


def page_counts(
    values: ArrayLike, n: int, order: NDArray[np.int64] | None, offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how often each page was shown; raise if its rows differ."""
    counts = as_weights(values, "count")
    check_length("count", counts, n)
    counts = counts if order is None else counts[order]
    first = counts[offsets[:-1]]
    differs = np.flatnonzero(counts != np.repeat(first, np.diff(offsets)))
    if len(differs):
        row = differs[0] if order is None else order[differs[0]]
        raise RowError(
            int(row),
            f"has the count {counts[differs[0]]:g}, but other rows of its page have another; a "
            "count says how often the whole page was shown",
        )
    return first


def page_order(
    rows: NDArray[np.int64] | None,
    offsets: NDArray[np.int64],
    places: NDArray[np.int32] | None,
) -> NDArray[np.int64] | None:
    """Return rows by page and, within it, by position; None if they are in that order already."""
    if places is None:
        return rows
    gathered = places if rows is None else places[rows]
    pages = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    if not ((np.diff(gathered) < 0) & (np.diff(pages) == 0)).any():
        return rows
    order = np.lexsort((gathered, pages))
    return order if rows is None else rows[order]


def check_one_query(
    asked: Ids,
    order: NDArray[np.int64] | None,
    offsets: NDArray[np.int64],
    first: NDArray[np.int64],
) -> None:
    """Raise if the rows of a page name different queries."""
    gathered = asked if order is None else asked[order]
    differs = np.flatnonzero(gathered != np.repeat(asked[first], np.diff(offsets)))
    if len(differs):
        row = differs[0] if order is None else order[differs[0]]
        raise RowError(
            int(row),
            f"has query {gathered[differs[0]]!r}, but other rows of its page have a different "
            "query; give each page its own id",
        )


def check_pages(log: ClickLog) -> None:
    """Raise if two documents are at the same position of a page."""
    same = np.flatnonzero(np.diff(log.positions) == 0) + 1
    twice = np.setdiff1d(same, log.offsets)
    if len(twice):
        row = int(twice[0])
        where = log.rows[row] if log.rows is not None else row
        if log.documents[row] == log.documents[row - 1]:
            reason = (
                f"repeats the document at position {log.positions[row]} of its page; pass "
                f"{argument('drop_duplicates', True)}, or give each page its own id"
            )
        else:
            reason = (
                f"is at position {log.positions[row]} of its page, but another document is already "
                "there; give each page its own id, and each of its documents its own position"
            )
        raise RowError(int(where), reason)
