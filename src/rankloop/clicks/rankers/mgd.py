"""Multileave gradient descent."""

from __future__ import annotations

from rankloop.clicks.rankers.dueling import DuelingRanker
from rankloop.rankers.parameters import check_whole


class MGD(DuelingRanker):
    """Dueling bandit gradient descent with many neighbours in one multileaved list.

    w += rate times the mean of the directions whose rankers won more clicks than the ranker. It
    is a baseline, like :class:`rankloop.clicks.rankers.dbgd.DBGD`.

    Parameters
    ----------
    rate : how far it moves, above 0
    candidates : number of neighbours in a list, at least 1
    step : how far away they are, above 0
    seed : of the directions tried on judged queries; those of rankings come from their ids
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(candidates m d) per ranking of m candidates.

    References
    ----------
    Schuth et al., Multileave gradient descent for fast online learning to rank (2016): the mean
    winner.
    """

    def __init__(
        self,
        rate: float = 0.01,
        candidates: int = 9,
        step: float = 1.0,
        seed: int = 0,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.candidates = candidates
        self.step = step
        self.seed = seed
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("candidates", self.candidates)

    @property
    def _neighbours(self) -> int:
        return self.candidates
