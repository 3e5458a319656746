"""ClickLog: pages that were shown, and what was clicked on them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.messages import count
from rankloop.clicks.log.checks import (
    RowError,
    as_clicks,
    as_positions,
    as_propensities,
    as_seen,
    check_one_query,
    check_pages,
    page_counts,
    page_order,
    whole_or_text,
)
from rankloop.clicks.log.coding import code_ids, match_ids
from rankloop.clicks.log.grouped_pages import GroupedPages, group
from rankloop.data.grouping import as_ids, group_by_id
from rankloop.data.validation import as_weights, check_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog:
    """Result pages in flat arrays: rows of page `p` are `offsets[p]:offsets[p + 1]`, from the top.

    A page is one list shown to one user, of any length. Queries and documents are codes into
    their ids. Make a log with :meth:`from_rows` or :meth:`from_pages`, or with a reader; the
    constructor takes arrays that are already checked.

    Parameters
    ----------
    offsets : (pages + 1,) where each page starts
    queries : (pages,) the query's code
    documents : (rows,) the document's code
    positions : (rows,) where it was shown, from 1, increasing within a page; gaps are allowed
    clicks : (rows,) whether it was clicked, once or more
    query_ids, document_ids : numbers or text by code
    counts : (pages,) how often each page was seen, at least 0; None: once each
    propensities : (rows,) how likely the logging ranker was to show this document there, above 0
        and at most 1; None if that is not known
    page_ids : (pages,) ids of the pages, or None
    rows : (rows,) the caller's row of each row here, or None if the order is the caller's
    notes : what a reader left out, in words

    Examples
    --------
    >>> log = ClickLog.from_pages([("shoes", ["a", "b"], ["b"]), ("hats", ["c"], [])])
    >>> log
    ClickLog(2 pages, 2 queries, 3 shown documents, 1 click)
    >>> log.positions.tolist(), log.clicks.tolist()
    ([1, 2, 1], [False, True, False])
    """

    offsets: NDArray[np.int64]
    queries: NDArray[np.int32]
    documents: NDArray[np.int32]
    positions: NDArray[np.int32]
    clicks: NDArray[np.bool_]
    query_ids: Ids
    document_ids: Ids
    counts: NDArray[np.float64] | None = None
    propensities: NDArray[np.float64] | None = None
    page_ids: Ids | None = None
    rows: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_rows(
        cls,
        query: ArrayLike,
        document: ArrayLike,
        clicked: ArrayLike,
        *,
        position: ArrayLike | None = None,
        page: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        seen: ArrayLike | None = None,
        count: ArrayLike | None = None,
    ) -> ClickLog:
        """Group rows into pages; each row is one shown document.

        Parameters
        ----------
        query, document : ids, one per row
        clicked : whether it was clicked: booleans, or numbers of clicks
        position : where it was shown, from 1; None: in the order of the rows
        page : the id of each row's page; None: all rows of a query are one page
        propensity : how likely this document was to be shown there
        seen : whether somebody looked at the document: 0 if it is known that nobody did, and any
            number above 0 otherwise. Rows with 0 are left out, and counted in `notes`
        count : how often the page was shown, the same in all its rows; None: once

        Raises
        ------
        DataError
            if a value is not valid: it names the row and what to do.
        """
        asked = as_ids(query, "query")
        grouping = group_by_id(asked if page is None else as_ids(page, "page"))
        n = len(asked)
        check_length("page" if page is not None else "query", asked, int(grouping.offsets[-1]))
        shown, clicks = as_ids(document, "document"), as_clicks(clicked)
        places = None if position is None else as_positions(position)
        for name, values in (("document", shown), ("clicked", clicks), ("position", places)):
            if values is not None:
                check_length(name, values, n)
        order = page_order(grouping.rows, grouping.offsets, places)
        starts = grouping.offsets[:-1]
        first = starts if order is None else order[starts]
        queries, query_ids = code_ids(asked[first], "query")
        check_one_query(asked, order, grouping.offsets, first)
        documents, document_ids = code_ids(shown if order is None else shown[order], "document")
        if places is None:
            positions = (np.arange(n) - np.repeat(starts, np.diff(grouping.offsets)) + 1).astype(
                np.int32
            )
        else:
            positions = places if order is None else places[order]
        log = cls(
            grouping.offsets,
            queries,
            documents,
            positions,
            clicks if order is None else clicks[order],
            query_ids,
            document_ids,
            None if count is None else page_counts(count, n, order, grouping.offsets),
            None if propensity is None else as_propensities(propensity, n, order),
            grouping.ids if page is not None else None,
            order,
        )
        check_pages(log)
        return log if seen is None else log.without_unseen(as_seen(seen, n, order))

    def without_unseen(self, seen: ArrayLike) -> ClickLog:
        """Leave out documents that nobody looked at; positions stay, so pages may have gaps.

        >>> log = ClickLog.from_pages([("shoes", ["a", "b", "c"], ["b"])])
        >>> kept = log.without_unseen([1, 1, 0])
        >>> kept, kept.notes
        (ClickLog(1 page, 1 query, 2 shown documents, 1 click), ('1 unseen document left out',))
        """
        keep = np.asarray(seen, bool)
        check_length("seen", keep, len(self.documents))
        wrong = np.flatnonzero(self.clicks & ~keep)
        if len(wrong):
            where = wrong[0] if self.rows is None else self.rows[wrong[0]]
            raise RowError(int(where), "was clicked, but seen says that nobody looked at it")
        if keep.all():
            return self
        sizes = np.diff(np.r_[0, np.cumsum(keep)][self.offsets])
        left = replace(
            self,
            offsets=np.r_[0, np.cumsum(sizes)],
            documents=self.documents[keep],
            positions=self.positions[keep],
            clicks=self.clicks[keep],
            propensities=None if self.propensities is None else self.propensities[keep],
            rows=np.flatnonzero(keep) if self.rows is None else self.rows[keep],
        ).select(sizes > 0)
        note = f"{count(int((~keep).sum()), 'unseen document', 'unseen documents')} left out"
        return replace(left, notes=(*self.notes, note))

    @classmethod
    def from_pages(
        cls, pages: Iterable[tuple[int | str, Sequence[int | str], Iterable[int | str]]]
    ) -> ClickLog:
        """Take pages as (query, documents from the top, clicked documents).

        Clicks on documents that were not shown are left out, and counted in `notes`.
        """
        # Codes of a few bytes, and each id once: pages may come from a file that is much larger.
        known: dict[int | str, int] = {}
        asked: dict[int | str, int] = {}
        queries, sizes, documents, clicks = array("i"), array("i"), array("i"), bytearray()
        astray = 0
        for query, shown, clicked in pages:
            marked = set(clicked)
            queries.append(asked.setdefault(query, len(asked)))
            documents.extend([known.setdefault(document, len(known)) for document in shown])
            clicks.extend([document in marked for document in shown])
            sizes.append(len(shown))
            astray += len(marked.difference(shown))
        log = cls.from_rows(
            np.repeat(whole_or_text(list(asked))[np.asarray(queries)], sizes),
            whole_or_text(list(known))[np.asarray(documents)],
            np.frombuffer(clicks, bool),
            page=np.repeat(np.arange(len(queries)), sizes),
        )
        note = f"{astray:,} clicks on documents that were not shown left out"
        return replace(log, page_ids=None, notes=(note,) if astray else ())

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        numbers = (
            count(len(self), "page", "pages"),
            count(len(self.query_ids), "query", "queries"),
            count(len(self.documents), "shown document", "shown documents"),
            count(int(self.clicks.sum()), "click", "clicks"),
        )
        return f"ClickLog({', '.join(numbers)})"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many documents each page shows."""
        return np.diff(self.offsets)

    @property
    def row_counts(self) -> NDArray[np.float64]:
        """How often each row was seen."""
        if self.counts is None:
            return np.ones(len(self.documents))
        return np.repeat(self.counts, self.sizes)

    @property
    def row_queries(self) -> NDArray[np.int32]:
        """The query's code of each row."""
        return np.repeat(self.queries, self.sizes)

    @cached_property
    def grouped_pages(self) -> GroupedPages:
        """The same pages grouped by query, with equal pages counted together; computed once."""
        return group(self)

    def with_clicks(self, clicks: ArrayLike) -> ClickLog:
        """Return the same pages with other clicks."""
        taken = as_clicks(clicks)
        check_length("clicks", taken, len(self.documents))
        return replace(self, clicks=taken, notes=())

    def with_counts(self, counts: ArrayLike) -> ClickLog:
        """Return the same pages with other counts; this is how pages are resampled."""
        taken = as_weights(counts, "counts")
        check_length("counts", taken, len(self))
        return replace(self, counts=taken)

    def select(self, pages: ArrayLike) -> ClickLog:
        """Return some pages, by their numbers or a mask; codes and ids stay as they are.

        >>> log = ClickLog.from_pages([("shoes", ["a", "b"], ["b"]), ("hats", ["c"], [])])
        >>> log.select([1])
        ClickLog(1 page, 2 queries, 1 shown document, 0 clicks)
        """
        wanted = np.asarray(pages)
        chosen = np.flatnonzero(wanted) if wanted.dtype == bool else wanted.astype(np.int64)
        sizes = self.sizes[chosen]
        offsets = np.r_[0, np.cumsum(sizes)]
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        return replace(
            self,
            offsets=offsets,
            queries=self.queries[chosen],
            documents=self.documents[rows],
            positions=self.positions[rows],
            clicks=self.clicks[rows],
            counts=None if self.counts is None else self.counts[chosen],
            propensities=None if self.propensities is None else self.propensities[rows],
            page_ids=None if self.page_ids is None else self.page_ids[chosen],
            rows=rows if self.rows is None else self.rows[rows],
            notes=(),
        )

    def of_queries(self, query_ids: ArrayLike) -> ClickLog:
        """Return the pages of these queries."""
        known = match_ids(self.query_ids, as_ids(query_ids, "query_ids")) >= 0
        return self.select(known[self.queries])
