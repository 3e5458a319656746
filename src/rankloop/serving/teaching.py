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

    Floats = NDArray[np.float64]


def make_example(
    settings: LoopSettings,
    ranking: Ranking,
    grades: Floats,
    position: int,
    by_clicks: bool = False,
) -> Lesson | None:
    """Return what the models of a loop learn from a ranking; None if they cannot learn from it.

    Parameters
    ----------
    settings : of the loop; they say how feedback becomes training data
    grades : by candidate, below 0 if nothing is known
    position : of the entry that made the grades known
    by_clicks : whether the grades come from feedback; other grades are learnt as they are
    """
    if ranking.X is None:  # the journal keeps them always
        raise DataError(f"ranking {ranking.id} has no features")
    lesson = Lesson(position, ranking, grades, by_clicks=by_clicks)
    if not by_clicks:
        return lesson
    if settings.lesson == "pdgd":
        if ranking.policy != PLACKETT_LUCE:  # the order was not drawn: no chances are known
            return None
        return lesson._replace(pairs=paired_lesson(ranking, *drawn_pairs(ranking, grades)))
    if settings.lesson == "pairs":
        return lesson._replace(pairs=paired_lesson(ranking, preferred_pairs(ranking, grades)))
    if settings.lesson == "ips":
        weights = inverse_propensities(ranking, settings.examination, grades)
        return lesson._replace(weights=weights)
    return lesson


def learn_from(lessons: Sequence[Lesson], models: Collection[Model], shown: Curve) -> None:
    """Measure every model on each lesson, then let it learn; and measure what people saw."""
    for (nobody_saw, *_), run in groupby(lessons, _alike):
        batch = list(run)
        seen = seen_in(batch)
        orders = _as_scores(batch, seen.offsets)
        scores = [orders, *(model.study(batch, seen) for model in models)]
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
