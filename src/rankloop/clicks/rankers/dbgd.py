"""Dueling bandit gradient descent."""

from __future__ import annotations

from rankloop.clicks.rankers.dueling import DuelingRanker


class DBGD(DuelingRanker):
    """A linear ranker that moves towards a random neighbour that wins a comparison with it.

    u is a random unit vector. If the ranker with the weights w + step u won more clicks in a list
    that both made by team draft, then w += rate u.

    A baseline: PDGD learns from the same clicks much faster.

    Parameters
    ----------
    rate : how far it moves, above 0
    step : how far away the neighbour is, above 0
    seed : of the directions tried on judged queries; those of rankings come from their ids
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) per ranking of m candidates.

    Examples
    --------
    >>> import numpy as np
    >>> shown = DBGD().show(np.eye(4), id="r1")
    >>> shown.policy, shown.teams.tolist()
    ('team-draft', [0, 1, 0, 1])

    References
    ----------
    Yue and Joachims, Interactively optimizing information retrieval systems as a dueling bandits
    problem (2009).
    """

    def __init__(
        self,
        rate: float = 0.01,
        step: float = 1.0,
        seed: int = 0,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.step = step
        self.seed = seed
        self.average = average
        self.passes = passes
        self.random_state = random_state

    @property
    def _neighbours(self) -> int:
        return 1
