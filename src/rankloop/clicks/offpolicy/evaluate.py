"""The value of a ranker by a log, with an interval, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from rankloop.clicks.models.counts import add_up
from rankloop.clicks.offpolicy.target import parse_measure
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.shares import PolicyEstimator
    from rankloop.clicks.offpolicy.target import PageMeasure, Target


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """What a ranker is worth, as far as a log can tell.

    method, measure : how it was estimated, and what
    value, low, high, confidence : the estimate and its interval
    effective_size : how many equally weighed observations the estimate rests on
    supported : the part of the ranker's weight that the log can speak of
    cut : the part of rows whose propensity was clipped
    influence : by query, how much it moves the estimate; for differences
    """

    method: str
    measure: str
    value: float
    low: float
    high: float
    confidence: float
    effective_size: float
    supported: float
    cut: float
    influence: NDArray[np.float64]

    def minus(self, other: PolicyValue) -> PolicyValue:
        """Return the difference to another ranker by the same log, both on the same queries.

        The interval is narrower than theirs where the same clicks speak for both.
        """
        if (self.method, self.measure) != (other.method, other.measure) or (
            len(self.influence) != len(other.influence)
        ):
            raise DataError(
                "values can be compared where method, measure and log are the same; found "
                f"{self.method}, {self.measure} and {other.method}, {other.measure}"
            )
        influence = self.influence - other.influence
        value, half = self.value - other.value, _half_width(influence, self.confidence)
        return PolicyValue(
            self.method,
            self.measure,
            value,
            value - half,
            value + half,
            self.confidence,
            min(self.effective_size, other.effective_size),
            min(self.supported, other.supported),
            max(self.cut, other.cut),
            influence,
        )

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        names = (
            "method", "measure", "value", "low", "high", "confidence", "effective_size",
            "supported", "cut",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def evaluate_policy(
    log: ClickLog,
    target: Target,
    estimator: PolicyEstimator,
    measure: str | PageMeasure = "DCG@10",
    *,
    confidence: float = 0.95,
    least_size: float = 30.0,
    least_supported: float = 0.9,
) -> PolicyValue:
    """Estimate what a page is worth on which the target ranker decides.

    Parameters
    ----------
    log : pages of another ranker, or of several
    target : what the ranker to be valued would show on them
    estimator : of `rankloop.clicks.offpolicy`
    measure : `clicks`, `DCG`, `DCG@k` or `P@k`, relevance being from 0 to 1
    confidence : of the interval, by the normal distribution over queries
    least_size : refuse an estimate that rests on fewer equally weighed observations
    least_supported : refuse a target of which the log can speak for less than this part

    Raises
    ------
    DataError
        where the log cannot answer, and what would help.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> from rankloop.clicks.offpolicy.estimators import IPS
    >>> from rankloop.clicks.offpolicy.examination import Examination
    >>> from rankloop.clicks.offpolicy.target import Target
    >>> pages = [(q, ["a", "b"], ["b"] if q % 4 == 0 else []) for q in range(400)]
    >>> log = ClickLog.from_pages(pages)
    >>> estimator = IPS(Examination.of([1.0, 0.5]))
    >>> swapped = Target.by_scores(log, np.tile([0, 1], 400))
    >>> evaluate_policy(log, swapped, estimator, "clicks").value  # b would be seen twice as often
    0.5
    """
    if not 0 < confidence < 1:
        raise DataError(f"confidence must be between 0 and 1; found {confidence!r}")
    wanted = parse_measure(measure)
    found = estimator.shares(log, target, wanted)
    if found.supported < least_supported:
        raise DataError(
            f"the log cannot answer: it speaks for {found.supported:.0%} of what the ranker would "
            f"show, and {least_supported:.0%} are asked for; log with more randomness, value a "
            "ranker nearer to the logged one, or lower least_supported"
        )
    size = effective_size(found.weights)
    if size < least_size:
        raise DataError(
            f"the log cannot answer: the estimate would rest on {size:.1f} effective "
            f"observations, and {least_size:g} are asked for; use more pages, clip propensities, "
            "or lower least_size"
        )
    counts = np.ones(len(log)) if log.counts is None else log.counts
    above, below = (counts * found.numerators).sum(), (counts * found.denominators).sum()
    if not below > 0:
        raise DataError("the log cannot answer: no click can be weighed")
    value = float(above / below)
    moved = counts * (found.numerators - value * found.denominators) / below
    influence = add_up(log.queries, moved, len(log.query_ids))[np.unique(log.queries)]
    half = _half_width(influence, confidence)
    return PolicyValue(
        type(estimator).__name__,
        str(wanted),
        value,
        value - half,
        value + half,
        confidence,
        size,
        found.supported,
        found.cut,
        influence,
    )


def effective_size(weights: NDArray[np.float64]) -> float:
    """Return the number of equal weights that would vary as much: (sum w)^2 / sum w^2.

    >>> effective_size(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _half_width(influence: NDArray[np.float64], confidence: float) -> float:
    n = len(influence)
    if n < 2:
        return float("inf")
    error = np.sqrt((influence**2).sum() * n / (n - 1))
    return float(ndtri((1 + confidence) / 2) * error)
