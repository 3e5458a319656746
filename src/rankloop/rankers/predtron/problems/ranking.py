"""The base class of ranking problems: permutations as vectors, and their exact decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import dot, exp2, log2
from rankloop.exceptions import DataError, MeasureError
from rankloop.measures.measure import Measure, parse
from rankloop.rankers.predtron.decreasing import Decreasing, Positions, unit_positions
from rankloop.rankers.predtron.problem import TINY, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.predtron.problem import Floats

    Ranks = NDArray[np.int64]


class RankingProblem(Problem):
    """Predict a permutation from a grade for each item: position[i] of item i, from 0.

    rep = f(position) / Z, so the highest score comes first. The loss is
    1 - sum_i g_i D(position_i): with g_i = (2^grade - 1) / ideal and D = 1/log2(2 + position) that
    is 1 - nDCG; with g_i = 1 / min(k, relevant) and D = 1 on the first k, it is 1 - P@k divided by
    the best P@k, so that every label has a prediction without loss.

    The maximum in eq. 2 is an assignment of items to positions at a profit of
    t_i f(p)/Z - g_i D(p) (Lemma 3), solved exactly in the compiled core
    (`cpp/assignment/`).

    Parameters
    ----------
    f : `-i^1.1`, `1/i`, ... or any strictly decreasing function of an array of positions from 1
    measure : `nDCG`, `nDCG@k` or `P@k`
    """

    largest_loss = 1.0

    def __init__(self, f: Decreasing = "-i^1.1", measure: str | Measure = "nDCG") -> None:
        self.measure = parse(measure)
        precise = self.measure.name == "P" and self.measure.cutoff is not None
        if not (precise or self.measure.name == "nDCG") or self.measure.parameters:
            raise MeasureError(f"Predtron learns nDCG, nDCG@k or P@k; found {self.measure}")
        self.positions = unit_positions(f)
        self.discounts = Positions(self._discounts)
        self.positions(2)  # says at once where f cannot be used

    def gains(self, label: Floats) -> Floats:
        """Return g, with which the loss is 1 - sum g D; zeros where no ranking can lose."""
        cutoff = self.measure.cutoff
        if self.measure.name == "P":
            gains = (label > 0).astype(np.float64)
            best = float(min(int(np.count_nonzero(gains)), cutoff or len(gains)))
        else:
            top = label.max(initial=0.0)
            gains = exp2(label - top) - exp2(-top)  # only ratios count: nothing overflows
            best = dot(-np.sort(-gains), self.discounts(len(gains)))
        scaled: Floats = gains / best if best > 0 else np.zeros(len(label))
        return scaled

    def _discounts(self, m: int) -> Floats:
        """Return D of positions 0 to m - 1."""
        discounts: Floats = 1 / log2(np.arange(2.0, m + 2))
        if self.measure.name == "P":
            discounts[:] = 1.0
        discounts[self.measure.cutoff or m :] = 0.0
        return discounts

    def loss(self, prediction: Ranks, label: Floats) -> float:
        """Return 1 - measure; 0 if no item is relevant."""
        gains = self.gains(label)
        if not gains.any():
            return 0.0
        lost = 1 - dot(gains, self.discounts(len(gains))[prediction])
        return lost if lost > TINY else 0.0

    def represent(self, prediction: Ranks) -> Floats:
        """Return f(position) / Z."""
        code: Floats = self.positions(len(prediction))[prediction]
        return code

    def decode(self, scores: Floats) -> Ranks:
        """Sort by score, ties as they come."""
        return _ranks(np.argsort(-scores, kind="stable"))

    def decode_against(self, scores: Floats, label: Floats) -> Ranks:
        """Sort by score, ties worst grade first."""
        return _ranks(np.lexsort((label, -scores)))

    def decode_augmented(self, scores: Floats, label: Floats) -> Ranks:
        """Solve the assignment of Lemma 3."""
        m = len(scores)
        places = np.empty(m, np.int64)
        gains, f, d = self.gains(label), self.positions(m), self.discounts(m)
        try:
            _core.assign_positions(np.ascontiguousarray(scores), gains, f, d, places)
        except ValueError as error:
            raise DataError(str(error)) from None
        return places

    def correct(self, label: Floats, scores: Floats) -> Ranks:
        """Sort by grade, and inside a grade by score."""
        return _ranks(np.lexsort((-scores, -self._grades(label))))

    def share_ties(self, gradient: Floats, scores: Floats, label: Floats) -> Floats:
        """Give items of one grade and score the mean of their gradients."""
        grades = self._grades(label)
        order = np.lexsort(
            (gradient, scores, grades)
        )  # also by gradient: the same sum in any order
        new = (np.diff(grades[order]) != 0) | (np.diff(scores[order]) != 0)
        group = np.r_[0, np.cumsum(new)]
        means = np.bincount(group, gradient[order]) / np.bincount(group)
        shared = np.empty(len(gradient))
        shared[order] = means[group]
        return shared

    def check(self, label: object) -> Floats:
        """Grades are numbers from 0."""
        grades = np.asarray(label, np.float64)
        if grades.ndim != 1 or not (np.isfinite(grades) & (grades >= 0)).all():
            raise DataError(
                "grades must be numbers of at least 0; leave out documents that are not judged"
            )
        return grades

    def margin(self, scores: Floats, label: Floats) -> float:
        """Compare the worst correct ranking with the best wrong one (Lemma 4, without cutoff).

        Inside a grade the worst correct ranking has the lowest score first. The best wrong one
        swaps neighbours of two grades in the best correct one.
        """
        if self.measure.cutoff is not None:
            raise DataError(
                f"margins are known only for nDCG without a cutoff; found {self.measure}"
            )
        grades, f = self._grades(label), self.positions(len(scores))
        worst, best = np.lexsort((scores, -grades)), np.lexsort((-scores, -grades))
        falls = np.flatnonzero(np.diff(grades[best]))
        if len(falls) == 0:
            return float("inf")
        by_score, t = np.sort(scores)[::-1], scores[best]
        wrong = t @ f
        if (by_score != t).any():  # sorting by score is wrong, and the best of all
            return float(scores[worst] @ f - by_score @ f)
        wrong -= ((f[falls] - f[falls + 1]) * (t[falls] - t[falls + 1])).min()
        return float(scores[worst] @ f - wrong)

    def _grades(self, label: Floats) -> Floats:
        return (label > 0).astype(np.float64) if self.measure.name == "P" else label


def _ranks(order: Ranks) -> Ranks:
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
