"""Pages grouped by query, with equal pages counted together: click models are fitted to these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.clicks.log.pair_table import PairTable
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.data.grouping import Ids

    PageArrays = tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.uint8],
    ]


@dataclass(frozen=True, eq=False)
class GroupedPages:
    """Different pages, by query; a pair is a query and a document that it showed.

    query_pages : pages of query q are query_pages[q]:query_pages[q + 1]
    query_pairs : its pairs are query_pairs[q]:query_pairs[q + 1]
    offsets : where each page starts
    counts : how often each page was seen
    pairs, positions, clicks : of each row
    pair_documents : the document's code of each pair
    """

    query_pages: NDArray[np.int64]
    query_pairs: NDArray[np.int64]
    offsets: NDArray[np.int64]
    counts: NDArray[np.float64]
    pairs: NDArray[np.int32]
    positions: NDArray[np.int32]
    clicks: NDArray[np.uint8]
    pair_documents: NDArray[np.int32]
    query_ids: Ids
    document_ids: Ids

    @property
    def arrays(self) -> PageArrays:
        """The arrays that the compiled core takes."""
        return (
            self.query_pages,
            self.query_pairs,
            self.offsets,
            self.counts,
            self.pairs,
            self.positions,
            self.clicks,
        )

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return len(self.pair_documents)

    @property
    def row_counts(self) -> NDArray[np.float64]:
        """How often each row was seen."""
        return np.repeat(self.counts, np.diff(self.offsets))

    @property
    def pair_queries(self) -> NDArray[np.int64]:
        """The query's code of each pair."""
        return np.repeat(np.arange(len(self.query_pairs) - 1), np.diff(self.query_pairs))

    def table(self, values: NDArray[np.float64], default: float) -> PairTable:
        """Return numbers by pair as a table."""
        keys = self.pair_queries * len(self.document_ids) + self.pair_documents
        order = np.argsort(keys)
        return PairTable(self.query_ids, self.document_ids, keys[order], values[order], default)


def group(log: ClickLog) -> GroupedPages:
    """Group the pages of a log by query, in O(rows)."""
    if len(log) == 0:
        raise DataError("the log has no pages; there is nothing to learn from")
    arrays = _core.group_click_log(
        log.offsets,
        log.queries,
        log.documents,
        log.positions,
        log.clicks.view(np.uint8),
        log.counts,
        len(log.query_ids),
    )
    return GroupedPages(*arrays, log.query_ids, log.document_ids)
