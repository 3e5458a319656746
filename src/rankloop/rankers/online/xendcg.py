"""Online XE_NDCG: gradient steps on the cross entropy that bounds nDCG."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.rankers.online.linear import CLIP, SteppingRanker
from rankloop.rankers.parameters import check_number
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits


class OnlineXENDCG(SteppingRanker):
    """Gradient descent on XE_NDCG, one step per query.

    loss = -sum_i phi_i log softmax(s)_i with phi_i = (2^R_i - gamma) / sum_j (2^R_j - gamma).

    Queries whose judged documents have only one grade are skipped.

    Parameters
    ----------
    rate : step size, above 0; the default suits features of about unit size, and streams of
        thousands of queries: docs/which-ranker.md
    decay : round t uses rate / (1 + t)^decay
    gamma : from 0 to 1; 1 makes phi proportional to the gains of nDCG
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) per query and O(d) memory. :class:`NewtonXENDCG` needs no rate. It does not notice
    changes of taste, and follows them slowly, as its rate says (see :class:`Adaptive`).

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1; its
    conclusion asks for an online form.
    """

    traits: ClassVar[Traits] = replace(SteppingRanker.traits, takes_sparse=True)
    search_space: ClassVar[Mapping[str, Search]] = {"rate": Range(0.01, 100, 5, log=True)}

    def __init__(
        self,
        rate: float = 0.03,
        decay: float = 0.0,
        gamma: float = 1.0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.decay = decay
        self.gamma = gamma
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("gamma", self.gamma, 0, 1)

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_softmax(
            *call,
            arrays["sizes_"],
            self.clip,
            gains=True,
            gamma=self.gamma,
            rate=self.rate,
            decay=self.decay,
            one_grade=False,
        )
