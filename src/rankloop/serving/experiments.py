"""Two frozen models interleaved, and what clicks say of them at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from rankloop.clicks.sequences import EmpiricalBernstein
from rankloop.learners.saving import loads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.sequences import Interval
    from rankloop.learners.snapshot import Snapshot
    from rankloop.serving.entries import Ranked

CHAMPION, CHALLENGER = 0, 1
"""The teams of an experiment."""


class Duel(NamedTuple):
    """What readers need of a running experiment: both models as they were at its start."""

    id: str
    names: tuple[str, str]
    versions: tuple[int, int]
    models: tuple[Snapshot, Snapshot]


class Tally(msgspec.Struct):
    """How often the challenger won, as sums that an interval is made of.

    An outcome is 1 where the challenger's documents got more clicks, -1 where the champion's did,
    0 else. Where rankings name a session, only its first counts: one person, one outcome.
    """

    n: int = 0
    total: float = 0.0
    variance: float = 0.0
    wins: int = 0
    losses: int = 0

    def add(self, outcome: float) -> None:
        """Take one more outcome in."""
        sequence = EmpiricalBernstein(n=self.n, total=self.total, variance=self.variance)
        sequence = sequence.observe(outcome)
        self.n, self.total, self.variance = sequence.n, sequence.total, sequence.variance
        self.wins += outcome > 0
        self.losses += outcome < 0

    def interval(self, alpha: float) -> Interval:
        """Return where the mean outcome is, at all times at once with probability 1 - alpha."""
        return EmpiricalBernstein(
            alpha, n=self.n, total=self.total, variance=self.variance
        ).interval()


class Trial(msgspec.Struct):
    """A running experiment: both models as they were at its start, and the tally."""

    id: str
    names: tuple[str, str]
    versions: tuple[int, int]
    models: tuple[bytes, bytes]
    alpha: float
    promote: bool
    tally: Tally
    sessions: dict[str, None]

    def duel(self) -> Duel:
        """Return what readers need of it."""
        champion, challenger = (loads(body).snapshot() for body in self.models)
        return Duel(self.id, self.names, self.versions, (champion, challenger))

    def judge(self, ranked: Ranked, grades: NDArray[np.float64], most_sessions: int) -> None:
        """Take in who won a ranking; where it names a session that was counted, nothing."""
        if ranked.teams is None or ranked.session in self.sessions:
            return
        order = np.array(ranked.order, np.int64)
        self.tally.add(outcome(np.array(ranked.teams, np.int64), grades[order] > 0))
        if ranked.session is not None:
            self.sessions[ranked.session] = None
            if len(self.sessions) > most_sessions:
                del self.sessions[next(iter(self.sessions))]


def outcome(teams: NDArray[np.int64], liked: NDArray[np.bool_]) -> int:
    """Return whose documents were liked more: 1 the challenger's, -1 the champion's, else 0."""
    won = int(np.count_nonzero(liked & (teams == CHALLENGER)))
    lost = int(np.count_nonzero(liked & (teams == CHAMPION)))
    return (won > lost) - (won < lost)


def share_of_errors(alpha: float, number: int) -> float:
    """Return what the experiment of this number, from 1, may spend of a loop's error budget.

    The shares alpha / (n (n + 1)) of all experiments that may ever come sum to alpha.

    >>> share_of_errors(0.06, 1), share_of_errors(0.06, 2)
    (0.03, 0.01)
    """
    return alpha / (number * (number + 1))
