"""SOLAR-I: passive-aggressive learning on pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.learners.online.linear import LinearRanker
from rankloop.learners.parameters import check_number
from rankloop.learners.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.learners.online.linear import Arrays, Call


class SolarI(LinearRanker):
    """First-order SOLAR: the smallest step that mends a pair, up to a slack.

    For every pair with R_i > R_j, delta = x_i - x_j and loss l = max(0, 1 - w.delta):

        w += tau delta,   tau = l / (|delta|^2 + 1/(2 C)).

    Pairs come one by one, better grades first, then in row order. Those of lists of more than 512
    documents come in tiles: 32 documents against 32 others, then against the next 32. The paper
    leaves the order open.

    Parameters
    ----------
    C : how much a pair may pull, above 0; the paper's online tables have 1e-5
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(d) a pair; for lists of 32 to 4 d documents O(m^2 d) a query and O(m) a violated pair,
    in the space of documents, and O(64) a violated pair of lists of more than 512. Memory
    O(d + m^2), at most O(m d) for lists of more than 512.

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), eq. 4-6.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-7, 1, 8, log=True)}

    def __init__(
        self,
        C: float = 1e-5,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.C = C
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, above=True)

    def _learn(self, call: Call, arrays: Arrays) -> int:  # noqa: ARG002
        return _core.learn_solar(*call, 1 / (2 * self.C))
