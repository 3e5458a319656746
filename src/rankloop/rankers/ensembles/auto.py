"""The default ranker, which needs neither parameters nor scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rankloop.rankers.ensembles.mix import Mix
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.wrappers.mapped import Mapped

if TYPE_CHECKING:
    from rankloop.rankers.online.base import OnlineRanker


class Auto(Mix):
    """A mix of second-order XE_NDCG on scaled features and on ranked features inside each query.

    Its inputs do not depend on the units of the features, so raw counts need no scaling.

    Parameters
    ----------
    passes, random_state : see :class:`OnlineRanker`

    Notes
    -----
    Cost: O(m d^2 + d^3) per query and O(d^2) memory; the part with ranked features costs 8 times as
    much as the other. As with every map inside queries, `predict` needs to know which rows belong
    to the same query.
    """

    takes_raw_features: ClassVar[bool] = True

    def __init__(self, passes: int = 1, random_state: int | None = None) -> None:
        self.passes = passes
        self.random_state = random_state

    # what the parameters of a Mix say; Auto has none of them
    _uniform: ClassVar[bool] = True
    _loss_measure: ClassVar[str] = "nDCG@10"

    def _check_parameters(self) -> None:
        """Check nothing: only the members have parameters, and they are right."""

    def _fresh_members(self) -> list[OnlineRanker]:
        """Return the members before training."""
        return [
            Mapped(NewtonXENDCG(), ["minmax"]),
            Mapped(NewtonXENDCG(), ["minmax", "rank"]),
        ]
