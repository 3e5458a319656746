"""What features add to scores, for any ranker: in total, or for each document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.columns import Features
from rankloop.measures.ranking import rank_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.explaining import Parts

_MAX_QUERIES = 200
_MAX_ROWS = 5_000


def parts_of(ranker: Ranker) -> Parts:
    """Return the parts of a model, the most important first; raise if it has none to show."""
    kind = type(ranker).__name__
    try:
        return ranker.explain()
    except DataError:
        raise DataError(
            f"a {kind} has no parts to show without data; give data, as in "
            "`rankloop explain MODEL DATA`, to see what each feature adds to its scores"
        ) from None


def contributions(ranker: Ranker, data: QueryDataset) -> NDArray[np.float64]:
    """Return what each feature adds to each document's score, compared with others of its query.

    It is the amount by which the score falls when all documents of the query get the median value
    of the feature, because a feature that is the same for all of them does not rank. For a linear
    ranker this is weight x (value - median). Categories have no median: all documents get none. It
    works for every ranker.

    Cost: one prediction per feature.
    """
    scores = np.asarray(ranker.predict(data), np.float64)
    changes = np.zeros(data.X.shape)
    categorical = set(Features.of(data).categorical)
    for j in range(data.n_features):
        levelled = data.X.copy()
        for first, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            levelled[first:end, j] = np.nan if j in categorical else _middle(data.X[first:end, j])
        if not np.array_equal(levelled, data.X, equal_nan=True):
            changes[:, j] = scores - ranker.predict(_with(data, levelled))
    return changes


def _with(data: QueryDataset, X: NDArray[np.float32]) -> QueryDataset:
    from dataclasses import replace

    return replace(data, X=X)


def _middle(values: NDArray[np.float32]) -> np.float32:
    """Return the lower median of the values that are not missing, or NaN if all are missing."""
    known = np.sort(values[~np.isnan(values)])
    return known[(len(known) - 1) // 2] if len(known) else np.float32(np.nan)


def importance(ranker: Ranker, data: QueryDataset) -> Parts:
    """Return the features by how much they move scores within queries, the largest first.

    `effect` is the mean size of a feature's contribution, in units of the scores' own deviation
    within queries. If there are many queries, it uses evenly spaced ones.

    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.ensembles.auto import Auto
    >>> data = separable(40, np.random.default_rng(0), n_features=3).data
    >>> importance(Auto().fit(data), data)[0]["feature"]
    '3'
    """
    some = _some(data)
    added = np.abs(contributions(ranker, some)).mean(axis=0)
    scores = np.asarray(ranker.predict(some), np.float64)
    query = np.repeat(np.arange(len(some)), some.sizes)
    means = np.bincount(query, scores) / np.maximum(some.sizes, 1)
    spread = float(np.sqrt(np.mean((scores - means[query]) ** 2))) or 1.0
    names = some.feature_names or [str(j + 1) for j in range(some.n_features)]
    order = np.argsort(-added, kind="stable")
    return [{"feature": names[j], "effect": float(added[j] / spread)} for j in order]


def _some(data: QueryDataset) -> QueryDataset:
    if len(data) <= _MAX_QUERIES and data.n_documents <= _MAX_ROWS:
        return data
    rows = max(data.n_documents / max(len(data), 1), 1)
    count = max(1, min(_MAX_QUERIES, len(data), int(_MAX_ROWS / rows)))
    return data.select(np.linspace(0, len(data) - 1, count).astype(int))


def explain_ranking(ranker: Ranker, data: QueryDataset, query: str, top: int = 5) -> Parts:
    """Return the documents of a query, best first, each with the features that moved it most."""
    ids = [str(query_id) for query_id in data.query_ids]
    if query not in ids:
        raise DataError(f"there is no query {query!r}; there are {', '.join(ids[:10])} ...")
    chosen = data.select([ids.index(query)])
    scores = np.asarray(ranker.predict(chosen), np.float64)
    added = contributions(ranker, chosen)
    names = chosen.feature_names or [str(j + 1) for j in range(chosen.n_features)]
    rows = []
    for place, row in enumerate(rank_order(chosen, scores), start=1):
        most = np.argsort(-np.abs(added[row]), kind="stable")[:top]
        rows.append(
            {
                "rank": place,
                "document": str(chosen.doc_ids[row]) if chosen.doc_ids is not None else str(row),
                "score": float(scores[row]),
                "because": {names[j]: float(added[row, j]) for j in most if added[row, j]},
            }
        )
    return rows
