"""Any online ranker taught by clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.rankers.click_trained import ClickTrainedRanker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Rows
    from rankloop.rankers.online.base import OnlineRanker


class FromClicks(ClickTrainedRanker):
    """Any online ranker, taught by clicks; it shows the documents that it finds best.

    Parameters
    ----------
    ranker, seen, temperature, largest, passes, random_state : see :class:`ClickTrainedRanker`

    Notes
    -----
    Cost: the ranker's. Without a temperature it explores nothing: a ranker that has started in a
    wrong direction may then show only documents that teach it nothing. A temperature helps, but
    the first clicks still decide too much; :class:`Thompson` also explores what is uncertain.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> ranker = FromClicks()
    >>> shown = ranker.show(np.eye(3), id="r1")
    >>> shown.order.tolist()  # it knows nothing yet
    [0, 1, 2]
    >>> ranker.learn_ranking(shown, click_grades(shown, [False, True, False]))
    FromClicks()
    >>> ranker.show(np.eye(3), id="r2").order.tolist()
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

    def _scores_to_show(self, X: Rows, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ARG002
        return np.asarray(self._score_rows(X, np.array([0, len(X)])), np.float64)
