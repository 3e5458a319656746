"""What an estimator computes from a log: a ratio of sums over pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rankloop.clicks.models.counts import add_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.examination import Examination
    from rankloop.clicks.offpolicy.target import PageMeasure, TargetPages


@dataclass(frozen=True, eq=False)
class Shares:
    """What an estimator computes from a log.

    numerators, denominators : by page
    weights : weights of the rows that the estimate uses, for its effective size
    supported : the share of the target's weight that the log covers, from 0 to 1
    cut : the share of those rows whose weight was clipped
    """

    numerators: NDArray[np.float64]
    denominators: NDArray[np.float64]
    weights: NDArray[np.float64]
    supported: float
    cut: float = 0.0


class PolicyEstimator(Protocol):
    """An estimator of the value of a target, from a log."""

    def shares(self, log: ClickLog, target: TargetPages, measure: PageMeasure) -> Shares:
        """Return numerators and denominators by page."""


def pages_seen(log: ClickLog) -> float:
    """Return how many pages were seen."""
    return float(len(log)) if log.counts is None else float(log.counts.sum())


def by_page(log: ClickLog, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up values of rows by page."""
    return add_up(np.repeat(np.arange(len(log)), log.sizes), values, len(log))


def missing_weight(
    log: ClickLog, target: TargetPages, measure: PageMeasure, examination: Examination | None
) -> float:
    """Return the weight of positions that no logged document fills.

    Which positions these are is not known; the first ones weigh most, so they are assumed.
    """
    most = int(target.missing.max(initial=0))
    upto = np.r_[0.0, np.cumsum(measure.weights(np.arange(1, most + 1), examination))]
    counts = np.ones(len(log)) if log.counts is None else log.counts
    return float((counts * upto[target.missing]).sum())
