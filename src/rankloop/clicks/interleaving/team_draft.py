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
    credit_shared : whether documents on which rankers agree belong to a team. Their clicks do not
        show who is better. So by default a document that both of two rankers would pick at the
        start of a round is shown before the round and belongs to nobody, which removes noise but no
        information; of more than two rankers, only documents at the top

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
    rankings: Sequence[Ranking],
    rng: np.random.Generator,
    k: int,
    credit_shared: bool = False,
    only_top: bool = False,
) -> tuple[list[Hashable], list[int]]:
    """Return documents by team draft and the team of each.

    Parameters
    ----------
    only_top : whether rankers, also two, share documents only at the top
    """
    shown: list[Hashable] = []
    teams: list[int] = []
    taken: set[Hashable] = set()
    places = [0] * len(rankings)

    def best_left(team: int) -> Hashable | None:
        ranking, place = rankings[team], places[team]
        while place < len(ranking) and ranking[place] in taken:
            place += 1
        places[team] = place
        return ranking[place] if place < len(ranking) else None

    def show(document: Hashable, team: int) -> None:
        shown.append(document)
        teams.append(team)
        taken.add(document)

    finds_shared = not credit_shared
    while len(shown) < k:
        wanted = [best_left(team) for team in range(len(rankings))]
        if all(document is None for document in wanted):
            break
        if finds_shared and all(document == wanted[0] for document in wanted):
            show(wanted[0], SHARED)
            continue
        # Two rankers who disagree add the same two documents, whoever begins. So chance does not
        # decide on what they agree later, and as many lists have all teams exchanged: random clicks
        # prefer nobody. With more rankers that is so only before the first round.
        finds_shared = finds_shared and len(rankings) == 2 and not only_top
        for team in rng.permutation(len(rankings)).tolist():
            pick = best_left(team)
            if pick is not None and len(shown) < k:
                show(pick, team)
    return shown, teams
