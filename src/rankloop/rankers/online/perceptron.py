"""The classification perceptron."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.rankers.online.linear import SteppingRanker

if TYPE_CHECKING:
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits


class Perceptron(SteppingRanker):
    """Classify documents as relevant (grades above 0) or not, and rank by the score.

    It takes one document at a time, in row order: if y w.x <= 0, w += rate y x, with y = 1 for a
    relevant document and -1 for others. It uses neither queries nor grades.

    Where we depart: a score of 0 is a mistake, so that it learns when w = 0. There is no threshold;
    add a constant feature to get one.

    Parameters
    ----------
    rate : step size, above 0; a constant one does not change the rankings
    decay : query t uses rate / (1 + t)^decay
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) per query and O(d) memory. It does not notice changes of taste, but follows them,
    because its steps stay as large as they were (see :class:`Adaptive`).

    References
    ----------
    Rosenblatt (1958); Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank:
    Algorithm 1.
    """

    traits: ClassVar[Traits] = replace(
        SteppingRanker.traits, takes_sparse=True, takes_equal_grades=True
    )

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_perceptron(*call, arrays["sizes_"], self.clip, self.rate, self.decay)
