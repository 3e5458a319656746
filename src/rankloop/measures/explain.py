"""Explain why two tools disagree: one measure under every convention, and what differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import MeasureError
from rankloop.measures.conventions import CONVENTIONS, Convention, as_convention
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import Measure, parse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rankloop.data.dataset import QueryDataset


@dataclass(frozen=True)
class Step:
    """How much the mean changes when one setting of a convention changes."""

    setting: str
    meaning: str
    change: float


@dataclass(frozen=True)
class Explanation:
    """One convention compared with the base; `steps` lead from the base's mean to this mean.

    If the measure is not defined under the convention, mean is NaN and `reason` says why.
    """

    convention: str
    mean: float
    queries: int
    left_out: int
    steps: tuple[Step, ...] = ()
    reason: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "convention": self.convention,
            "mean": None if np.isnan(self.mean) else self.mean,
            "queries": self.queries,
            "left_out": self.left_out,
            "steps": [
                {**vars(step), "change": None if np.isnan(step.change) else step.change}
                for step in self.steps
            ],
            "reason": self.reason,
        }


def explain_measure(
    data: QueryDataset,
    scores: ArrayLike,
    measure: str | Measure,
    base: str | Convention = "standard",
) -> list[Explanation]:
    """Measure under the base convention, which comes first, and under all others.

    Settings are changed one after the other, in the order in which a convention lists them, so the
    changes add up to the whole difference. In another order, each change could be different.

    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((3, 1)), [1, 2, 0], group=[3])
    >>> letor = explain_measure(data, [3.0, 2.0, 1.0], "nDCG@3")[1]
    >>> letor.convention, round(letor.mean, 4), [step.meaning for step in letor.steps]
    ('letor3', 1.0, ['discount 1, 1, then 1/log2(p)', 'no relevant document: scores 0'])
    """
    start = as_convention(base)
    wanted = parse(measure)
    others = [c for c in CONVENTIONS.values() if c.name != start.name]
    return [_explain_one(data, scores, wanted, start, end) for end in (start, *others)]


def _explain_one(
    data: QueryDataset, scores: ArrayLike, measure: Measure, start: Convention, end: Convention
) -> Explanation:
    try:
        result = evaluate(data, scores, measure, end).results[0]
    except MeasureError as error:
        return Explanation(end.name, float("nan"), 0, 0, reason=str(error))
    steps = []
    current = start
    try:
        mean = _mean(data, scores, measure, start)
    except MeasureError as error:
        return Explanation(
            end.name, result.mean, result.queries, result.left_out, reason=str(error)
        )
    for setting in start.differences(end):
        current = replace(current, **{setting: getattr(end, setting)})
        changed = _mean(data, scores, measure, current)
        steps.append(Step(setting, end.describe(setting), changed - mean))
        mean = changed
    return Explanation(end.name, result.mean, result.queries, result.left_out, tuple(steps))


def _mean(data: QueryDataset, scores: ArrayLike, measure: Measure, convention: Convention) -> float:
    return evaluate(data, scores, measure, convention).results[0].mean
