"""Simulate impressions with clicks from judged queries, for a user who reads from the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.users import CASCADE_CLICKS, GradedUser, cascade_user, grade_levels
from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import check_counts, check_rng

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def click_probabilities(noise: float = 0.0) -> tuple[float, ...]:
    """Return the published probabilities by grade, that of grade 0 raised by `noise`.

    >>> click_probabilities(noise=0.25)
    (0.3, 0.3, 0.5, 0.7, 0.95)
    """
    return cascade_user(noise).clicks


def cascade_clicks(
    data: QueryDataset,
    rng: np.random.Generator,
    *,
    probabilities: Sequence[float] = CASCADE_CLICKS,
    impressions: int = 10,
) -> QueryDataset:
    """Turn judged queries into impressions with clicks.

    Each query is shown `impressions` times, shuffled. A user reads from the top, clicks a document
    of grade g with probability `probabilities[g]` and stops at the first click. The documents that
    were read become a query of their own, `<id>#<k>`: the clicked document, which is the last one,
    has grade 1, and those above it have grade 0. A list without a click is left out, because
    nothing can be learnt from it.

    Where we depart: the paper keeps impressions without a click; with one grade they change no
    model.

    Parameters
    ----------
    data : judged queries, grades being whole numbers; unjudged documents count as grade 0
    rng : random generator
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
    user = GradedUser(tuple(probabilities), (1.0,) * len(probabilities))
    grade_levels(data.y, len(probabilities))
    rows: list[NDArray[np.int64]] = []
    ids: list[str] = []
    weights: list[float] = []
    for q, name in enumerate(data.query_ids):
        first, end = data.offsets[q], data.offsets[q + 1]
        for k in range(impressions):
            shown = first + rng.permutation(end - first)
            clicked = np.flatnonzero(user.sample(rng, data.y[shown]))
            if len(clicked):
                rows.append(shown[: clicked[0] + 1])
                ids.append(f"{name}#{k}")
                weights.append(1.0 if data.query_weight is None else data.query_weight[q])
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
        sample_weight=None if data.sample_weight is None else data.sample_weight[taken],
        query_weight=None if data.query_weight is None else weights,
        allow_nan=True,
    )
