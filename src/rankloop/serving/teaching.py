"""What a ranking teaches: from what was shown and what people did, to what learners learn."""

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
    from collections.abc import Collection

    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.config import LoopSettings
    from rankloop.serving.models import Model
    from rankloop.serving.state import Counters

    Floats = NDArray[np.float64]


_MOST_WAITING = 64  # lessons that are put off


class Lessons:
    """Lessons that were taken in, and are learnt when somebody looks at a model.

    A learner takes many at once in far less time than one by one, and gets to the same bits.
    """

    def __init__(self) -> None:
        self._waiting: list[Lesson] = []

    @property
    def are_many(self) -> bool:
        """Whether it is time to learn them."""
        return len(self._waiting) >= _MOST_WAITING

    def add(
        self,
        ranking: Ranking,
        grades: Floats,
        settings: LoopSettings,
        counters: Counters,
        position: int,
        by_clicks: bool = False,
    ) -> str:
        """Take in what is now known of a ranking, and say what becomes of it.

        Parameters
        ----------
        grades : by candidate, below 0 where nothing is known
        counters : of the loop; they take in that a ranking was learnt
        position : of the entry that teaches
        by_clicks : whether the grades come from feedback
        """
        judged = grades[grades >= 0]
        if not len(judged) or (judged == judged[0]).all():
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
            orders = np.concatenate([_as_scores(lesson.ranking) for lesson in lessons])
            scores = [orders, *(model.study(lessons, seen) for model in models)]
            curves = [Curve() if nobody_saw else shown, *(model.curve for model in models)]
            for values in qualities(scores, seen.y, seen.offsets):
                for curve, value in zip(curves, values, strict=True):
                    curve.add(value)


def _alike(lesson: Lesson) -> tuple[bool, bool, bool]:
    """Return what lessons that are learnt together have in common."""
    return lesson.ranking.policy == JUDGED, lesson.weights is None, lesson.pairs is None


def _as_scores(ranking: Ranking) -> Floats:
    """Return scores that lead to the order that was shown."""
    places = np.full(len(ranking.scores), -float(len(ranking.scores)))
    places[ranking.order] = -np.arange(float(len(ranking)))
    return places


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
