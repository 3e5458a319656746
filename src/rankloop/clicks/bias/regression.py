"""Regression EM: the position-based model with relevance predicted from features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.bias.relevance import LogisticRelevance, as_features
from rankloop.clicks.models.base import check_iterations, check_prior, count_ranks
from rankloop.clicks.models.counts import add_up, ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.bias.relevance import Relevance
    from rankloop.clicks.log.log import ClickLog


@dataclass(frozen=True, eq=False)
class RegressionEM:
    """P(click at k) = p_k P(relevant | x), for logs whose documents are rarely shown twice.

    The position-based model needs each query and document at several positions. Here relevance is
    a regression on features, so that similar documents share information. Each step computes the
    expected examination and relevance of every skipped row, sets p_k to the mean expected
    examination, and fits the regression to the expected relevance.

    Where we depart: the paper draws relevance at random, with its probability, before it fits; we
    fit to the probability itself, which is the M-step. The paper uses boosted trees as the
    regression, and our default is logistic. If the regression cannot explain a part of relevance,
    that part is attributed to examination.

    Parameters
    ----------
    X : features, one row per row of the log; missing values become their column's mean
    ranks : how many positions have their own value; later ones share the last. None: all
    iterations : steps of EM, at least 1
    prior : the clicks and skips that each p_k starts with, above 0
    relevance : the regression, a value with `fit` and `predict`

    Notes
    -----
    Cost: per step of EM, that of the regression: 5 steps with two passes over the features each.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(6000, 1))
    >>> chances = np.tile([1.0, 0.4], 3000) / (1 + np.exp(-3 * x[:, 0]))
    >>> clicks = rng.random(6000) < chances
    >>> log = ClickLog.from_rows(np.arange(6000) // 2, np.arange(6000), clicks)
    >>> RegressionEM(x).estimate(log).round(1).tolist()
    [1.0, 0.4]

    References
    ----------
    Wang et al., Position bias estimation for unbiased learning to rank in personal search (2018).
    """

    X: ArrayLike
    ranks: int | None = None
    iterations: int = 50
    prior: tuple[float, float] = (1.0, 1.0)
    relevance: Relevance = field(default_factory=LogisticRelevance)

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination by position."""
        check_prior(self.prior)
        check_iterations(self.iterations, least=1)
        X, ranks = as_features(self.X, log), count_ranks(self.ranks, log)
        place, seen = np.minimum(log.positions, ranks) - 1, log.row_counts
        shown = add_up(place, seen, ranks)
        examination = np.full(ranks, 0.5)
        relevant = np.full(len(place), 0.5)
        relevance = self.relevance
        for _ in range(self.iterations):
            p = examination[place]
            # E step. A click needs both examination and relevance. Without a click, the posterior
            # of each is its prior times P(the other was missing), divided by P(no click).
            unclicked = 1 - p * relevant
            examined = np.where(log.clicks, 1.0, p * (1 - relevant) / unclicked)
            wanted = np.where(log.clicks, 1.0, relevant * (1 - p) / unclicked)
            # M step: a mean for each position, and a regression on the expected relevance.
            examination = ratio(add_up(place, seen * examined, ranks), shown, self.prior)
            relevance = relevance.fit(X, wanted, seen)
            relevant = np.clip(relevance.predict(X), 1e-9, 1 - 1e-9)
        # Clicks show only the product of both, so examination is known up to a factor.
        return np.asarray(examination / examination[0])
