"""Balanced interleaving: two rankings merged so that each shows as many of its top documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.interleaving.base import Interleaved, Interleaver, as_clicked, check_rankings

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.interleaving.base import Ranking


@dataclass(frozen=True, eq=False)
class BalancedList(Interleaved):
    """A list made by :class:`Balanced`; ranks are those of its documents in each ranking."""

    documents: tuple[Hashable, ...]
    ranks: NDArray[np.float64]  # (documents, 2), infinite if a ranking does not have it

    def preferences(self, clicks: ArrayLike) -> NDArray[np.float64]:
        """Return which ranking has more of the clicked documents near its top."""
        clicked = as_clicked(clicks, self)
        if not clicked.any():
            return np.zeros((2, 2))
        lowest = np.flatnonzero(clicked)[-1]
        depth = self.ranks[lowest].min()
        has = (self.ranks[clicked] <= depth).sum(axis=0)
        outcome = float(np.sign(has[0] - has[1]))
        return np.array([[0.0, outcome], [-outcome, 0.0]])


@dataclass(frozen=True)
class Balanced(Interleaver):
    """Two rankings take turns; a coin decides who starts, and the one that has shown less is next.

    The top of the list always contains the top documents of both rankings, to the same depth or one
    apart. The winner is the ranking whose first d documents contain more of the clicked ones, where
    d is the depth at which one of the rankings has the lowest click. If one ranking is the other
    one shifted, it may be preferred even if clicks are random; team draft has no such bias.

    Notes
    -----
    Cost: O(k) per list.

    Examples
    --------
    >>> shown = Balanced().interleave([["a", "b"], ["c", "a"]], np.random.default_rng(0))
    >>> shown.documents
    ('c', 'a')
    >>> shown.preferences([1, 0]).tolist()
    [[0.0, -1.0], [1.0, 0.0]]

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data (2002); Chapelle et al.,
    Large-scale validation and analysis of interleaved search evaluation (2012).
    """

    def interleave(
        self, rankings: Sequence[Ranking], rng: np.random.Generator, k: int = 10
    ) -> BalancedList:
        """Make one list of at most k documents."""
        k = check_rankings(rankings, rng, k, most=2)
        first = int(rng.integers(2))
        shown: list[Hashable] = []
        taken: set[Hashable] = set()
        at = [0, 0]
        while len(shown) < k and any(at[r] < len(rankings[r]) for r in (0, 1)):
            behind = at[first] < at[1 - first] or (at[0] == at[1])
            turn = first if behind else 1 - first
            if at[turn] >= len(rankings[turn]):
                turn = 1 - turn
            document = rankings[turn][at[turn]]
            at[turn] += 1
            if document not in taken:
                shown.append(document)
                taken.add(document)
        return BalancedList(tuple(shown), ranks_of(shown, rankings))


def ranks_of(documents: Sequence[Hashable], rankings: Sequence[Ranking]) -> NDArray[np.float64]:
    """Return the rank from 1 of each document in each ranking; infinite if it is not in it."""
    wanted = {document: row for row, document in enumerate(documents)}
    ranks = np.full((len(documents), len(rankings)), np.inf)
    for column, ranking in enumerate(rankings):
        left = len(documents)
        for rank, document in enumerate(ranking, start=1):
            row = wanted.get(document)
            if row is not None:
                ranks[row, column] = rank
                left -= 1
                if left == 0:
                    break
    return ranks
