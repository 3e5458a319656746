"""SLAM without a learning rate: coin betting on its subgradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.measures.measure import AP, Measure, parse
from rankloop.rankers.forms import Array
from rankloop.rankers.online.linear import CLIP, LinearRanker
from rankloop.rankers.online.slam import StepsOn, WithinGrade, check_slam

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.linear import Arrays, Call


class RateFreeSlam(LinearRanker):
    """SLAM whose step size is determined by betting: nothing to tune, for features of any scale.

    Where :class:`Slam` would step, with z the subgradient of its surrogate at w and g = -z,

        won += g.w (at least 0),   staked += |g|,   longest = max(longest, |g|),
        w = (margin + won) / (longest (staked + longest)) * sum of all g so far.

    The sum of g is the direction of the bets, and the amount won determines how far to go.
    Multiplying the features by a constant does not change the rankings. If f_t is the surrogate of
    the rounds with a step, |g| <= L and u is any vector, then  sum f_t(w_t) - f_t(u)  is at most

        margin + |u| sqrt(L S log(1 + S^2 |u|^2 / margin^2)),   S = L + sum |g|,

    if L is known from the start; apart from the logarithm, this is the regret of SLAM at the best
    learning rate for u (:func:`rankloop.theory.perceptron.betting_regret_bound`).

    Where we depart: L is the longest g so far, because it is not known in practice; norms replace
    coordinates, so that the rankings do not depend on a rotation of the features.

    Parameters
    ----------
    measure : `nDCG`, `nDCG@k` or `AP`
    margin : above 0; it is also the money for the first bet
    steps_on, within_grade : see :class:`Slam`
    clip : see :class:`LinearRanker`; here it limits g
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: that of :class:`Slam`, and O(d) per step; O(d) memory.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(200, np.random.default_rng(0)).data
    >>> ranker = RateFreeSlam(measure="nDCG@10").fit(data)
    >>> evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"] > 0.99
    True

    References
    ----------
    Orabona and Tommasi, Training deep networks without learning rates through coin betting (2017),
    Algorithm 1 and Theorem 1; Chaudhuri and Tewari, Perceptron-like algorithms for online learning
    to rank, eq. 9-17.
    """

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "sizes_", "steps_", "purse_")
    steps_: NDArray[np.float64]  # the sum of all g
    purse_: NDArray[np.float64]  # won, staked, longest

    def __init__(
        self,
        measure: str | Measure = "nDCG",
        margin: float = 1.0,
        steps_on: StepsOn = "mistakes",
        within_grade: WithinGrade = "score",
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.measure = measure
        self.margin = margin
        self.steps_on = steps_on
        self.within_grade = within_grade
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.steps_ = np.zeros(n_features)
        self.purse_ = np.zeros(3)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "steps_": Array((n_features,)),
            "purse_": Array((3,), low=0),
        }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_slam(self.measure, self.margin, self.steps_on, self.within_grade)

    def _discount_past(self, keep: float) -> None:
        """Reduce the amounts won and staked; the weights keep their direction."""
        self.steps_ = self.steps_ * keep
        won, staked, longest = self.purse_.tolist()
        if not longest > 0:
            return
        self.purse_ = np.array([won * keep, staked * keep, longest])
        bet = (self.margin + won * keep) / longest / (staked * keep + longest)
        self.last_weights_ = bet * self.steps_ if keep < 1 else self.last_weights_

    def _learn(self, call: Call, arrays: Arrays) -> int:
        measure = parse(self.measure)
        return _core.learn_betting_slam(
            *call,
            arrays["sizes_"],
            self.clip,
            ap=measure == AP,
            cutoff=measure.cutoff or 0,
            margin=self.margin,
            only_loss=self.steps_on == "loss",
            averaged=self.within_grade == "mean",
            steps=arrays["steps_"],
            purse=arrays["purse_"],
        )
