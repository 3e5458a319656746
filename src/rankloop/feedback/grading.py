"""Rules that turn feedback into grades."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rankloop.exceptions import DataError
from rankloop.feedback.fields import as_number, check_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    from rankloop.features.batch import Feedback
    from rankloop.feedback.events import Judgement
    from rankloop.feedback.ranking import Ranking

    K = TypeVar("K")

UNJUDGED = -1.0

MAX_GRADE = 30.0
"""The highest grade that a live loop takes, from people or from feedback; as in LightGBM. Gains are
2^grade, so that a grade above 1,000 is too large for any number."""


class GradedEvent(Protocol):
    """The fields of an event that rules use.

    A :class:`~rankloop.feedback.events.Feedback` has all of them.
    """

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def ranking_id(self) -> str: ...  # noqa: D102
    @property
    def item(self) -> str: ...  # noqa: D102
    @property
    def type(self) -> str: ...  # noqa: D102
    @property
    def value(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class GradingRule:
    """The grade that one type of feedback gives a document.

    gain : the grade; below 0 if the feedback is negative
    steps : values from which on the gain counts once more: with a gain of 1 and the steps 3, 4 and
        5, three stars are worth 1 and five are worth 3
    at_least : the lowest value that counts, for example 30 for thirty seconds of reading
    by_value : whether the grade is the gain times the value of the event, for example of stars
    """

    gain: float
    at_least: float = -np.inf
    by_value: bool = False
    steps: tuple[float, ...] = ()

    def worth(self, value: float) -> float:
        """Return the grade for an event with this value; 0 if it does not count.

        >>> [GradingRule(1.0, steps=(3.0, 4.0, 5.0)).worth(stars) for stars in (2.5, 4.5, 5.0)]
        [0.0, 2.0, 3.0]
        """
        if value < self.at_least:
            return 0.0
        if self.steps:
            return self.gain * sum(value >= step for step in self.steps)
        return self.gain * value if self.by_value else self.gain

    def worths(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return :meth:`worth` of each value."""
        if self.steps:
            gains = self.gain * (values[:, None] >= np.array(self.steps)).sum(axis=1)
        else:
            gains = self.gain * (values if self.by_value else np.ones(len(values)))
        return np.where(values < self.at_least, 0.0, gains)


DEFAULT_RULES: Mapping[str, GradingRule] = MappingProxyType(
    {
        "click": GradingRule(1.0),
        "cart": GradingRule(2.0),
        "purchase": GradingRule(3.0),
        "skip": GradingRule(0.0),
    }
)
"""A click gives grade 1, adding to a cart 2, a purchase 3 and a skip 0."""


def as_rules(rules: Mapping[str, GradingRule | float] | None) -> Mapping[str, GradingRule]:
    """Return the rules by type of feedback; a number stands for a rule with this gain.

    None stands for :data:`DEFAULT_RULES`.

    >>> as_rules({"click": 1, "hide": -1})["hide"]
    GradingRule(gain=-1.0, at_least=-inf, by_value=False, steps=())
    """
    if rules is None:
        return DEFAULT_RULES
    read = {}
    for name, rule in rules.items():
        check_text("a type of feedback", name)
        gain = rule if isinstance(rule, GradingRule) else as_number(f"the gain of {name}", rule)
        read[name] = gain if isinstance(gain, GradingRule) else GradingRule(gain)
    return MappingProxyType(read)


def feedback_grades(
    ranking: Ranking,
    feedback: Iterable[GradedEvent],
    rules: Mapping[str, GradingRule | float] | None = None,
) -> NDArray[np.float64]:
    """Return one grade per candidate: 0 if it was shown without feedback, -1 if it was not shown.

    A document gets the highest grade of its events; their number does not matter. Negative feedback
    counts only if the document has no positive feedback. If grades are then below 0, those of all
    shown documents are raised, so that the lowest is 0. Types without a rule are ignored.

    >>> from rankloop.feedback.events import Feedback
    >>> from rankloop.feedback.ranking import best_first
    >>> ranking = best_first([0.3, 0.9, 0.5], doc_ids=["a", "b", "c"], id="r1")
    >>> feedback_grades(ranking, [Feedback("r1", "c"), Feedback("r1", "c", "purchase")]).tolist()
    [0.0, 0.0, 3.0]
    """
    return grades_by(as_rules(rules), ranking, feedback)


def grades_by(
    rules: Mapping[str, GradingRule], ranking: Ranking, feedback: Iterable[GradedEvent]
) -> NDArray[np.float64]:
    """Grade as :func:`feedback_grades` does, with rules that :func:`as_rules` has already read."""
    worth = dict.fromkeys(range(len(ranking)), 0.0)
    for event in feedback:
        _check_names(ranking, event)
        rule = rules.get(event.type)
        if rule is not None:
            _take_stronger(worth, ranking.place(event.item), rule.worth(event.value))
    grades = np.full(len(ranking.scores), UNJUDGED)
    grades[ranking.order] = _raised(worth)
    return grades


def grade_rows(
    rules: Mapping[str, GradingRule], feedback: Feedback, sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Grade the items of rankings, one after the other, as :func:`feedback_grades` does.

    sizes : the number of items of each ranking
    """
    best = np.zeros(sum(sizes))
    worst = np.zeros(len(best))
    for number, name in enumerate(feedback.names):
        if name in rules:
            own = feedback.types == number
            gains = rules[name].worths(feedback.values[own])
            np.fmax.at(best, feedback.rows[own], gains)
            np.fmin.at(worst, feedback.rows[own], gains)
    grades = np.where(best > 0, best, worst)
    if len(grades) and worst.any():
        starts = np.cumsum([0, *sizes[:-1]])
        grades -= np.repeat(np.minimum(np.minimum.reduceat(grades, starts), 0), sizes)
    return grades


def _take_stronger(worth: dict[K, float], key: K, gain: float) -> None:
    """Keep the highest grade, or the lowest one while there is nothing positive."""
    known = worth[key]
    stronger = gain > known if gain > 0 or known > 0 else gain < known
    worth[key] = gain if stronger else known


def _raised(worth: Mapping[K, float]) -> NDArray[np.float64]:
    """Return grades, raised so that none is below 0."""
    return np.array([*worth.values()], np.float64) - min([0.0, *worth.values()])


def judgement_grades(ranking: Ranking, judgement: Judgement) -> NDArray[np.float64]:
    """Return one grade per candidate; -1 (unjudged) if the judgement does not contain it."""
    _check_names(ranking, judgement)
    ids = np.arange(len(ranking.scores)) if ranking.doc_ids is None else ranking.doc_ids
    rows = {str(name): row for row, name in enumerate(ids.tolist())}
    grades = np.full(len(rows), UNJUDGED)
    for item, grade in judgement.grades.items():
        if item not in rows:
            raise DataError(f"document {item!r} is not a candidate of ranking {ranking.id!r}")
        grades[rows[item]] = grade
    return grades


def _check_names(ranking: Ranking, event: GradedEvent | Judgement) -> None:
    if event.ranking_id != ranking.id:
        raise DataError(
            f"event {event.id!r} is about ranking {event.ranking_id!r}, not {ranking.id!r}"
        )
