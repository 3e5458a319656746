"""Rankers that draw their rankings by Plackett and Luce's model, and learn only from these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop.clicks.rankers.base import ClickRanker, features_of, seen_grades
from rankloop.clicks.rankers.plackett_luce import sample_ranking
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import PLACKETT_LUCE
from rankloop.rankers.online.base import OnlineRanker, Queries

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.feedback.ranking import Ranking


class DrawsRankings(OnlineRanker, ClickRanker):
    """An online ranker that shows rankings drawn by its scores.

    A subclass finds the ranks and the scores of the rows that it is learning in `_shown`.
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
        queries = Queries(X, seen_grades(ranking, grades), np.array([0, len(X)]))
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
    """Ranks and scores of the rows that are being learnt; none where they are judged."""
