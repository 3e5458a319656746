"""The interface of rankers that choose what is shown and learn from clicks on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.rankers.session import Session, play
from rankloop.data.dataset import Query
from rankloop.data.validation import as_matrix, check_counts, check_length
from rankloop.exceptions import DataError
from rankloop.feedback.grading import UNJUDGED
from rankloop.feedback.ranking import Ranking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset


class ClickRanker(ABC):
    """A ranker for clicks has two methods: `show` makes a ranking, `learn_ranking` learns from it.

    All random choices of a ranking follow from its id, and everything that is needed to learn from
    it is in the ranking and its grades. So if you replay a journal of both, you get the same
    ranker bit for bit. It does not matter how much was learnt between showing a ranking and
    learning from it.

    It is mixed into an :class:`rankloop.rankers.online.base.OnlineRanker`, whose methods for
    judged queries stay as they are.
    """

    @abstractmethod
    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        """Choose the first k candidates; return the attributes of the ranking that depend on it."""

    @abstractmethod
    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn from what somebody did with a ranking.

        Parameters
        ----------
        ranking : as :meth:`show` made it, with the features of its candidates
        grades : by candidate: above 0 if it was chosen, 0 if it was shown but not chosen, -1 if it
            was not shown; :func:`click_grades` and
            :func:`rankloop.feedback.grading.feedback_grades` make them
        """

    def show(self, query: object, *, id: str, k: int = 10) -> Ranking:  # noqa: A002
        """Choose what to show for a query: a Query or a matrix of features.

        Parameters
        ----------
        id : of the ranking; all random choices follow from it
        k : how many documents to show, at least 1
        """
        check_counts(k=k)
        X = query.X if isinstance(query, Query) else self._read_rows(query)
        known: dict[str, Any] = {}
        if isinstance(query, Query):
            known = {"query_id": query.id, "doc_ids": query.doc_ids}
        return Ranking(id, X=X, **self._draw(X, make_rng(id), k), **known)

    def _read_rows(self, X: object) -> NDArray[np.float32]:
        """Return checked rows of one query."""
        return as_matrix(X)

    def play(
        self,
        data: QueryDataset,
        user: SimulatedUser,
        rng: np.random.Generator,
        impressions: int,
        k: int = 10,
    ) -> Session:
        """Learn from simulated clicks: see :func:`rankloop.clicks.rankers.session.play`."""
        return play(self, data, user, rng, impressions, k)


def click_grades(ranking: Ranking, clicks: ArrayLike) -> NDArray[np.float64]:
    """Return grades by candidate from clicks by place: 1, 0, or -1 if it was not shown.

    >>> from rankloop.feedback.ranking import best_first
    >>> click_grades(best_first([0.1, 0.3, 0.2], id="r1"), [False, True, False]).tolist()
    [0.0, 0.0, 1.0]
    """
    clicked = np.asarray(clicks, bool)
    check_length("clicks", clicked, len(ranking), "places")
    grades = np.full(len(ranking.scores), UNJUDGED)
    grades[ranking.order] = clicked
    return grades


def features_of(ranking: Ranking) -> NDArray[np.float32]:
    """Return the features of a ranking's candidates; raise if it does not hold them."""
    if ranking.X is None:
        raise DataError(
            f"ranking {ranking.id!r} does not hold the features of its candidates, so nothing can "
            "be learnt from it; store them, or add them with dataclasses.replace(ranking, X=...)"
        )
    return ranking.X
