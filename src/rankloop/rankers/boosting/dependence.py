"""Partial dependence: how scores change with one feature while the others stay the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.boosting.bridge import columns
from rankloop.rankers.parameters import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Ranker

_MAX_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Dependence:
    """How scores depend on a feature.

    feature : its name, or its number from 1
    values : the values that the feature was set to
    scores : (documents, values) the score of each document at each value, minus the document's mean
    mean : the mean over documents
    """

    feature: str
    values: NDArray[np.float32]
    scores: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean over documents."""
        return np.asarray(self.scores.mean(axis=0))


def partial_dependence(
    ranker: Ranker, data: QueryDataset, feature: int | str, points: int = 30
) -> Dependence:
    """Set a feature of all documents to one value after another, and score them.

    Parameters
    ----------
    ranker : any ranker that scores each row separately
    data : the documents; if there are more than 1,000, evenly spaced ones are used
    feature : its name, or its column number from 0
    points : maximum number of values, at even quantiles of the values in the data

    Notes
    -----
    Cost: `points` predictions of at most 1,000 rows.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.boosting.xendcg import XENDCGBoost
    >>> data = separable(50, np.random.default_rng(0), n_features=3).data
    >>> found = partial_dependence(XENDCGBoost(trees=20).fit(data), data, 2)
    >>> found.feature, bool(abs(found.mean[-1] - found.mean[0]) > 0.5)
    ('3', True)

    References
    ----------
    Friedman, Greedy function approximation: a gradient boosting machine (2001): section 8.
    """
    check_whole("points", points)
    if not ranker.traits.scores_rows_alone:
        raise DataError(
            f"{type(ranker).__name__} scores whole queries; use a ranker that scores rows"
        )
    [column] = columns([feature], data.feature_names, data.n_features, "feature")
    known = data.X[:, column]
    known = known[~np.isnan(known)]
    if len(known) == 0:
        raise DataError(f"feature {feature!r} has no value in the data")
    shares = np.linspace(0, 1, points)
    values = np.unique(np.quantile(known, shares, method="nearest")).astype(np.float32)
    chosen = np.linspace(0, data.n_documents - 1, min(data.n_documents, _MAX_ROWS)).astype(int)
    rows, scores = data.X[chosen].copy(), np.empty((len(chosen), len(values)))
    for k, value in enumerate(values):
        rows[:, column] = value
        scores[:, k] = ranker.predict(rows)
    names = data.feature_names
    name = names[column] if names else str(column + 1)
    return Dependence(name, values, scores - scores.mean(axis=1, keepdims=True))
