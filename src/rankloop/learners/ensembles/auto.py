"""The default: no parameter to choose, no scaling to think of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.learners.ensembles.mix import Mix
from rankloop.learners.online.newton import NewtonXENDCG
from rankloop.learners.wrappers.mapped import Mapped

if TYPE_CHECKING:
    from rankloop.learners.online.base import OnlineRanker


class Auto(Mix):
    """A mix of second-order XE_NDCG on features scaled, and ranked, inside each query.

    What it sees does not depend on the units of features, so raw counts need no scaling first.

    Parameters
    ----------
    passes, random_state : see :class:`OnlineRanker`

    Notes
    -----
    Cost: O(m d^2 + d^3) a query and O(d^2) memory, of which the ranked half is 8 times the other.
    Like every map inside queries, it wants to know which rows belong together when it predicts.
    """

    def __init__(self, passes: int = 1, random_state: int | None = None) -> None:
        super().__init__(None, "uniform", "nDCG@10", passes, random_state)

    def members(self) -> list[OnlineRanker]:
        """Return the learners it starts with."""
        return [
            Mapped(NewtonXENDCG(), ["minmax"]),
            Mapped(NewtonXENDCG(), ["minmax", "rank"]),
        ]
