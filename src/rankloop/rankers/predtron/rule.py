"""Rules: the direction in which a mistake moves the scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from rankloop.rankers.predtron.problem import Floats, Problem


class UpdateRule(ABC):
    """A rule. It takes a step only if the prediction has a loss."""

    def step(self, problem: Problem, scores: Floats, label: object) -> tuple[float, Floats | None]:
        """Return the loss of the prediction, and the gradient by the scores; None without loss."""
        prediction = problem.decode_against(scores, label)
        loss = problem.loss(prediction, label)
        if loss <= 0:
            return 0.0, None
        gradient = self.gradient(problem, scores, label, prediction, loss)
        return loss, problem.share_ties(gradient, scores, label)

    @abstractmethod
    def gradient(
        self, problem: Problem, scores: Floats, label: object, prediction: object, loss: float
    ) -> Floats:
        """Return the gradient of the surrogate by the scores."""


class MistakeDriven(UpdateRule):
    """Predtron (Algorithm 1): the gradient of the surrogate of eq. 2.

    rep(s) - rep(y) with s the prediction of the highest loss + similarity. The surrogate is at
    least the loss, and at most 0 for weights of margin C_L: Theorem 1.

    If a label has several correct predictions, we use a likely one, so each round has its own
    surrogate. The bound still holds, because a margin applies to all correct predictions.
    """

    def gradient(
        self,
        problem: Problem,
        scores: Floats,
        label: object,
        prediction: object,  # noqa: ARG002
        loss: float,  # noqa: ARG002
    ) -> Floats:
        """Return rep(s) - rep(y)."""
        worst = problem.represent(problem.decode_augmented(scores, label))
        return worst - problem.represent(problem.correct(label, scores))


class LossDriven(UpdateRule):
    """Predtron.LD: L (rep(prediction) - rep(y)), scaled by the loss L that was incurred.

    The paper's appendix is not available, so this is our derivation: for fixed prediction and L,

        f(W) = L max(0, 1 - <rep(y) - rep(prediction), W X>)

    is convex, at least L at the ranker's own W (which likes the prediction at least as well), and
    0 for weights of margin 1. Its gradient has norm at most 2 R L. From W = 0 the norm of the
    weights after all rounds is at most 2 R rate sqrt(sum L^2), as the old weights never agree with
    the step, and they agree with U of margin 1 by at least rate sum L; so
    sum L <= 4 R^2 |U|^2 C_L: the factor C_L / c_L of Theorem 1 is gone.

    Predictions do not depend on the rate, and no loss-augmented decoding is needed.
    """

    def gradient(
        self, problem: Problem, scores: Floats, label: object, prediction: object, loss: float
    ) -> Floats:
        """Return L (rep(prediction) - rep(y))."""
        right = problem.represent(problem.correct(label, scores))
        return loss * (problem.represent(prediction) - right)


RULES: dict[str, type[UpdateRule]] = {"predtron": MistakeDriven, "loss-driven": LossDriven}


def as_rule(rule: str | UpdateRule) -> UpdateRule:
    """Return a rule unchanged, or find it by its name."""
    if isinstance(rule, UpdateRule):
        return rule
    if not isinstance(rule, str) or rule not in RULES:
        raise DataError(f"rule must be one of {', '.join(RULES)}; found {rule!r}")
    return RULES[rule]()
