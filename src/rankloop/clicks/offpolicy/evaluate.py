"""Estimate the value of a ranker from a log, with an interval, or refuse if the log is too poor."""

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
    from rankloop.clicks.offpolicy.target import PageMeasure, TargetPages


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """The value of a ranker, estimated from a log.

    method, measure : the estimator, and what it estimated
    value, low, high, confidence : the estimate and its interval
    effective_size : the number of equally weighted observations with the same variance
    supported : the share of the ranker's weight that the log covers
    cut : the share of rows whose propensity was clipped
    influence : how much each query changes the estimate; used for differences
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
        """Return the difference to another ranker, estimated from the same log.

        Its interval is narrower than theirs if the same clicks count for both.
        """
        if (self.method, self.measure) != (other.method, other.measure) or (
            len(self.influence) != len(other.influence)
        ):
            raise DataError(
                "two values can be compared only if method, measure and log are the "
                f"same; found {self.method}, {self.measure} and {other.method}, "
                f"{other.measure}"
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
    target: TargetPages,
    estimator: PolicyEstimator,
    measure: str | PageMeasure = "DCG@10",
    *,
    confidence: float = 0.95,
    least_size: float = 30.0,
    least_supported: float = 0.9,
) -> PolicyValue:
    """Estimate the mean value of a page that the target ranker orders.

    Parameters
    ----------
    log : pages of another ranker, or of several
    target : what the ranker that is evaluated would show on them
    estimator : one of `rankloop.clicks.offpolicy`
    measure : `clicks`, `DCG`, `DCG@k` or `P@k`, with relevance from 0 to 1
    confidence : confidence level of the interval, by the normal distribution over queries
    least_size : refuse an estimate whose effective size is smaller
    least_supported : refuse a target if the log covers less than this share of its weight

    Raises
    ------
    DataError
        if the log cannot answer; it says what would help.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> from rankloop.clicks.offpolicy.estimators import IPS
    >>> from rankloop.clicks.offpolicy.examination import Examination
    >>> from rankloop.clicks.offpolicy.target import TargetPages
    >>> pages = [(q, ["a", "b"], ["b"] if q % 4 == 0 else []) for q in range(400)]
    >>> log = ClickLog.from_pages(pages)
    >>> estimator = IPS(Examination.of([1.0, 0.5]))
    >>> swapped = TargetPages.by_scores(log, np.tile([0, 1], 400))
    >>> evaluate_policy(log, swapped, estimator, "clicks").value  # b would be seen twice as often
    0.5
    """
    if not 0 < confidence < 1:
        raise DataError(f"confidence must be between 0 and 1; found {confidence!r}")
    wanted = parse_measure(measure)
    shares = estimator.shares(log, target, wanted)
    if shares.supported < least_supported:
        raise DataError(
            f"the log cannot answer this: it covers only {shares.supported:.0%} of "
            f"what the ranker would show, but at least {least_supported:.0%} is "
            "required; use a log with more randomness, evaluate a ranker that is "
            "closer to the logged one, or lower least_supported"
        )
    size = effective_size(shares.weights)
    if size < least_size:
        raise DataError(
            f"the log cannot answer this: the estimate would be based on {size:.1f} "
            f"effective observations, but at least {least_size:g} are required; use "
            "more pages, clip propensities, or lower least_size"
        )
    counts = np.ones(len(log)) if log.counts is None else log.counts
    above, below = (counts * shares.numerators).sum(), (counts * shares.denominators).sum()
    if not below > 0:
        raise DataError("the log cannot answer this: no click has a weight above 0")
    value = float(above / below)
    # The value is a ratio of sums. To first order, a page moves it by (numerator - value x
    # denominator) / sum of denominators. Pages of a query are not independent, so these are added
    # up by query, and their squares give the variance.
    moved = counts * (shares.numerators - value * shares.denominators) / below
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
        shares.supported,
        shares.cut,
        influence,
    )


def effective_size(weights: NDArray[np.float64]) -> float:
    """Return the number of equal weights with the same variance: (sum w)^2 / sum w^2.

    >>> effective_size(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _half_width(influence: NDArray[np.float64], confidence: float) -> float:
    """Return half the width of a normal interval, from the influence of each query."""
    n = len(influence)
    if n < 2:
        return float("inf")
    error = np.sqrt((influence**2).sum() * n / (n - 1))
    return float(ndtri((1 + confidence) / 2) * error)
