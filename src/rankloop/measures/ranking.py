"""The order of documents by score, higher scores first, and how ties are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.exceptions import DataError, MeasureError
from rankloop.measures.predictions import Predictions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.data.grouping import Ids


def as_scores(scores: ArrayLike, data: QueryDataset) -> NDArray[np.float32] | NDArray[np.float64]:
    """Check scores: one per document, no NaN. Minus infinity means *not retrieved*.

    Those that a ranker gave to rows in the order of the caller are brought into that of the data.
    A series may be a column of the table or not; both orders are common, so it is an error then.
    """
    n = data.n_documents
    if isinstance(scores, Predictions) and scores.shape == (n,):
        scores = scores.in_order_of(data)
    elif data.rows is not None and hasattr(scores, "name") and hasattr(scores, "to_numpy"):
        raise DataError(
            "the scores are a series, and the rows of this data set are in another order than "
            "those of its table, so in which order the scores are is not known; pass "
            "data.from_row_order(scores.to_numpy()) if they are in that of the table, or "
            "scores.to_numpy() if they are in that of the data set"
        )
    try:
        values = np.ascontiguousarray(scores)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"scores must be numbers: {error}") from None
    if values.dtype not in (np.float32, np.float64):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"scores must be numbers: {error}") from None
    if values.shape != (n,):
        raise DataError(f"expected {n:,} scores, one per document; found shape {values.shape}")
    if np.isnan(values).any():
        raise DataError(
            f"the score of row {int(np.isnan(values).argmax())} is NaN; scores must be numbers"
        )
    return values


def tie_keys(doc_ids: Ids | None) -> NDArray[np.int64]:
    """Rank documents by id, descending, as trec_eval breaks ties."""
    if doc_ids is None:
        raise MeasureError(
            "this convention breaks ties by document id, but the data has none; "
            "add ids or choose another convention"
        )
    keys = np.empty(len(doc_ids), np.int64)
    keys[np.argsort(doc_ids, kind="stable")[::-1]] = np.arange(len(doc_ids))
    return keys


def rank_order(data: QueryDataset, scores: ArrayLike, ties: str = "stable") -> NDArray[np.int64]:
    """Return row numbers in rank order, query after query; higher scores come first. O(n log m).

    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((4, 1)), [0] * 4, group=[3, 1])
    >>> rank_order(data, [0.5, 2.0, 0.5, 1.0]).tolist()
    [1, 0, 2, 3]
    """
    keys = tie_keys(data.doc_ids) if ties == "doc_id" else None
    return _core.rank_rows(as_scores(scores, data), data.offsets, keys, threads())
