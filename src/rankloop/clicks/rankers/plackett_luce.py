"""Rankings drawn by Plackett and Luce's model, and the rankers that show and learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop.clicks.rankers.base import ClickRanker, features_of
from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError
from rankloop.feedback.examples import keep_seen
from rankloop.feedback.ranking import PLACKETT_LUCE
from rankloop.rankers.online.base import OnlineRanker, Queries

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.feedback.ranking import Ranking


class PlackettLuceRanker(OnlineRanker, ClickRanker):
    """An online ranker that draws its rankings from the Plackett-Luce model of its scores.

    It learns only from such rankings. While it learns from one, `_shown` holds the ranks and the
    scores with which its rows were shown.
    """

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self.copy()
        version, scores = 0, np.zeros(len(X))
        if now.is_fitted:
            now._check_width(X)
            scores = now._score_rows(X, np.array([0, len(X)])).astype(np.float64)
            version = now.version_
        order = sample_ranking(scores, rng, k)
        return {"order": order, "scores": scores, "version": version, "policy": PLACKETT_LUCE}

    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn from what was chosen; see :meth:`ClickRanker.learn_ranking`."""
        X = features_of(ranking)
        if ranking.policy != PLACKETT_LUCE:
            raise DataError(
                f"ranking {ranking.id!r} was made {ranking.policy}, but {type(self).__name__} "
                f"learns only from those made {PLACKETT_LUCE}: show rankings with its method show, "
                "or learn with FromClicks"
            )
        ranks = np.zeros(len(X), np.int32)
        ranks[ranking.order] = np.arange(1, len(ranking) + 1)
        queries = Queries(X, keep_seen(ranking, grades), np.array([0, len(X)]))
        with self._writing:
            new = self.copy()
            vars(new)["_shown"] = (ranks, ranking.scores)
            try:
                new._check_and_learn(queries)
            finally:
                del vars(new)["_shown"]
            self._become(new)
        return self

    _shown: ClassVar[tuple[NDArray[np.int32] | None, NDArray[np.float64] | None]] = (None, None)
    """Ranks and scores of the rows that are being learnt; (None, None) for judged queries."""


def sample_ranking(scores: ArrayLike, rng: np.random.Generator, k: int = 10) -> NDArray[np.int64]:
    """Draw the first k candidates, each with a chance proportional to exp(score) among those left.

    Parameters
    ----------
    scores : by candidate
    rng : random generator, with one draw per candidate;
        :func:`rankloop.clicks.interleaving.base.make_rng` makes one from a ranking's id
    k : how many to draw

    Notes
    -----
    The candidates with the largest sums of score and Gumbel noise have this distribution. Cost:
    O(m log k); the result has the same bits on every processor.

    Examples
    --------
    >>> sample_ranking([0.0, 100.0, 50.0], np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    check_rng(rng)
    check_counts(k=k)
    values = np.asarray(scores, np.float64)
    return _core.sample_plackett_luce(values, rng.random(len(values)), k)
