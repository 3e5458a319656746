"""The minimax perceptron: one step per query, along the pair that violates its order most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.rankers.online.linear import SteppingRanker

if TYPE_CHECKING:
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits


class MinimaxPerceptron(SteppingRanker):
    """Perceptron for ranking that reaches the minimax loss bound on separable data.

    On a query whose ranking is not perfect, w += rate (x_i - x_j) for the pair with R_i > R_j that
    violates its order most: the largest s_j - s_i. The rankings do not depend on a constant rate.

    Where we depart: ties are mistakes, as in :class:`Slam`; among equally bad pairs the one with
    the lowest rows is taken.

    Parameters
    ----------
    rate : step size, above 0
    decay : round t uses rate / (1 + t)^decay
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) per query and O(d) memory. On data that cannot be ranked without mistakes it is
    much worse than :class:`Slam`, because one outlier in a query determines the step. It does not
    notice changes of taste, but follows them, because its steps stay as large as they were (see
    :class:`Adaptive`).

    References
    ----------
    Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank: Algorithm 3,
    eq. 27, 29.
    """

    traits: ClassVar[Traits] = replace(SteppingRanker.traits, takes_sparse=True)

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_minimax(*call, arrays["sizes_"], self.clip, self.rate, self.decay)
