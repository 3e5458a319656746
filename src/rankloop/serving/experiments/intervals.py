"""What clicks show about interleaved models, at any time, and the error budget of experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankloop.clicks.sign_bets import SignBets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.clicks.confidence_sequences import Interval

CHAMPION = 0
"""The champion's team; challengers have the teams from 1 on."""


class Outcomes(msgspec.Struct):
    """How often one challenger won, lost, and did neither.

    It wins if its documents got more clicks, and loses if those of the champion did.
    """

    wins: int = 0
    losses: int = 0
    draws: int = 0

    @property
    def n(self) -> int:
        """Outcomes so far."""
        return self.wins + self.losses + self.draws

    def add(self, outcome: int) -> None:
        """Add one outcome: 1, -1 or 0."""
        self.wins += outcome > 0
        self.losses += outcome < 0
        self.draws += outcome == 0

    def interval(self, alpha: float) -> Interval:
        """Return an interval for the mean outcome; all intervals over time hold with 1 - alpha."""
        return SignBets(alpha, self.wins, self.losses, self.draws).interval()


def intervals(challengers: Sequence[Outcomes], alpha: float) -> list[Interval]:
    """Return an interval for each challenger's mean outcome; all together hold with 1 - alpha."""
    return [outcomes.interval(alpha / len(challengers)) for outcomes in challengers]


def compare_clicks(teams: NDArray[np.int64], liked: NDArray[np.bool_], challenger: int = 1) -> int:
    """Return whose documents got more clicks: 1 the challenger's, -1 the champion's, 0 neither."""
    won = int(np.count_nonzero(liked & (teams == challenger)))
    lost = int(np.count_nonzero(liked & (teams == CHAMPION)))
    return (won > lost) - (won < lost)


def share_of_errors(alpha: float, spent: float, experiments: int) -> float:
    """Return the share of a loop's error budget for the next experiment; 0 if it is used up.

    Without a change of alpha, the n-th experiment gets alpha / (n (n + 1)), and the shares of all
    that may ever come sum to alpha.

    Parameters
    ----------
    alpha : the budget of all experiments together
    spent : the part that earlier experiments have used
    experiments : number of earlier experiments

    >>> first = share_of_errors(0.06, 0.0, 0)
    >>> first, round(share_of_errors(0.06, first, 1), 9)
    (0.03, 0.01)
    """
    return max(alpha - spent, 0.0) / (experiments + 2)
