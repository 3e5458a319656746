"""Estimates of position bias, with intervals from resampled queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog

_MAX_FAILED = 0.2  # beyond this share of failed rounds there is no interval


class BiasEstimator(Protocol):
    """Something that estimates examination by position from a log."""

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination relative to the first position, by position from 1.

        If the log says nothing about a position, its value is NaN.
        """


@dataclass(frozen=True, eq=False)
class PositionBias:
    """How likely each position is examined, relative to the first.

    method : the name of the estimator
    examination : by position from 1, where it is 1; NaN if the log says nothing about a position
    low, high : the ends of the interval of each position; NaN without intervals
    confidence : the confidence level of the intervals; 0 without intervals
    notes : what a reader should know

    Examples
    --------
    >>> bias = PositionBias("swaps", np.array([1.0, 0.5]), np.full(2, np.nan), np.full(2, np.nan))
    >>> bias.at([1, 2, 7]).tolist()  # beyond the last position its value holds
    [1.0, 0.5, 0.5]
    """

    method: str
    examination: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def positions(self) -> NDArray[np.int64]:
        """The positions, counted from 1."""
        return np.arange(1, len(self.examination) + 1)

    def at(self, positions: ArrayLike, floor: float = 0.0) -> NDArray[np.float64]:
        """Return the examination of positions, at least `floor`, for use as propensities.

        Raises
        ------
        DataError
            if a position has no estimate.
        """
        places = np.minimum(np.asarray(positions), len(self.examination))
        examination = np.maximum(self.examination[places - 1], floor)
        if np.isnan(examination).any():
            where = int(places[np.isnan(examination)][0])
            raise DataError(
                f"position {where} has no estimate; estimate position bias again with a "
                "smaller number of ranks"
            )
        return np.asarray(examination)

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""

        def numbers(values: NDArray[np.float64]) -> list[float | None]:
            return [None if np.isnan(value) else float(value) for value in values]

        return {
            "method": self.method,
            "examination": numbers(self.examination),
            "low": numbers(self.low),
            "high": numbers(self.high),
            "confidence": self.confidence,
            "notes": list(self.notes),
        }


def estimate_bias(
    estimator: BiasEstimator,
    log: ClickLog,
    rng: np.random.Generator | None = None,
    *,
    rounds: int = 200,
    confidence: float = 0.95,
) -> PositionBias:
    """Estimate position bias, with intervals from resampled queries.

    All pages of a query are drawn together, because they are not independent. The interval is
    between percentiles of the estimates on resampled logs.

    Parameters
    ----------
    estimator : one of `rankloop.clicks.bias`
    rng : random generator of the resamples; None: no intervals
    rounds : number of resamples; position bias is estimated again for each
    confidence : confidence level of the intervals, between 0 and 1

    Examples
    --------
    >>> from rankloop.clicks.bias.randomised import RandomTraffic
    >>> from rankloop.clicks.log.log import ClickLog
    >>> pages = [(q, ["a", "b"], ["ab"[(q % 3) // 2]]) for q in range(30)]
    >>> bias = estimate_bias(RandomTraffic(), ClickLog.from_pages(pages), np.random.default_rng(0))
    >>> bias.examination.tolist(), bool(bias.low[1] < 0.5 < bias.high[1])
    ([1.0, 0.5], True)

    References
    ----------
    Efron and Tibshirani, An introduction to the bootstrap (1993), 13.3.
    """
    examination = estimator.estimate(log)
    name, empty = type(estimator).__name__, np.full(len(examination), np.nan)
    if rng is None:
        return PositionBias(name, examination, empty, empty)
    check_rng(rng)
    check_counts(rounds=rounds)
    if not 0 < confidence < 1:
        raise DataError(f"confidence must be between 0 and 1; found {confidence!r}")
    resampled = []
    for _ in range(rounds):
        try:
            resampled.append(estimator.estimate(resample_queries(log, rng)))
        except DataError:  # a resample may lack what links two positions
            continue
    failed = rounds - len(resampled)
    notes = (f"{failed:,} of {rounds:,} resampled logs could not be used",) if failed else ()
    if failed > _MAX_FAILED * rounds:
        return PositionBias(name, examination, empty, empty, notes=notes)
    low, high = _percentiles(np.array(resampled), confidence)
    return PositionBias(name, examination, low, high, confidence, notes)


def resample_queries(log: ClickLog, rng: np.random.Generator) -> ClickLog:
    """Return the log with queries drawn with replacement, as counts of pages."""
    present = np.unique(log.queries)
    drawn = np.zeros(len(log.query_ids))
    drawn[present] = rng.multinomial(len(present), np.full(len(present), 1 / len(present)))
    counts = drawn[log.queries]
    return log.with_counts(counts if log.counts is None else counts * log.counts)


def _percentiles(
    estimates: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ends = np.full((2, estimates.shape[1]), np.nan)
    tail = 50 * (1 - confidence)
    for k, column in enumerate(estimates.T):
        seen = column[~np.isnan(column)]
        if len(seen) >= (1 - _MAX_FAILED) * len(column):
            ends[:, k] = np.percentile(seen, [tail, 100 - tail])
    return ends[0], ends[1]
