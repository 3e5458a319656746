"""What a ranking teaches, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop.data.dataset import QueryDataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking

    Floats = NDArray[np.float64]


class Lesson(NamedTuple):
    """What a ranking teaches.

    position : of the entry that teaches it
    ranking, grades : what was shown, and how good each candidate was; below 0 if that is not known
    weights : of the candidates, or None
    pairs : what to learn instead of the candidates with their grades, or None
    by_clicks : whether the grades come from feedback
    """

    position: int
    ranking: Ranking
    grades: Floats
    weights: Floats | None = None
    pairs: QueryDataset | None = None
    by_clicks: bool = False


def seen_in(lessons: Sequence[Lesson]) -> QueryDataset:
    """Return the candidates of lessons with their grades, one query per lesson."""
    X = [lesson.ranking.X for lesson in lessons if lesson.ranking.X is not None]
    weights = [lesson.weights for lesson in lessons if lesson.weights is not None]
    return QueryDataset(
        np.concatenate(X),
        np.concatenate([lesson.grades for lesson in lessons]),
        np.cumsum([0, *map(len, X)]),
        np.arange(len(lessons)),
        sample_weight=np.concatenate(weights) if weights else None,
    )
