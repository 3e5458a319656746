"""Multilabel classification: a set of labels at a time, without trying 2^m of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.predtron.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.predtron.problem import Floats

    Labels = NDArray[np.bool_]


class Multilabel(Problem):
    """Sets of m labels as boolean vectors; rep is 1/sqrt(m) where a label is in, else the negative.

    A label is predicted where its score is above 0. Taking label j in rather than out adds
    2 t_j / sqrt(m) to the similarity: every maximum below is one over these steps.

    Parameters
    ----------
    n_labels : m, at least 1
    """

    smallest_loss = 1.0

    def __init__(self, n_labels: int) -> None:
        check_whole("n_labels", n_labels, 1)
        self.dimension = n_labels
        self.largest_loss = self._largest(n_labels)

    @abstractmethod
    def _largest(self, m: int) -> float:
        """Return the largest loss of m labels."""

    def represent(self, prediction: Labels) -> Floats:
        """Return 1/sqrt(m) where a label is in, else the negative."""
        return np.where(prediction, 1.0, -1.0) / math.sqrt(self.dimension)

    def decode(self, scores: Floats) -> Labels:
        """Take every label with a score above 0."""
        return scores > 0

    def decode_against(self, scores: Floats, label: Labels) -> Labels:
        """Get every score of 0 wrong."""
        return np.where(scores == 0, ~label, scores > 0)

    def check(self, label: object) -> Labels:
        """Labels are vectors of 0 and 1."""
        array = np.asarray(label)
        if array.shape != (self.dimension,) or not np.isin(array, (0, 1)).all():
            raise DataError(f"a label must be {self.dimension} values 0 or 1; found {label!r}")
        return array.astype(bool)

    def margin(self, scores: Floats, label: Labels) -> float:
        """Return what turning the least sure label costs, or what turning all wrong ones would."""
        toll = np.where(label, 1, -1) * self._steps(scores)
        return float(toll.min() if toll.min() >= 0 else toll[toll < 0].sum())

    def _steps(self, scores: Floats) -> Floats:
        """Return what each label adds by being in."""
        return 2 / math.sqrt(self.dimension) * scores


class SubsetZeroOne(Multilabel):
    """Loss 1 unless the whole set is right.

    The best wrong set is that of the signs, or, if these are right, the one with the least sure
    label turned. O(m).

    >>> SubsetZeroOne(3).decode_augmented(np.array([2.0, -0.1, 1.0]), np.array([True, False, True]))
    array([ True,  True,  True])
    """

    def _largest(self, m: int) -> float:  # noqa: ARG002
        return 1.0

    def loss(self, prediction: Labels, label: Labels) -> float:
        """Return 0 or 1."""
        return float((prediction != label).any())

    def decode_augmented(self, scores: Floats, label: Labels) -> Labels:
        """Return the best wrong set if it comes within 1 of the right one."""
        wrong = self.decode(scores)
        if (wrong == label).all():
            j = np.abs(scores).argmin()
            wrong[j] = ~wrong[j]
        ahead = self._steps(scores) @ (wrong.astype(float) - label)
        return wrong if 1 + ahead > 0 else label


class Hamming(Multilabel):
    """Loss: how many labels are wrong. Each label decides alone. O(m).

    >>> Hamming(4).decode_augmented(np.array([2.0, 0.5, -0.5, -2.0]), np.ones(4, bool))
    array([ True, False, False, False])
    """

    def _largest(self, m: int) -> float:
        return float(m)

    def loss(self, prediction: Labels, label: Labels) -> float:
        """Return how many labels differ."""
        return float((prediction != label).sum())

    def decode_augmented(self, scores: Floats, label: Labels) -> Labels:
        """Get a label wrong where that loses less similarity than 1."""
        toll = np.where(label, 1, -1) * self._steps(scores)
        return np.where(toll < 1, ~label, label)


class ErrorSetSize(Multilabel):
    """Loss: how many pairs of a missed label and a wrongly predicted one: a b.

    For given a and b the a lowest-scored of the true labels are missed, and the b highest-scored
    of the others predicted; the best a and b are found by trying all. O(m^2).

    Predicting too many labels, or too few, costs nothing: a or b is 0.

    >>> ErrorSetSize(4).decode_augmented(np.zeros(4), np.array([True, True, False, False]))
    array([False, False,  True,  True])
    """

    def _largest(self, m: int) -> float:
        return max(1.0, float((m // 2) * ((m + 1) // 2)))

    def loss(self, prediction: Labels, label: Labels) -> float:
        """Return missed times wrongly predicted."""
        return float((label & ~prediction).sum() * (prediction & ~label).sum())

    def decode_augmented(self, scores: Floats, label: Labels) -> Labels:
        """Try every number of missed and of wrongly predicted labels."""
        true, other, missed, added = self._by_number(scores, label)
        a, b = np.arange(len(missed)), np.arange(len(added))
        value = np.outer(a, b) + missed[:, None] + added
        best_a, best_b = np.unravel_index(value.argmax(), value.shape)
        array = label.copy()
        array[true[:best_a]], array[other[:best_b]] = False, True
        return array

    def margin(self, scores: Floats, label: Labels) -> float:
        """Compare the worst set that misses or adds nothing with the best one that does both."""
        _, _, missed, added = self._by_number(scores, label)
        steps = self._steps(scores)
        correct = min(np.minimum(-steps[label], 0).sum(), np.minimum(steps[~label], 0).sum())
        wrong = missed[1:].max(initial=-np.inf) + added[1:].max(initial=-np.inf)
        return float(correct - wrong)

    def _by_number(
        self, scores: Floats, label: Labels
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
        """Labels in the order they are missed or added, and what the first a or b of them bring."""
        steps = self._steps(scores)
        true, other = np.flatnonzero(label), np.flatnonzero(~label)
        true = true[steps[true].argsort(kind="stable")]
        other = other[(-steps[other]).argsort(kind="stable")]
        return true, other, np.r_[0.0, -np.cumsum(steps[true])], np.r_[0.0, np.cumsum(steps[other])]
