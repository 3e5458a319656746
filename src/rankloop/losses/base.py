"""The interface of a loss, and the base class of the built-in losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@runtime_checkable
class Loss(Protocol):
    """A loss of one query; documents with grades below 0 are unjudged and are ignored.

    A loss may also have `curvature(scores, grades)`, which returns the diagonal of its Hessian, one
    number of at least 0 per document; trees then take Newton steps instead of gradient steps.
    """

    @property
    def smooth(self) -> bool:
        """Whether the gradient is the derivative everywhere."""

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the scores."""

    def value(self, scores: Floats, grades: Floats) -> float:
        """Return the loss, which is at least 0."""

    def gradient(self, scores: Floats, grades: Floats) -> Floats:
        """Return its gradient, or a subgradient, with one number per document."""


class QueryLoss(ABC):
    """The base class of the built-in losses, which leaves out unjudged documents.

    A subclass defines `_value` and `_gradient` for judged documents only.

    smooth : whether the gradient is the derivative everywhere
    convex : whether the loss is convex in the scores
    """

    @property
    @abstractmethod
    def smooth(self) -> bool:
        """Whether the gradient is the derivative everywhere."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether the loss is convex in the scores."""

    @abstractmethod
    def _value(self, s: Floats, R: Floats) -> float:
        """Return the loss of scores s and grades R >= 0."""

    @abstractmethod
    def _gradient(self, s: Floats, R: Floats) -> Floats:
        """Return its gradient, or a subgradient."""

    def value(self, scores: Floats, grades: Floats) -> float:
        """Return the loss, which is at least 0; it is 0 if no document is judged."""
        judged = grades >= 0
        return float(self._value(scores[judged], grades[judged])) if judged.any() else 0.0

    def gradient(self, scores: Floats, grades: Floats) -> Floats:
        """Return its gradient, or a subgradient, with one number per document."""
        judged = grades >= 0
        gradient = np.zeros(len(scores))
        if judged.any():
            gradient[judged] = self._gradient(scores[judged], grades[judged])
        return gradient


def rivals(s: Floats, R: Floats) -> NDArray[np.int64]:
    """Find, for each document, the document with the highest score among those of lower grades.

    The result is -1 if there is none. Among equal scores the first row is taken. All documents of a
    grade have the same result, so the cost is O(m log m).

    >>> rivals(np.array([3.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])).tolist()
    [-1, 0, 0]
    """
    grades, grade = np.unique(R, return_inverse=True)
    order = np.lexsort((-s, grade))
    best = order[np.searchsorted(grade[order], np.arange(len(grades)))]
    below = np.full(len(grades), -1)
    for g in range(1, len(grades)):
        held, new = below[g - 1], best[g - 1]
        higher = held < 0 or (s[new], -new) > (s[held], -held)
        below[g] = new if higher else held
    return below[grade]
