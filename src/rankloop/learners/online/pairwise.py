"""The pairwise perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop import _core
from rankloop.learners.online.clipped import CLIP, ClippedRanker

if TYPE_CHECKING:
    from rankloop.learners.online.linear import Arrays, Call


class PairwisePerceptron(ClippedRanker):
    """Perceptron on pair differences: w += x_i - x_j where R_i > R_j and w.(x_i - x_j) <= 0.

    Pairs come one by one, better grades first, then in row order. Known as PRank (pairwise) in the
    SOLAR paper.

    Parameters
    ----------
    clip : see :class:`ClippedRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(d) a pair; for lists of 32 to 4 d documents O(m^2 d) a query and O(m) a mistake.
    Memory O(d + m^2).

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), table 2.
    """

    def __init__(
        self,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_pairs_perceptron(*call, arrays["sizes_"], self.clip)
