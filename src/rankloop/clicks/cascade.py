"""The cascade model: users read from the top and stop at the first click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CLICK_PROBABILITIES = (0.05, 0.3, 0.5, 0.7, 0.95)
"""Of grades 0 to 4, without more noise."""


def click_probabilities(noise: float = 0.0) -> tuple[float, ...]:
    """Return the published probabilities by grade, that of grade 0 raised by `noise`.

    >>> click_probabilities(noise=0.25)
    (0.3, 0.3, 0.5, 0.7, 0.95)
    """
    first, *others = CLICK_PROBABILITIES
    if not 0 <= noise <= 1 - first:
        raise DataError(f"noise must be from 0 to {1 - first:g}; found {noise!r}")
    return (first + noise, *others)


def first_clicks(
    grades: NDArray[np.float64], probabilities: NDArray[np.float64], rng: np.random.Generator
) -> int:
    """Read a list from the top; return the row of the first click, or -1.

    Parameters
    ----------
    grades : of the documents in the order shown, whole numbers; below 0 counts as 0
    probabilities : of a click, by grade
    """
    levels = np.maximum(grades, 0).astype(np.int64)
    clicked = rng.random(len(grades)) < probabilities[levels]
    return int(clicked.argmax()) if clicked.any() else -1


def cascade_clicks(
    data: QueryDataset,
    rng: np.random.Generator,
    *,
    probabilities: Sequence[float] = CLICK_PROBABILITIES,
    impressions: int = 10,
) -> QueryDataset:
    """Turn judged queries into impressions with clicks.

    Each query is shown `impressions` times, shuffled. A user reads from the top, clicks a document
    of grade g with probability `probabilities[g]` and stops at the first click. What was read
    becomes a query of its own, `<id>#<k>`: the clicked document, its last, has grade 1, those above
    it grade 0. A list read to its end without a click is left out: it has nothing to teach.

    Where we depart: the paper keeps impressions without a click; with one grade they change no
    model.

    Parameters
    ----------
    data : judged queries, grades being whole numbers; unjudged documents count as grade 0
    rng : where the draws come from
    probabilities : of a click by grade, each from 0 to 1; see :func:`click_probabilities`
    impressions : of each query

    Notes
    -----
    Cost: O(impressions x n) time, and as much memory as was read.

    Examples
    --------
    >>> data = QueryDataset.from_arrays(np.eye(3), [0, 2, 0], qid=["a"] * 3)
    >>> clicks = cascade_clicks(data, np.random.default_rng(0), probabilities=(0, 0, 1))
    >>> len(clicks), clicks.query(0).id, clicks.query(0).y.tolist()
    (10, 'a#0', [0.0, 0.0, 1.0])

    References
    ----------
    Craswell et al., An experimental comparison of click position-bias models (2008); Bruch, An
    alternative cross entropy loss for learning-to-rank (2021): appendix E.
    """
    check_rng(rng)
    check_counts(impressions=impressions)
    chances = _checked(probabilities, data)
    rows: list[NDArray[np.int64]] = []
    ids: list[str] = []
    weights: list[float] = []
    for q, name in enumerate(data.query_ids):
        first, end = data.offsets[q], data.offsets[q + 1]
        for k in range(impressions):
            shown = first + rng.permutation(end - first)
            last = first_clicks(data.y[shown], chances, rng)
            if last >= 0:
                rows.append(shown[: last + 1])
                ids.append(f"{name}#{k}")
                weights.append(1.0 if data.query_weights is None else data.query_weights[q])
    sizes = np.array([len(read) for read in rows], np.int64)
    taken = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    ends = np.cumsum(sizes)
    grades = np.zeros(len(taken))
    grades[ends - 1] = 1.0
    return QueryDataset.from_arrays(
        data.X[taken],
        grades,
        qid=np.repeat(np.array(ids, dtype=np.dtypes.StringDType()), sizes),
        doc_ids=None if data.doc_ids is None else data.doc_ids[taken],
        feature_names=data.feature_names,
        doc_weights=None if data.doc_weights is None else data.doc_weights[taken],
        query_weights=None if data.query_weights is None else weights,
        allow_nan=True,
    )


def _checked(probabilities: Sequence[float], data: QueryDataset) -> NDArray[np.float64]:
    chances = np.asarray(probabilities, np.float64)
    if chances.ndim != 1 or not ((chances >= 0) & (chances <= 1)).all():
        raise DataError(f"probabilities must be numbers from 0 to 1; found {probabilities!r}")
    judged = data.y[data.y >= 0]
    if (judged != np.floor(judged)).any():
        bad = judged[judged != np.floor(judged)][0]
        raise DataError(f"the grade {bad:g} is not whole; there is one probability a whole grade")
    if judged.max(initial=0) >= len(chances):
        raise DataError(
            f"grades go up to {judged.max():g}, but there are probabilities only for 0 to "
            f"{len(chances) - 1}: give one for each grade"
        )
    return chances
