"""The default ranker, which needs neither parameters nor scaling."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

from rankloop.exceptions import DataError
from rankloop.rankers.ensembles.adaptive import Adaptive
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.wrappers.prepared import OnlinePrepared

if TYPE_CHECKING:
    from rankloop.rankers.online.base import OnlineRanker
    from rankloop.rankers.traits import Traits

_WIDEST = 1000
"""Features up to which rankers that forget, or start later, hold all of their precision."""


class Auto(Adaptive):
    """A mix of second-order XE_NDCG on scaled features and on ranked features inside each query.

    Its inputs do not depend on the units of the features, so raw counts need no scaling. It notices
    changes as :class:`Adaptive` does: beside the two rankers that learn from all queries there are
    up to seven with shorter pasts, on scaled features alone.

    Parameters
    ----------
    adapt : whether to follow changes; without, every query counts the same for ever
    indicators, wide : the number of last features that are 0 or 1, and how many of them stand for
        categories of which there are many; :class:`Described` sets both. Indicators are not ranked,
        and of wide ones only variances are known.
    passes, random_state : see :class:`Adaptive`

    Notes
    -----
    Cost: O(m d^2 + d^3) per query and O(d^2) memory; the part with ranked features costs 4 to 8
    times as much as the other. Following changes takes up to seven times as much again as that
    other part, which makes 2.5 to 3.3 times in all (docs/learn.md), and 12 d^2 numbers instead of
    5; with more than 1,000 features, none of them wide, the seven hold the diagonal of their
    precision alone. Where a query takes more than about a millisecond, the parts learn on several
    threads. Wide features cost in each member what :class:`NewtonXENDCG` says. As with every map
    inside queries, `predict` needs to know which rows belong to the same query.
    """

    traits: ClassVar[Traits] = replace(Adaptive.traits, takes_raw_features=True)

    def __init__(
        self,
        adapt: bool = True,
        indicators: int = 0,
        wide: int = 0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.adapt = adapt
        self.indicators = indicators
        self.wide = wide
        self.passes = passes
        self.random_state = random_state

    # what the parameters of Adaptive say
    ranker: ClassVar[None] = None  # type: ignore[misc]

    @property
    def _adapts(self) -> bool:
        return self.adapt

    def _first(self) -> list[OnlineRanker]:
        return [self._member(["minmax"]), self._member(["minmax", "rank"])]

    def _later(self, n_features: int) -> OnlineRanker:
        if self.wide or n_features <= _WIDEST:
            return self._member(["minmax"])
        ranker = NewtonXENDCG(covariance="diagonal")
        return OnlinePrepared(ranker, maps=["minmax"], indicators=self.indicators)

    def _member(self, maps: list[str]) -> OnlinePrepared:
        return OnlinePrepared(NewtonXENDCG(wide=self.wide), maps=maps, indicators=self.indicators)

    def with_indicators(self, indicators: int, wide: int) -> Self:
        """Return a copy for rows with so many indicators."""
        return copy.deepcopy(self).set_params(indicators=indicators, wide=wide)

    def _is_sparse_taken(self) -> bool:
        """Whether some columns are wide."""
        return self.wide > 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("indicators", self.indicators, 0)
        check_whole("wide", self.wide, 0)
        if self.wide > self.indicators:
            raise DataError(
                f"wide columns are indicators, too: wide must be at most {self.indicators}, the "
                f"number of indicators; found {self.wide}"
            )
