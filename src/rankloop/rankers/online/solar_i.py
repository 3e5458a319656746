"""SOLAR-I: passive-aggressive learning on pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.parameters import check_number
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits


class SolarI(LinearRanker):
    """First-order SOLAR: the smallest step that corrects a pair, up to a slack.

    For every pair with R_i > R_j, delta = x_i - x_j and loss l = max(0, 1 - w.delta):

        w += tau delta,   tau = l / (|delta|^2 + 1/(2 C)).

    It takes one pair at a time, better grades first, then in row order. In lists of more than 512
    documents, pairs are taken in tiles: 32 documents with 32 others, then with the next 32. The
    paper does not give the order.

    Parameters
    ----------
    C : limits the step of a pair, above 0; the paper's online tables use 1e-5
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(d) per pair; for lists of 32 to 4 d documents O(m^2 d) per query and O(m) per violated
    pair, in the space of documents, and O(64) per violated pair of lists of more than 512. Memory
    O(d + m^2), at most O(m d) for lists of more than 512. It does not notice changes of taste, and
    follows them slowly, the more so the smaller C is (see :class:`Adaptive`).

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), eq. 4-6.
    """

    traits: ClassVar[Traits] = replace(LinearRanker.traits, takes_sparse=True)
    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_",)
    _sizes: ClassVar[int] = 0  # it has no parameter clip
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
