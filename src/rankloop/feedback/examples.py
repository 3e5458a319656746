"""Examples from a ranking and its feedback, for `partial_fit` of any ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import check_length
from rankloop.exceptions import DataError
from rankloop.feedback.grading import UNJUDGED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.feedback.ranking import Ranking


def make_graded_example(
    ranking: Ranking, grades: NDArray[np.float64], sample_weight: NDArray[np.float64] | None = None
) -> QueryDataset:
    """Return the candidates with their grades as one query; those not shown stay unjudged."""
    X = _features(ranking)
    return QueryDataset(
        X,
        grades,
        np.array([0, len(X)]),
        np.array([0]),
        sample_weight=sample_weight,
    )


def keep_seen(ranking: Ranking, grades: ArrayLike, last: int | None = None) -> NDArray[np.float64]:
    """Return the grades of what was most likely seen: up to the last choice, and one after it.

    Users read from the top, and what is below the last choice was perhaps never read. Documents
    further down become unjudged. If nothing was chosen, nothing was seen.

    Parameters
    ----------
    grades : by candidate
    last : the last place that somebody did something with; None: the last one with a grade above 0

    >>> from rankloop.feedback.ranking import best_first
    >>> shown = best_first([0.9, 0.8, 0.7, 0.6, 0.5], id="r1")
    >>> keep_seen(shown, [0.0, 1.0, 0.0, 0.0, 0.0]).tolist()
    [0.0, 1.0, 0.0, -1.0, -1.0]

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data (2002).
    """
    worth = np.asarray(grades, np.float64)
    check_length("grades", worth, len(ranking.scores), "candidates")
    by_place = worth[ranking.order]
    if last is None:
        chosen = np.flatnonzero(by_place > 0)
        last = int(chosen[-1]) if len(chosen) else -2
    seen = np.full(len(worth), UNJUDGED)
    seen[ranking.order[: last + 2]] = by_place[: last + 2]
    return seen


def find_preferred_pairs(ranking: Ranking, grades: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the pairs of candidates (better, worse) that follow from the feedback.

    Users read from the top: a user who clicked a document has most likely seen the documents above
    it and the next one below it. So a document is better than all documents above it that have a
    lower grade, and than the next one below it if that has a lower grade. Nothing follows for
    documents further down or for unjudged ones.

    >>> from rankloop.feedback.ranking import best_first
    >>> shown = best_first([0.9, 0.8, 0.7, 0.6, 0.5], id="r1")
    >>> find_preferred_pairs(shown, np.array([0.0, 1.0, 0.0, 1.0, 0.0])).tolist()
    [[1, 0], [1, 2], [3, 0], [3, 2], [3, 4]]

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data (2002).
    """
    worth = grades[ranking.order]
    above = np.tri(len(worth), k=-1, dtype=bool)  # row: the better one, column: the other
    seen = above | np.eye(len(worth), k=1, dtype=bool)
    better, worse = np.nonzero(seen & (worth[:, None] > worth) & (worth >= 0))
    return np.stack([ranking.order[better], ranking.order[worse]], axis=1)


def make_pairs_example(
    ranking: Ranking, pairs: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> QueryDataset:
    """Return each pair as a query of two documents with grades 1 and 0, and its weight."""
    X = _features(ranking)
    n = len(pairs)
    return QueryDataset(
        X[pairs.ravel()],
        np.tile([1.0, 0.0], n),
        np.arange(0, 2 * n + 1, 2),
        np.arange(n),
        query_weight=weights,
    )


def inverse_propensities(
    ranking: Ranking, examination: ArrayLike, grades: NDArray[np.float64], largest: float = 10.0
) -> NDArray[np.float64]:
    """Return one weight per candidate: a chosen document counts more if few people see its place.

    A candidate with a grade above 0 gets the weight 1 / examination of its place, at most
    `largest`; all others get 1. With these weights, the few clicks far down make up for the clicks
    that are missing there because few users look that far.

    Parameters
    ----------
    examination : the probability that a user looks at each place, above 0; the last value holds
        for all places beyond
    largest : upper limit of the weights, at least 1; it adds a little bias and removes much noise

    References
    ----------
    Joachims, Swaminathan and Schnabel, Unbiased learning-to-rank with biased feedback (2017).
    """
    chances = np.array(examination, np.float64)
    if chances.ndim != 1 or not len(chances) or not ((chances > 0) & (chances <= 1)).all():
        raise DataError(
            f"examination must be probabilities above 0 and at most 1; found {examination!r}"
        )
    if not largest >= 1:
        raise DataError(f"largest must be at least 1; found {largest}")
    places = np.minimum(np.arange(len(ranking)), len(chances) - 1)
    weights = np.ones(len(ranking.scores))
    weights[ranking.order] = np.minimum(1 / chances[places], largest)
    return np.where(grades > 0, weights, 1.0)


def _features(ranking: Ranking) -> NDArray[np.float32]:
    if ranking.X is None:
        raise DataError(
            f"ranking {ranking.id!r} does not hold the features of its candidates, so nothing can "
            "be learnt from it; store them with it, or add them with "
            "dataclasses.replace(ranking, X=...)"
        )
    return ranking.X
