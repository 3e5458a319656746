"""Preferences from rankings that were drawn at random, each with a weight against position bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils import arithmetic
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import PLACKETT_LUCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking

    Floats = NDArray[np.float64]


def find_drawn_pairs(ranking: Ranking, grades: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the pairs of candidates (better, worse) of a drawn ranking, and weights.

    The documents above the last one with a grade above 0, and the next one below it, count as seen.
    Each seen document is better than each seen one of a lower grade. The weight of a pair is

        rho = P(R with the two exchanged) / (P(R) + P(R with the two exchanged)),

    where P is the probability that Plackett and Luce's model of the logged scores draws the list R.
    This compensates for the better place of one of the two.

    Parameters
    ----------
    ranking : drawn by `plackett-luce`, with the scores of all candidates; others raise an error
    grades : by candidate, below 0 if nothing is known

    Notes
    -----
    Cost: O(k) for each pair in a list of length k. The bits are the same on every processor.

    Examples
    --------
    >>> from rankloop.feedback.ranking import Ranking
    >>> scores = np.array([0.0, 0.0, 0.0])
    >>> shown = Ranking("r1", np.array([0, 1, 2]), scores, policy="plackett-luce")
    >>> find_drawn_pairs(shown, np.array([0.0, 1.0, 0.0]))
    (array([[1, 0],
           [1, 2]]), array([0.5, 0.5]))

    References
    ----------
    Oosterhuis and de Rijke, Differentiable unbiased online learning to rank (2018), section 4.2.
    """
    if ranking.policy != PLACKETT_LUCE:
        raise DataError(
            f"ranking {ranking.id!r} was made by the policy {ranking.policy!r}; only rankings "
            f"made by {PLACKETT_LUCE!r} say how likely their documents were to change places"
        )
    worth = grades[ranking.order]
    chosen = np.flatnonzero(worth > 0)
    worth = worth[: chosen[-1] + 2 if len(chosen) else 0]
    better, worse = np.nonzero((worth[:, None] > worth) & (worth >= 0))
    pairs = zip(better.tolist(), worse.tolist(), strict=True)
    odds = np.array([_exchange_odds(ranking, a, b) for a, b in pairs])
    rho = 1 / (1 + arithmetic.exp(-odds)) if len(odds) else odds
    return np.stack([ranking.order[better], ranking.order[worse]], axis=1), rho


def _exchange_odds(ranking: Ranking, place: int, other: int) -> float:
    """Return the log of P(R with two places exchanged) / P(R).

    P(R) is a product over places: exp(score) of the document drawn there, divided by the sum of
    exp(score) over all documents that are not drawn yet. Exchanging two documents permutes the
    numerators, which cancel. The denominators change only at the places after the upper one, down
    to the lower one: there, the other document of the two is still to be drawn.
    """
    first, last = min(place, other), max(place, other)
    chances = arithmetic.exp(ranking.scores - ranking.scores.max())
    upper, lower = chances[ranking.order[[first, last]]]
    # Both leave the sums, and are added again below, one for P(R) and the other for the exchange.
    # Subtracting them from a sum instead would cancel digits if they dominate it.
    chances[ranking.order[[first, last]]] = 0
    left = np.delete(chances, ranking.order)
    below = np.cumsum(np.concatenate([left, chances[ranking.order][::-1]]))[::-1]
    rest = below[first + 1 : last + 1]  # sums over what is left at each place, without the two
    terms = arithmetic.log((rest + lower + _TINY) / (rest + upper + _TINY))
    return float(np.cumsum(terms)[-1])  # added in order: the same bits everywhere


_TINY = 2.0**-900  # keeps 0/0 at 1: if both scores are far below all others, the odds are even
