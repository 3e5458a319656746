"""SOLAR-II: second-order learning on pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.rankers.online.linear import CLIP
from rankloop.rankers.online.second_order import SecondOrderRanker
from rankloop.rankers.parameters import check_number
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.online.second_order import Covariance
    from rankloop.rankers.traits import Traits


class SolarII(SecondOrderRanker):
    """Second-order SOLAR: weights with a covariance S that shrinks in the direction of each pair.

    For every pair with R_i > R_j, delta = x_i - x_j and loss l = max(0, 1 - w.delta), where l > 0:

        beta = delta' S delta + gamma,   w += (l / beta) S delta,   S -= (S delta)(S delta)' / beta.

    S starts as the identity. Updates with l > 0 are recursive least squares with target 1, so we
    keep the inverse L = S^-1, which is a sum over pairs, L += delta delta' / gamma, as its root.
    The result is the paper's, at a fraction of the cost.

    It takes better grades first, then row order, for both documents of a pair. In lists of more
    than 512 documents, pairs are taken in tiles: 32 documents with 32 others, then with the next
    32. The paper does not give the order.

    Parameters
    ----------
    gamma : the larger it is, the smaller the effect of a pair, above 0; the paper's online tables
        use 1e4
    covariance, directions : `full`, or for many features `low-rank` with this number of directions,
        or `diagonal`, where a pair shrinks only variances; see :class:`SecondOrderRanker`
    clip : see :class:`LinearRanker`; it has no effect with a diagonal covariance
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    precision_ : (d, d) L, the inverse covariance of the weights; (d,) if it is diagonal
    root_, variances_, directions_ : how L is stored; see :class:`SecondOrderRanker`

    Notes
    -----
    Cost per query, full: O(d^3 + m d^2 + m^2 d) and O(m^2) per violated pair; O(d^2) per violated
    pair of lists longer than 1.6 d, and O(d^2 / 16 + 4096) of lists of more than 512; memory O(d^2
    + m^2). Low-rank: O((m + r)^2 d + m^3) and O(m^2) per violated pair; memory O(r d + m^2).
    Diagonal: O(d) per pair and O(d) memory. Every past query counts the same, so after a change of
    taste it needs as many new queries as it has seen old ones (see :class:`Adaptive`).

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), eq. 7-9.
    """

    traits: ClassVar[Traits] = replace(SecondOrderRanker.traits, takes_sparse=True)
    search_space: ClassVar[Mapping[str, Search]] = {"gamma": Range(1, 1e6, 7, log=True)}

    def __init__(
        self,
        gamma: float = 1e4,
        covariance: Covariance = "full",
        directions: int = 20,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.covariance = covariance
        self.directions = directions
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("gamma", self.gamma, above=True)

    def _is_sparse_taken(self) -> bool:
        return self.covariance == "diagonal"

    def _learn(self, call: Call, arrays: Arrays) -> int:
        known = self._known(arrays)
        if self.covariance == "diagonal":
            return _core.learn_solar_diagonal(*call, self.gamma, arrays["variances_"])
        return _core.learn_solar_ii(*call, self.gamma, *known, self.clip)
