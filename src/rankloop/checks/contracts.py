"""The contracts: what a loss and a learner are, seen from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@runtime_checkable
class Loss(Protocol):
    """A loss of one query; grades below 0 are unjudged and take no part.

    smooth : whether the gradient is the derivative everywhere
    convex : whether the loss is convex in the scores
    """

    smooth: bool
    convex: bool

    def value(self, scores: NDArray[np.float64], grades: NDArray[np.float64]) -> float:
        """Return the loss, at least 0."""

    def gradient(
        self, scores: NDArray[np.float64], grades: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return its gradient, or a subgradient, one number a document."""


@runtime_checkable
class Learner(Protocol):
    """A ranker that learns: higher scores are better; rows come in any query order."""

    def fit(self, X: Any, y: ArrayLike, *, qid: ArrayLike) -> Any:
        """Learn from nothing, forgetting what was learnt before; return self."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Score rows, each by itself: no query ids are needed."""


@runtime_checkable
class OnlineLearner(Learner, Protocol):
    """A learner that goes on learning."""

    def partial_fit(self, X: Any, y: ArrayLike, *, qid: ArrayLike) -> Any:
        """Learn from queries in the order given, going on from what is known; return self."""

    def learn(self, X: Any, y: ArrayLike) -> Any:
        """Learn from one query; return self."""
