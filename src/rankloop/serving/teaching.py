"""What a ranking teaches: from what was shown and what people did, to what learners learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.feedback.exchanges import drawn_pairs
from rankloop.feedback.lessons import (
    graded_lesson,
    inverse_propensities,
    paired_lesson,
    preferred_pairs,
)
from rankloop.feedback.ranking import PLACKETT_LUCE
from rankloop.serving.models import qualities

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.config import LoopSettings
    from rankloop.serving.models import Curve, Model
    from rankloop.serving.state import Counters

    Floats = NDArray[np.float64]


def teach(
    models: Collection[Model],
    ranking: Ranking,
    grades: Floats,
    settings: LoopSettings,
    counters: Counters,
    shown: Curve,
    position: int,
    by_clicks: bool = False,
) -> str:
    """Measure every model on what is now known of a ranking, then let it learn.

    Parameters
    ----------
    grades : by candidate, below 0 where nothing is known
    counters, shown : of the loop; they take in that a ranking was learnt, and how well it did
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
    lesson = lesson_of(settings if by_clicks else None, ranking, grades)
    measure(models, ranking, ranking.X, grades, shown)
    best = int(ranking.scores[ranking.order].argmax())
    counters.agreed += best == 0
    counters.lessons += 1
    for model in models:
        model.learn(lesson, position, (ranking, grades) if by_clicks else None)
    return "learnt"


def measure(
    models: Collection[Model],
    ranking: Ranking,
    X: NDArray[np.float32],
    grades: Floats,
    shown: Curve,
) -> None:
    """Take in how well every model would have ranked, and what was shown."""
    places = np.full(len(grades), -float(len(grades)))
    places[ranking.order] = -np.arange(float(len(ranking)))
    scores = [np.asarray(model.ranker.predict(X, group=[len(X)]), np.float64) for model in models]
    values = qualities([places, *scores], grades)
    if values is not None:
        for curve, value in zip([shown, *(m.curve for m in models)], values, strict=True):
            curve.add(value)


def lesson_of(settings: LoopSettings | None, ranking: Ranking, grades: Floats) -> QueryDataset:
    """Return what a ranking teaches, as the loop's settings say; None: what judges say."""
    if settings is None or settings.lesson == "grades":
        return graded_lesson(ranking, grades)
    if settings.lesson == "pdgd":
        return paired_lesson(ranking, *drawn_pairs(ranking, grades))
    if settings.lesson == "pairs":
        return paired_lesson(ranking, preferred_pairs(ranking, grades))
    weights = inverse_propensities(ranking, settings.examination, grades)
    return graded_lesson(ranking, grades, weights)
