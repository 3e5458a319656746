"""The dual learning algorithm: a ranker and position bias that correct each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.clicks.bias.relevance import as_features
from rankloop.clicks.models.base import check_iterations, count_ranks
from rankloop.clicks.models.counts import add_up
from rankloop.exceptions import DataError
from rankloop.rankers.batch.lbfgs import descend

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog

_STEPS, _MM_STEPS = 5, 20


@dataclass(frozen=True, eq=False)
class DualLearning:
    """Two softmax cross entropies, each weighted by what the other has learnt.

    With f = w x the ranker and q the examination of positions, both normalised over the page, the
    losses of a click on document i at position k are

        for the ranker:      -(q_1 / q_k) log softmax(f)_i
        for the positions:   -(exp(f_1) / exp(f_i)) log (q_k / sum of q over the page's positions)

    where 1 is the first row of the page. The paper takes steps of stochastic gradient on both; we
    take steps of L-BFGS on the first and, in closed form, on the second, which has the same fixed
    points and no learning rate.

    Parameters
    ----------
    X : features, one row per row of the log; missing values become their column's mean
    ranks : how many positions have their own value; later ones share the last. None: all
    iterations : rounds of both
    ridge : the penalty ridge / 2 |w|^2 on the ranker, at least 0
    most : the largest weight, at least 1, so that a single click far down the page does not decide

    Notes
    -----
    Cost: per round, about 5 steps with two passes over the features each.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 1))
    >>> pages = [(q, [2 * q, 2 * q + 1], [2 * q + (q % 4 == 0)]) for q in range(150)]
    >>> DualLearning(x).estimate(ClickLog.from_pages(pages)).round(2).tolist()
    [1.0, 0.35]

    References
    ----------
    Ai et al., Unbiased learning to rank with unbiased propensity estimation (2018), algorithm 1;
    Hunter, MM algorithms for generalized Bradley-Terry models (2004), for the closed form.
    """

    X: ArrayLike
    ranks: int | None = None
    iterations: int = 30
    ridge: float = 1.0
    most: float = 20.0

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination by position."""
        check_iterations(self.iterations, least=1)
        if not self.most >= 1:
            raise DataError(f"most must be at least 1; found {self.most!r}")
        X, ranks = as_features(self.X, log), count_ranks(self.ranks, log)
        pages = _PageSums(log, ranks)
        examination, w = np.ones(ranks), np.zeros(X.shape[1])
        for _ in range(self.iterations):
            weights = np.minimum(examination[0] / examination[pages.place], self.most)
            w = self._rank(X, w, pages, weights)
            scores = _core.row_products(X, w, threads())
            gap = pages.first_of(scores) - scores
            examination = pages.shares(np.minimum(np.exp(gap), self.most), examination)
        return np.asarray(examination / examination[0])

    def _rank(
        self,
        X: NDArray[np.float32],
        w: NDArray[np.float64],
        pages: _PageSums,
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        clicked = pages.clicked * weights
        whole = pages.spread(pages.sum(clicked))

        def objective(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            logs = pages.log_softmax(_core.row_products(X, w, threads()))
            slope = whole * np.exp(logs) - clicked
            gradient = _core.column_products(X, slope, threads()) + self.ridge * w
            return float(self.ridge / 2 * (w**2).sum() - (clicked * logs).sum()), gradient

        for point, _ in islice(descend(objective, w, 1e-8), _STEPS):
            w = point
        return w


class _PageSums:
    """Sums over the rows of a page."""

    def __init__(self, log: ClickLog, ranks: int) -> None:
        filled = log.sizes > 0
        self._starts, self._sizes = log.offsets[:-1][filled], log.sizes[filled]
        self._ranks = ranks
        self.place = np.minimum(log.positions, ranks) - 1
        self.clicked = log.row_counts * log.clicks
        if not self.clicked.any():
            raise DataError("the log has no click; there is nothing to learn from")

    def sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(values, self._starts)

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(values, self._sizes)

    def first_of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.spread(values[self._starts])

    def log_softmax(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        shifted = scores - self.spread(np.maximum.reduceat(scores, self._starts))
        return np.asarray(shifted - self.spread(np.log(self.sum(np.exp(shifted)))))

    def shares(
        self, weights: NDArray[np.float64], start: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Maximise the weighted log shares of clicked positions among those of their page.

        This is the likelihood of a Bradley-Terry model in which a clicked position beats the others
        of its page. Each step maximises a lower bound that touches the likelihood at q, so that the
        likelihood never falls: q_k becomes the weight of clicks at k, divided by the sum over pages
        with k of their weight of clicks / their sum of q.
        """
        clicked = self.clicked * weights
        wins, clicks_a_page = add_up(self.place, clicked, self._ranks), self.sum(clicked)
        q = start
        for _ in range(_MM_STEPS):
            rivals = self.spread(clicks_a_page / self.sum(q[self.place]))
            met = add_up(self.place, rivals, self._ranks)
            q = np.where(met > 0, np.maximum(wins, 1e-12) / np.maximum(met, 1e-300), q)
            q = q / q.max()
        return q
