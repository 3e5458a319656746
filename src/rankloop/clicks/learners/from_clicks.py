"""Any online ranker taught by clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.learners.plackett_luce import sample_ranking
from rankloop.clicks.learners.taught import TaughtByClicks
from rankloop.feedback.ranking import BEST_FIRST, PLACKETT_LUCE, best_first
from rankloop.learners.ensembles.mix import standardised
from rankloop.learners.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.learners.online.base import OnlineRanker


class FromClicks(TaughtByClicks):
    """Any online ranker, taught by clicks; it shows the documents that it finds best.

    Parameters
    ----------
    ranker, seen, largest, passes, random_state : see :class:`TaughtByClicks`
    temperature : 0 shows the best documents first; above 0, rankings are drawn from the
        Plackett-Luce model of the scores, which are scaled to mean 0 and standard deviation
        1 / temperature in each query

    Notes
    -----
    Cost: the ranker's. Without a temperature it explores nothing: a learner that has started in a
    wrong direction may then show only documents that teach it nothing. A temperature helps, but
    stays the same however certain the learner is; :class:`Thompson` explores only while it is
    uncertain.

    Examples
    --------
    >>> from rankloop.clicks.learners.base import click_grades
    >>> learner = FromClicks()
    >>> shown = learner.show(np.eye(3), id="r1")
    >>> shown.order.tolist()  # it knows nothing yet
    [0, 1, 2]
    >>> learner.learn_ranking(shown, click_grades(shown, [False, True, False]))
    FromClicks()
    >>> learner.show(np.eye(3), id="r2").order.tolist()
    [1, 2, 0]
    """

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        seen: str | Sequence[float] = "learnt",
        temperature: float = 0.0,
        largest: float = 10.0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.seen = seen
        self.temperature = temperature
        self.largest = largest
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("temperature", self.temperature)

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self.fork()
        version, scores = 0, np.zeros(len(X))
        if now.is_fitted:
            now._check_width(X)
            version, scores = now.version_, now.score_rows(X, np.array([0, len(X)]))
        scores = np.asarray(scores, np.float64)
        if self.temperature > 0:
            scores = standardised(scores, np.array([0, len(X)])) / self.temperature
            order, policy = sample_ranking(scores, rng, k), PLACKETT_LUCE
        else:
            order, policy = best_first(scores, id="").order[:k], BEST_FIRST
        return {"order": order, "scores": scores, "version": version, "policy": policy}
