"""What a ranking teaches: from what was shown and what people did to training data."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.feedback.exchanges import drawn_pairs
from rankloop.feedback.lessons import (
    inverse_propensities,
    paired_lesson,
    preferred_pairs,
)
from rankloop.feedback.ranking import PLACKETT_LUCE
from rankloop.serving.journal.entries import JUDGED
from rankloop.serving.lessons import Lesson, seen_in
from rankloop.serving.models import Curve, qualities

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.config import LoopSettings
    from rankloop.serving.models import Model
    from rankloop.serving.state import Counters

    Floats = NDArray[np.float64]


_MAX_WAITING = 64  # lessons that are put off


class Lessons:
    """Lessons that are collected, and learnt when a model is needed.

    A ranker learns many at once much faster than one by one, with the same result.
    """

    def __init__(self) -> None:
        self._waiting: list[Lesson] = []

    @property
    def are_many(self) -> bool:
        """Whether there are enough to learn them now."""
        return len(self._waiting) >= _MAX_WAITING

    def add(
        self,
        ranking: Ranking,
        grades: Floats,
        settings: LoopSettings,
        counters: Counters,
        position: int,
        by_clicks: bool = False,
    ) -> str:
        """Add what is now known about a ranking, and return its status.

        Parameters
        ----------
        grades : by candidate, below 0 if nothing is known
        counters : of the loop; they count that a ranking was learnt
        position : of the entry that teaches
        by_clicks : whether the grades come from feedback
        """
        if len({grade for grade in grades.tolist() if grade >= 0}) < 2:
            return "nothing"
        if ranking.X is None:  # the journal keeps them always
            raise DataError(f"ranking {ranking.id} has no features")
        if by_clicks and settings.lesson == "pdgd" and ranking.policy != PLACKETT_LUCE:
            counters.refused += 1
            return "refused"
        lesson = Lesson(position, ranking, grades, by_clicks=by_clicks)
        self._waiting.append(_as_settings_say(settings, lesson) if by_clicks else lesson)
        best = int(ranking.scores[ranking.order].argmax())
        counters.agreed += best == 0
        counters.lessons += 1
        return "learnt"

    def learn(self, models: Collection[Model], shown: Curve) -> None:
        """Measure every model on each lesson, then let it learn; and measure what people saw."""
        waiting, self._waiting = self._waiting, []
        for (nobody_saw, *_), run in groupby(waiting, _alike):
            lessons = list(run)
            seen = seen_in(lessons)
            orders = _as_scores(lessons, seen.offsets)
            scores = [orders, *(model.study(lessons, seen) for model in models)]
            curves = [Curve() if nobody_saw else shown, *(model.curve for model in models)]
            for curve, values in zip(curves, qualities(scores, seen.y, seen.offsets), strict=True):
                curve.add(values)


def _alike(lesson: Lesson) -> tuple[bool, bool, bool]:
    """Return what lessons that are learnt together have in common."""
    return lesson.ranking.policy == JUDGED, lesson.weights is None, lesson.pairs is None


def _as_scores(lessons: Sequence[Lesson], offsets: NDArray[np.int64]) -> Floats:
    """Return scores that lead to the orders that were shown: minus the place, counted from 0."""
    orders = [lesson.ranking.order for lesson in lessons]
    sizes = [len(order) for order in orders]
    ends = np.cumsum(sizes)
    rows = np.concatenate(orders) + np.repeat(offsets[:-1], sizes)
    scores = np.repeat(-np.diff(offsets).astype(np.float64), np.diff(offsets))
    scores[rows] = np.repeat(ends - sizes, sizes) - np.arange(float(len(rows)))
    return scores


def _as_settings_say(settings: LoopSettings, lesson: Lesson) -> Lesson:
    """Return what feedback teaches in the way that the loop's settings name."""
    ranking, grades = lesson.ranking, lesson.grades
    if settings.lesson == "pdgd":
        return lesson._replace(pairs=paired_lesson(ranking, *drawn_pairs(ranking, grades)))
    if settings.lesson == "pairs":
        return lesson._replace(pairs=paired_lesson(ranking, preferred_pairs(ranking, grades)))
    if settings.lesson == "ips":
        weights = inverse_propensities(ranking, settings.examination, grades)
        return lesson._replace(weights=weights)
    return lesson
