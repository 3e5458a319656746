"""Online ListNet: gradient steps on the top-one cross entropy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.rankers.online.linear import CLIP, SteppingRanker
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits


class OnlineListNet(SteppingRanker):
    """Gradient descent on ListNet's loss, one step per query.

    loss = -sum_i softmax(R)_i log softmax(s)_i,   w -= rate X'(softmax(s) - softmax(R)).

    Where we depart: queries whose judged documents have only one grade are skipped. In the paper
    they have a uniform target, which makes their scores more similar and teaches nothing about
    order; with `one_grade` they are learnt from.

    Parameters
    ----------
    rate : step size, above 0; the default suits features of about unit size, and streams of
        thousands of queries: docs/which-ranker.md
    decay : round t uses rate / (1 + t)^decay
    one_grade : whether to learn from queries with only one grade, as in the paper
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) per query and O(d) memory. It does not notice changes of taste, and follows them
    slowly, as its rate says (see :class:`Adaptive`).

    References
    ----------
    Cao et al., Learning to rank: from pairwise approach to listwise approach (2007); online in
    Chaudhuri and Tewari, section 8.
    """

    traits: ClassVar[Traits] = replace(SteppingRanker.traits, takes_sparse=True)
    search_space: ClassVar[Mapping[str, Search]] = {"rate": Range(0.01, 100, 5, log=True)}

    def __init__(
        self,
        rate: float = 0.03,
        decay: float = 0.0,
        one_grade: bool = False,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.decay = decay
        self.one_grade = one_grade
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_softmax(
            *call,
            arrays["sizes_"],
            self.clip,
            gains=False,
            gamma=0.0,
            rate=self.rate,
            decay=self.decay,
            one_grade=bool(self.one_grade),
        )
