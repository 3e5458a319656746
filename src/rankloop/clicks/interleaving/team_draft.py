"""Team draft: rankers take turns to pick, and a click counts for the one that picked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.interleaving.base import Credited, Interleaver, check_rankings

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from rankloop.clicks.interleaving.base import Ranking

SHARED = -1
"""The team of a document that all rankers put there."""


@dataclass(frozen=True)
class TeamDraft(Interleaver):
    """In each round the rankers pick in random order, each its best document not yet shown.

    A click counts for the ranker (the team) that picked the document; the team with the most clicks
    wins the list. With more than two rankers this is team draft multileaving.

    Parameters
    ----------
    credit_shared : whether documents at the top on which all rankers agree belong to a team.
        Their clicks do not show who is better, so by default they are left out, which removes
        noise but no information

    Notes
    -----
    Cost: O(k) per list. It may miss a difference that does not change which ranker picks a document
    (Hofmann, Whiteson and de Rijke, 2013).

    Examples
    --------
    >>> shown = TeamDraft().interleave([["a", "b", "c"], ["a", "c", "b"]], np.random.default_rng(0))
    >>> shown.documents, shown.credit.argmax(axis=1).tolist()
    (('a', 'b', 'c'), [0, 0, 1])
    >>> shown.preferences([0, 0, 1]).tolist()  # the second ranker picked c
    [[0.0, -1.0], [1.0, 0.0]]

    References
    ----------
    Radlinski, Kurup and Joachims, How does clickthrough data reflect retrieval quality? (2008);
    Schuth et al., Multileaved comparisons for fast online evaluation (2014).
    """

    credit_shared: bool = False

    def interleave(
        self, rankings: Sequence[Ranking], rng: np.random.Generator, k: int = 10
    ) -> Credited:
        """Make one list of at most k documents."""
        k = check_rankings(rankings, rng, k)
        documents, teams = draft(rankings, rng, k, self.credit_shared)
        credit = np.equal.outer(teams, np.arange(len(rankings))).astype(np.float64)
        return Credited(tuple(documents), credit)


def draft(
    rankings: Sequence[Ranking], rng: np.random.Generator, k: int, credit_shared: bool = False
) -> tuple[list[Hashable], list[int]]:
    """Return documents by team draft and the team of each."""
    shown = [] if credit_shared else find_shared_top(rankings, k)
    teams = [SHARED] * len(shown)
    taken = set(shown)
    left = [iter(ranking) for ranking in rankings]
    while len(shown) < k:
        before = len(shown)
        for team in rng.permutation(len(rankings)).tolist():
            pick = next((document for document in left[team] if document not in taken), None)
            if pick is None or len(shown) == k:
                continue
            shown.append(pick)
            teams.append(team)
            taken.add(pick)
        if len(shown) == before:  # nobody has anything left
            break
    return shown, teams


def find_shared_top(rankings: Sequence[Ranking], k: int) -> list[Hashable]:
    """Return the documents at the top that all rankings share, at most k."""
    top: list[Hashable] = []
    for documents in zip(*rankings, strict=False):
        if len(top) == k or any(document != documents[0] for document in documents[1:]):
            break
        top.append(documents[0])
    return top
