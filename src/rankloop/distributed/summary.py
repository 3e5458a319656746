"""The size and the columns of a part, which is all that the client learns about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class PartSummary:
    """The size of a part, and its first query, which shows its columns."""

    n_queries: int
    n_documents: int
    first: QueryDataset


def summarise_part(data: QueryDataset) -> PartSummary:
    """Describe a part; its first query is copied."""
    first = data.select(slice(0, 1))
    weight = first.sample_weight
    shown = QueryDataset(
        np.array(first.X),
        first.y.copy(),
        first.offsets,
        first.query_ids,
        feature_names=first.feature_names,
        sample_weight=None if weight is None else weight.copy(),
        query_weight=first.query_weight,
        features=first.features,
    )
    return PartSummary(len(data), data.n_documents, shown)


def check_summaries(
    summaries: Sequence[PartSummary], names: Sequence[str]
) -> tuple[QueryDataset, int]:
    """Return a query that shows the columns, and the number of all queries.

    Raises
    ------
    DataError
        if parts have different columns, or there are no documents at all.
    """
    filled = [(s, n) for s, n in zip(summaries, names, strict=True) if s.n_documents]
    if not filled:
        raise DataError("no part has any documents; there is nothing to learn from")
    like, first = filled[0]
    for summary, name in filled[1:]:
        ours, theirs = like.first, summary.first
        if (ours.n_features, ours.feature_names) != (theirs.n_features, theirs.feature_names):
            raise DataError(
                f"{name} has other columns than {first}: {_describe_columns(theirs)} instead of "
                f"{_describe_columns(ours)}; parts must have the same columns in the same order"
            )
    return like.first, sum(summary.n_queries for summary in summaries)


def _describe_columns(data: QueryDataset) -> str:
    named = "" if data.feature_names is None else f" ({', '.join(data.feature_names[:5])} ...)"
    return f"{data.n_features} features{named}"
