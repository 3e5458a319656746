"""Sample-only scored multileaving: rankers scored on the shown documents alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.interleaving.balanced import ranks_of
from rankloop.clicks.interleaving.base import Credited, Interleaver, check_rankings
from rankloop.clicks.interleaving.team_draft import draft
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.clicks.interleaving.base import Ranking


@dataclass(frozen=True)
class SampleOnlyScored(Interleaver):
    """A list by team draft, in which every click gives credit to every ranker.

    Each ranker ranks the shown documents again, and a clicked document gives it the credit
    1 / j^tau, where j is the document's rank. Documents that a ranker does not have come last. This
    needs few impressions for any number of rankers, but it is biased.

    Parameters
    ----------
    tau : how much a ranker's top is worth more, above 0

    Notes
    -----
    Cost: O(k rankers + n) per list.

    Examples
    --------
    >>> rankings = [["a", "b"], ["b", "a"]]
    >>> shown = SampleOnlyScored().interleave(rankings, np.random.default_rng(0))
    >>> shown.credits(np.array(shown.documents) == "a").tolist()
    [1.0, 0.125]

    References
    ----------
    Brost et al., An improved multileaving algorithm for online ranker evaluation (2016).
    """

    tau: float = 3.0

    def interleave(
        self, rankings: Sequence[Ranking], rng: np.random.Generator, k: int = 10
    ) -> Credited:
        """Make one list of at most k documents."""
        k = check_rankings(rankings, rng, k)
        if not self.tau > 0:
            raise DataError(f"tau must be above 0; found {self.tau!r}")
        documents, _ = draft(rankings, rng, k)
        order = ranks_of(documents, rankings).argsort(axis=0, kind="stable")
        credit = np.empty(order.shape)
        earned = np.arange(1.0, len(documents) + 1) ** -self.tau
        np.put_along_axis(credit, order, earned[:, None], axis=0)
        return Credited(tuple(documents), credit)
