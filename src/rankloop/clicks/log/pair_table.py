"""A table of numbers by query and document, such as the attraction of a click model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.log.coding import match_ids
from rankloop.data.grouping import as_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.data.grouping import Ids


@dataclass(frozen=True, eq=False, repr=False)
class PairTable:
    """One number for each query and document that were seen together, `default` for all others.

    Pairs are compared by their ids, so a table made from one log can be used for another.

    Parameters
    ----------
    query_ids, document_ids : ids by code
    keys : (n,) query code x documents + document code, in increasing order
    values : (n,) numbers
    default : the number of a pair that was never seen
    """

    query_ids: Ids
    document_ids: Ids
    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    default: float

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"PairTable({len(self):,} pairs, {self.default:.3g} for others)"

    def of(self, log: ClickLog) -> NDArray[np.float64]:
        """Return the number of each row of a log."""
        queries = match_ids(log.query_ids, self.query_ids)[log.row_queries]
        documents = match_ids(log.document_ids, self.document_ids)[log.documents]
        return self._at(queries, documents)

    def get(self, query: int | str, document: int | str) -> float:
        """Return the number of one query and document."""
        codes = (
            match_ids(as_ids([query], "query"), self.query_ids),
            match_ids(as_ids([document], "document"), self.document_ids),
        )
        return float(self._at(*codes)[0])

    def _at(self, queries: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.float64]:
        if len(self) == 0:
            return np.full(len(queries), self.default)
        wanted = queries * len(self.document_ids) + documents
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self) - 1)
        known = (queries >= 0) & (documents >= 0) & (self.keys[place] == wanted)
        return np.where(known, self.values[place], self.default)
