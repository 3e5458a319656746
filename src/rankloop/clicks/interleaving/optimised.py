"""Optimised interleaving: lists drawn so that random clicks favour no ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog, nnls

from rankloop.clicks.interleaving.balanced import ranks_of
from rankloop.clicks.interleaving.base import Credited, Interleaver, check_rankings
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from rankloop.clicks.interleaving.base import Ranking

_MAX_LISTS = 4096
_UNBIASED = 1e-7


@dataclass(frozen=True)
class Optimised(Interleaver):
    """Candidate lists, drawn with probabilities that solve an optimisation problem.

    Each position of a candidate has one ranker's best document that is not in the list yet. A
    click on a document gives a ranker the inverse of the document's rank in its ranking. The
    probabilities of the candidates are chosen so that, for every depth, random clicks on the
    documents above it give all rankers the same expected credit. If several choices do that, the
    one whose credits vary least between lists is used. If none does, which is usual with few
    candidates and several rankers, the one with the smallest sum of squared biases is used.

    Parameters
    ----------
    lists : how many candidates are drawn; None: all candidates, for two rankers. The paper on
        multileaving uses 10

    Notes
    -----
    Cost: per list, a least-squares problem with `lists` unknowns, about 0.1 ms for 10, and a linear
    program if there is a solution without bias.

    Examples
    --------
    >>> rankings = [["a", "b"], ["b", "a"]]
    >>> shown = Optimised(lists=None).interleave(rankings, np.random.default_rng(1))
    >>> shown.credit.tolist() == [[1.0, 0.5], [0.5, 1.0]] or shown.documents == ("b", "a")
    True

    References
    ----------
    Radlinski and Craswell, Optimized interleaving for online retrieval evaluation (2013); Schuth
    et al., Multileaved comparisons for fast online evaluation (2014).
    """

    lists: int | None = 10

    def bound(self, k: int, rankers: int = 2) -> float:  # noqa: ARG002
        """Return the sum of 1 / rank: as much as clicks on a ranker's own top documents give."""
        return sum(1 / rank for rank in range(1, k + 1))

    def interleave(
        self, rankings: Sequence[Ranking], rng: np.random.Generator, k: int = 10
    ) -> Credited:
        """Make one list of at most k documents."""
        k = check_rankings(rankings, rng, k, most=2 if self.lists is None else None)
        if self.lists is not None and self.lists < 1:
            raise DataError(f"lists must be at least 1, or None for all; found {self.lists}")
        if self.lists is None:
            candidates = all_lists(rankings, k)
        else:
            candidates = sample_lists(rankings, rng, k, self.lists)
        known = list(dict.fromkeys(document for shown in candidates for document in shown))
        worth = 1 / ranks_of(known, rankings)
        place = {document: row for row, document in enumerate(known)}
        credit = worth[[[place[document] for document in shown] for shown in candidates]]
        chances = probabilities(credit)
        chosen = min(int(np.searchsorted(np.cumsum(chances), rng.random())), len(candidates) - 1)
        return Credited(candidates[chosen], credit[chosen], by_sign=False)


def sample_lists(
    rankings: Sequence[Ranking], rng: np.random.Generator, k: int, lists: int
) -> list[tuple[Hashable, ...]]:
    """Return different lists, each position filled by a ranker drawn at random."""
    length = min(k, len({document for ranking in rankings for document in ranking}))
    turns = rng.integers(len(rankings), size=(lists, length)).tolist()
    candidates = dict.fromkeys(_fill(rankings, order) for order in turns)
    return list(candidates)


def all_lists(rankings: Sequence[Ranking], k: int) -> list[tuple[Hashable, ...]]:
    """Return every list that taking turns in any order can give."""
    length = min(k, len({document for ranking in rankings for document in ranking}))
    grown: list[tuple[Hashable, ...]] = [()]
    for _ in range(length):
        more: dict[tuple[Hashable, ...], None] = {}
        for shown in grown:
            for ranking in rankings:
                best = next((document for document in ranking if document not in shown), None)
                if best is not None:
                    more[(*shown, best)] = None
        grown = list(more)
        if len(grown) > _MAX_LISTS:
            raise DataError(
                f"there are more than {_MAX_LISTS:,} lists of {length} documents; give a number "
                "of lists to draw"
            )
    return grown


def _fill(rankings: Sequence[Ranking], turns: list[int]) -> tuple[Hashable, ...]:
    shown: dict[Hashable, None] = {}
    for ranker in turns:
        order = (rankings[ranker], *rankings)  # the others, if this ranker has nothing left
        shown[
            next(document for ranking in order for document in ranking if document not in shown)
        ] = None
    return tuple(shown)


def probabilities(credit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely each candidate is drawn.

    Parameters
    ----------
    credit : (lists, positions, rankers) the credit that a ranker gets for a click there
    """
    # unfair[(depth, ranker), list]: by how much clicks on all documents down to a depth favour a
    # ranker. The expectation over lists must be 0 at every depth, so the chances p solve
    # unfair p = 0, p >= 0, sum p = 1. If there is no solution, non-negative least squares finds the
    # p that comes nearest.
    upto = credit.cumsum(axis=1)
    unfair = (upto - upto.mean(axis=2, keepdims=True)).reshape(len(credit), -1).T
    scale = 1e3 * max(1.0, float(np.abs(unfair).max()))  # so heavy that they add up to 1
    system = np.vstack([unfair, np.full(len(credit), scale)])
    chances, _ = nnls(system, np.r_[np.zeros(len(unfair)), scale])
    chances = chances / chances.sum()
    if np.abs(unfair @ chances).max() > _UNBIASED:
        return np.asarray(chances)
    # Several p may be fair. A linear program takes the one with the least expected square of the
    # differences in credit, where clicks are less likely further down.
    discounts = 1 / np.arange(1, credit.shape[1] + 1)
    earned = np.einsum("lkr,k->lr", credit, discounts)
    spread = ((earned - earned.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    fair = linprog(
        spread,
        A_eq=np.vstack([unfair, np.ones(len(credit))]),
        b_eq=np.r_[np.zeros(len(unfair)), 1.0],
    )
    if fair.success and fair.x is not None:
        chances = np.maximum(fair.x, 0)
    return np.asarray(chances / chances.sum())
