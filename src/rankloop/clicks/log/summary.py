"""Numbers of a click log, and warnings about what cannot be learnt from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.models.counts import add_up
from rankloop.clicks.offpolicy.shares import by_page, pages_seen
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from rankloop.clicks.log.log import ClickLog

_FEW_MOVED = 0.05


@dataclass(frozen=True)
class LogSummary:
    """Numbers of a click log.

    pages, queries, documents, shown, clicks : their numbers; a page counts as often as it was seen
    clicked_pages : the share of pages with a click
    positions, click_rates : the share of documents shown at each position that were clicked
    moved : the share of (query, document) pairs that were shown at two positions or more, from
        which position bias can be estimated
    notes : warnings, and what a reader left out
    """

    pages: float
    queries: int
    documents: int
    shown: float
    clicks: float
    clicked_pages: float
    positions: tuple[int, ...]
    click_rates: tuple[float, ...]
    moved: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return asdict(self)


def summarise_log(log: ClickLog) -> LogSummary:
    """Count what a log holds, in O(rows log rows).

    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["b"]), ("q", ["b", "a"], [])])
    >>> summary = summarise_log(log)
    >>> summary.click_rates, summary.moved, summary.clicked_pages
    ((0.0, 0.5), 1.0, 0.5)
    """
    seen = log.row_counts
    most = int(log.positions.max(initial=0)) + 1
    views = add_up(log.positions, seen, most)
    clicks = add_up(log.positions, seen * log.clicks, most)
    there = np.flatnonzero(views > 0)
    pages = pages_seen(log)
    clicked = by_page(log, log.clicks.astype(float)) > 0
    counts = np.ones(len(log)) if log.counts is None else log.counts
    moved = _measure_moved(log)
    notes = list(log.notes)
    if moved < _FEW_MOVED:
        notes.append(_inseparable(moved))
    if not log.clicks.any():
        notes.append("nothing was clicked: there is nothing to learn from")
    return LogSummary(
        pages=pages,
        queries=len(np.unique(log.queries)),
        documents=len(np.unique(log.documents)),
        shown=float(seen.sum()),
        clicks=float((seen * log.clicks).sum()),
        clicked_pages=float((counts * clicked).sum() / pages) if pages > 0 else 0.0,
        positions=tuple(there.tolist()),
        click_rates=tuple((clicks[there] / views[there]).tolist()),
        moved=moved,
        notes=tuple(notes),
    )


def check_separable(log: ClickLog) -> None:
    """Raise if hardly any document was shown at two positions: bias cannot be estimated then."""
    moved = _measure_moved(log)
    if moved < _FEW_MOVED:
        raise DataError(_inseparable(moved))


def _inseparable(moved: float) -> str:
    return (
        f"{moved:.1%} of (query, document) pairs were shown at two positions or more, "
        "so position bias cannot be separated from relevance; randomise a little, or log from "
        "several rankers"
    )


def _measure_moved(log: ClickLog) -> float:
    keys = log.row_queries.astype(np.int64) * len(log.document_ids) + log.documents
    if len(keys) == 0:
        return 0.0
    _, pair = np.unique(keys, return_inverse=True)
    low, high = np.full(pair.max() + 1, np.iinfo(np.int32).max), np.zeros(pair.max() + 1, int)
    np.minimum.at(low, pair, log.positions)
    np.maximum.at(high, pair, log.positions)
    return float((high > low).mean())
