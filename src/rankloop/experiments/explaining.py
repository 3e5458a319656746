"""What a model uses, and what features add to its scores: in total, or for each document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from rankloop._utils.arguments import check_type
from rankloop._utils.tabular import Tabular, show
from rankloop.data.frames import as_frame
from rankloop.exceptions import DataError
from rankloop.features.columns import Features
from rankloop.measures.ranking import rank_order
from rankloop.rankers.base import Ranker
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.training import as_data_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.explaining import Parts

_MAX_QUERIES = 200
_MAX_ROWS = 5_000
_FEW = 5
_SIGNED = {"weight", "coefficient", "alpha", "effect"}


class Explanation(Tabular, Sequence["dict[str, Any]"]):
    """The rows of an explanation, the most important first; each is a dictionary.

    It prints as a table, and is one in notebooks, with the largest few of many values in a row.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Explanation: ...
    def __getitem__(self, place: int | slice) -> dict[str, Any] | Explanation:
        if isinstance(place, slice):
            return Explanation(self.parts[place])
        return self.parts[place]

    def __repr__(self) -> str:
        return f"Explanation({len(self)} rows)\n{self}"

    def to_frame(self, kind: str | None = None) -> Any:
        """Return the rows as a frame of pandas or polars; None: of the one that is installed."""
        return as_frame(self.parts, kind)

    def _rows(self) -> Sequence[Mapping[str, object]]:
        columns = list(dict.fromkeys(key for part in self.parts for key in part))
        return [{key: _short(key, part.get(key)) for key in columns} for part in self.parts]


def _short(key: str, value: object) -> str:
    """Write a value; weights have a sign, and of many, the largest are shown."""
    if isinstance(value, dict):
        largest = sorted(value, key=lambda name: -abs(value[name]))[:_FEW]
        shown = ", ".join(f"{name} {_short('weight', value[name])}" for name in largest)
        return shown + (f" and {len(value) - _FEW} more" if len(value) > _FEW else "")
    if isinstance(value, list):
        shown = ", ".join(_short(key, part) for part in value[:_FEW])
        return shown + (f" and {len(value) - _FEW} more" if len(value) > _FEW else "")
    if isinstance(value, float):
        return ("+" if key in _SIGNED and value > 0 else "") + show(value)
    return "" if value is None else str(value)


def explain(
    model: Ranker, data: object = None, *, query: object = None, top: int | None = None
) -> Explanation:
    """Return what a model uses or, with data, what each feature adds to its scores.

    Without data: the parts of the model, such as weights, trees or members; not all models have
    any. With data: the features of any model by their effect, which is how far they move scores
    within queries, in units of the deviation of the scores. With a query: its documents, best
    first, each with the features that moved it most.

    Parameters
    ----------
    model : a fitted ranker
    data : a data set, or a frame or table with the features of the model and a column of query ids;
        grades are not needed
    query : the id of one query of the data
    top : the number of rows, or of features of each document of a query, which is 5 by default

    Cost: with data, one prediction per feature, of at most 200 queries.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.online.slam import Slam
    >>> data = separable(40, np.random.default_rng(0), n_features=3).data
    >>> model = Slam().fit(data)
    >>> print(explain(model, data))
    feature  effect
    3        +0.8009
    2        +0.0555
    1        +0.0208
    >>> explain(model, top=1)[0]["feature"]
    '3'
    >>> explain(model, data, query=7)[0]["rank"]
    1
    """
    check_type("model", model, Ranker, "a ranker")
    if top is not None:
        check_whole("top", top, 1)
    if data is None:
        if query is not None:
            raise DataError("a query can only be explained with data; give data, too")
        return Explanation(parts_of(model)[:top])
    known = as_data_of(model, data)
    if query is not None:
        return Explanation(explain_ranking(model, known, str(query), top or _FEW))
    return Explanation(importance(model, known)[:top])


def parts_of(ranker: Ranker) -> Parts:
    """Return the parts of a model, the most important first; raise if it has none to show."""
    kind = type(ranker).__name__
    try:
        return ranker.explain()
    except DataError:
        raise DataError(
            f"a {kind} has no parts to show without data; give data, as in `rankloop explain MODEL "
            "DATA` or rl.explain(model, data), to see what each feature adds to its scores"
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
        more = " ..." if len(ids) > 10 else ""
        raise DataError(f"there is no query {query!r}; there are {', '.join(ids[:10])}{more}")
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
