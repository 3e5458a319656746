"""Examples: what the models of a loop learn from a ranking and the feedback on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.feedback.examples import (
    find_preferred_pairs,
    inverse_propensities,
    keep_seen,
    make_pairs_example,
)
from rankloop.feedback.exchanges import find_drawn_pairs
from rankloop.feedback.grading import MAX_GRADE
from rankloop.feedback.ranking import PLACKETT_LUCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.features.columns import Features
    from rankloop.feedback.grading import GradedEvent
    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.settings.loop import LoopSettings

    Floats = NDArray[np.float64]


class Example(NamedTuple):
    """A ranking, and what is known about its candidates.

    position : of the entry that made the grades known
    ranking, grades : what was shown, and how good each candidate was; below 0 if that is not known
    weights : of the candidates, or None
    pairs : what to learn instead of the candidates with their grades, or None
    feedback : if the grades come from feedback, those of all that was shown, for rankers that
        decide themselves what people saw of it
    """

    position: int
    ranking: Ranking
    grades: Floats
    weights: Floats | None = None
    pairs: QueryDataset | None = None
    feedback: Floats | None = None


def make_example(
    settings: LoopSettings,
    ranking: Ranking,
    grades: Floats,
    position: int,
    events: Sequence[GradedEvent] | None = None,
) -> Example | None:
    """Return what the models of a loop learn from a ranking; None if they cannot learn from it.

    Parameters
    ----------
    settings : of the loop; they say how feedback becomes training data
    grades : by candidate, below 0 if nothing is known
    position : of the entry that made the grades known
    events : the feedback that the grades come from; other grades are learnt as they are
    """
    if ranking.X is None:  # the journal keeps them always
        raise DataError(f"ranking {ranking.id} has no features")
    # Negative feedback moves all grades up, so that they may be twice as high. Entrances refuse
    # what is higher, but rules of feedback may change between an event and its closing.
    if not (grades <= 2 * MAX_GRADE).all():
        raise DataError(
            f"ranking {ranking.id}: found a grade of {float(grades.max()):g}, expected at most "
            f"{MAX_GRADE:g}"
        )
    example = Example(position, ranking, grades, feedback=None if events is None else grades)
    if events is None:
        return example
    if settings.learn_from == "grades":
        last = max(ranking.place(event.item) for event in events)
        return example._replace(grades=keep_seen(ranking, grades, last))
    if settings.learn_from == "pdgd":
        if ranking.policy != PLACKETT_LUCE:  # the order was not drawn: no chances are known
            return None
        return example._replace(
            pairs=make_pairs_example(ranking, *find_drawn_pairs(ranking, grades))
        )
    if settings.learn_from == "pairs":
        return example._replace(
            pairs=make_pairs_example(ranking, find_preferred_pairs(ranking, grades))
        )
    if settings.learn_from == "ips":
        weights = inverse_propensities(ranking, settings.examination, grades)
        return example._replace(weights=weights)
    return example


def stack_examples(examples: Sequence[Example], columns: Features | None = None) -> QueryDataset:
    """Return the candidates of examples with their grades, one query per example.

    Parameters
    ----------
    columns : what the columns are; None if all are numbers that are never missing
    """
    X = [example.ranking.X for example in examples if example.ranking.X is not None]
    weights = [example.weights for example in examples if example.weights is not None]
    return QueryDataset(
        np.concatenate(X),
        np.concatenate([example.grades for example in examples]),
        np.cumsum([0, *map(len, X)]),
        np.arange(len(examples)),
        feature_names=None if columns is None else columns.names,
        sample_weight=np.concatenate(weights) if weights else None,
        features=columns,
    )
