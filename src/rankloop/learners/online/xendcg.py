"""Online XE_NDCG: gradient steps on the cross entropy that bounds nDCG."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rankloop import _core
from rankloop.learners.online.linear import LinearRanker
from rankloop.learners.parameters import check_number, check_rate
from rankloop.learners.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.learners.base import Grades
    from rankloop.learners.online.linear import Call


class OnlineXENDCG(LinearRanker):
    """Gradient descent on XE_NDCG, one step a query.

    loss = -sum_i phi_i log softmax(s)_i with phi_i = (2^R_i - gamma) / sum_j (2^R_j - gamma).

    Queries whose judged documents share one grade teach nothing and are passed over.

    Parameters
    ----------
    rate : step size, above 0
    decay : round t uses rate / (1 + t)^decay
    gamma : from 0 to 1; 1 makes phi proportional to the gains of nDCG
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) a query and O(d) memory. :class:`NewtonXENDCG` needs no rate.

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1; its
    conclusion asks for an online form.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"rate": Range(0.01, 100, 5, log=True)}

    def __init__(
        self,
        rate: float = 1.0,
        decay: float = 0.0,
        gamma: float = 1.0,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.decay = decay
        self.gamma = gamma
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check(self, y: Grades) -> None:  # noqa: ARG002
        check_rate(self.rate, self.decay)
        check_number("gamma", self.gamma, 0, 1)

    def _learn(self, call: Call) -> int:
        return _core.learn_softmax(*call, True, self.gamma, self.rate, self.decay)
