"""Pairwise preference multileaving: clicks read as preferences between documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.interleaving.balanced import ranks_of
from rankloop.clicks.interleaving.base import Interleaved, Interleaver, as_clicked, check_rankings

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.interleaving.base import Ranking


@dataclass(frozen=True, eq=False)
class PairwiseList(Interleaved):
    """A list made by :class:`PairwisePreference`.

    ranks : (documents, rankers) from 1
    choices : from how many documents each position was drawn
    """

    documents: tuple[Hashable, ...]
    ranks: NDArray[np.float64]
    choices: tuple[int, ...]

    def preferences(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """Return the difference between the weights of preferences that two rankers agree with."""
        clicked = as_clicked(clicks, self)
        r = self.ranks.shape[1]
        if not clicked.any():
            return np.zeros((r, r))
        winners = np.flatnonzero(clicked)
        losers = np.flatnonzero(~clicked[: winners[-1] + 2])  # up to the one below the last click
        winner, loser = np.repeat(winners, len(losers)), np.tile(losers, len(winners))
        best = self.ranks.min(axis=1).astype(np.int64) - 1  # where it could first have been shown
        late, early = np.maximum(best[winner], best[loser]), np.minimum(best[winner], best[loser])
        # Only pairs that could have been shown in either order: both places are at or below `late`.
        either = np.minimum(winner, loser) >= late
        winner, loser, late, early = winner[either], loser[either], late[either], early[either]
        # The chance that the document which could come earlier was not drawn before the other one
        # became a candidate: at each position, one of `choices` candidates was drawn.
        stays = np.array([1 - 1 / n if n > 1 else 1.0 for n in self.choices])
        upto = np.r_[1.0, np.cumprod(stays)]
        agrees = self.ranks[winner] < self.ranks[loser]
        # Not divided by the number of pairs, which depends on the list: the mean over lists would
        # then prefer a ranker even if clicks ignore the documents.
        weight = (agrees / (upto[late] / upto[early])[:, None]).sum(axis=0)
        return np.asarray(weight[:, None] - weight[None, :])


@dataclass(frozen=True)
class PairwisePreference(Interleaver):
    """Position i is drawn uniformly from all documents that some ranker has among its first i.

    A clicked document is preferred to the unclicked ones above it and to the next one below it. A
    pair counts only if either document could have come first. It is divided by the probability
    that both were still available for their positions, and counts for the rankers that order it in
    the same way. Clicks that ignore the documents, even if they depend on the position, then prefer
    nobody on average, and a ranker that is better on every pair wins.

    Notes
    -----
    The inverse of a small probability is large, so that single lists may have large outcomes; see
    :meth:`bound`. Compare means over many lists.

    Cost: O(k rankers) per list, O(clicks k rankers) to read its clicks.

    Examples
    --------
    >>> rankings = [["a", "b"], ["b", "a"]]
    >>> shown = PairwisePreference().interleave(rankings, np.random.default_rng(0))
    >>> shown.documents, shown.preferences([0, 1])[0].tolist()
    (('b', 'a'), [0.0, 1.0])

    References
    ----------
    Oosterhuis and de Rijke, Sensitive and scalable online evaluation with theoretical guarantees
    (2017), algorithms 1 and 2.
    """

    def bound(self, k: int, rankers: int = 2) -> float:  # noqa: ARG002
        """Return 2^k - k - 1: of the pairs of positions i < j, each has a weight up to 2^(i-1)."""
        return 2.0**k - k - 1

    def interleave(
        self, rankings: Sequence[Ranking], rng: np.random.Generator, k: int = 10
    ) -> PairwiseList:
        """Make one list of at most k documents."""
        k = check_rankings(rankings, rng, k)
        shown: list[Hashable] = []
        choices: list[int] = []
        candidates: list[Hashable] = []
        met: set[Hashable] = set()
        draws = rng.random(k)
        for i in range(k):
            for ranking in rankings:
                if i < len(ranking) and ranking[i] not in met:
                    met.add(ranking[i])
                    candidates.append(ranking[i])
            if not candidates:
                break
            choices.append(len(candidates))
            shown.append(candidates.pop(int(draws[i] * len(candidates))))
        return PairwiseList(tuple(shown), ranks_of(shown, rankings), tuple(choices))
