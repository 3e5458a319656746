"""The interface that a ranker must have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@runtime_checkable
class RankerLike(Protocol):
    """What every ranker must have: higher scores are better, and rows may come in any order."""

    def fit(self, X: object, y: ArrayLike, *, qid: ArrayLike) -> Self:
        """Fit from scratch, and forget what was learnt before; return self."""

    def predict(self, X: object) -> NDArray[np.generic]:
        """Score each row separately.

        A ranker that looks at whole queries sets `scores_rows_alone = False`, and takes `qid=`.
        """


@runtime_checkable
class OnlineRankerLike(RankerLike, Protocol):
    """A ranker that can continue to learn."""

    def partial_fit(self, X: object, y: ArrayLike, *, qid: ArrayLike) -> Self:
        """Learn from queries in the given order, starting from the current state; return self."""

    def learn(self, X: object, y: ArrayLike) -> Self:
        """Learn from one query; return self."""
