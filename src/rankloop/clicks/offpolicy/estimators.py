"""Estimators of a ranker's value: inverse propensities, plain, normalised and doubly robust.

Each returns a numerator and a denominator per page; the value is the ratio of their sums. Nothing
else is needed for intervals and for the difference between two rankers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.offpolicy.examination import pool_exposure
from rankloop.clicks.offpolicy.shares import Shares, by_page, missing_weight
from rankloop.data.validation import check_length
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.examination import Examination
    from rankloop.clicks.offpolicy.target import PageMeasure, TargetPages


@dataclass(frozen=True, eq=False)
class IPS:
    """Inverse propensities: a click counts 1 / P(examined).

    The value of a page is the sum over its documents of weight(new position) x (click - offset_k)
    / exposure, where k is the logged position. Its expectation is that of weight x relevance. It is
    unbiased if examination is correct and every document could be examined; small exposures give it
    a large variance.

    Parameters
    ----------
    examination : how clicks depend on relevance by position
    clip : smaller exposures are replaced by this number, from 0 to 1: less variance, some bias
    exposure : (rows,) how likely the logging ranker let the document be examined; None: the slope
        of its position. `pool_exposure` estimates it if documents were shown at several
        positions, which has less variance

    References
    ----------
    Joachims, Swaminathan and Schnabel (2017); Oosterhuis and de Rijke (2020), for the exposure;
    Vardasbi, Oosterhuis and de Rijke (2020), for the offset.
    """

    examination: Examination
    clip: float = 0.0
    exposure: ArrayLike | None = None

    def shares(self, log: ClickLog, target: TargetPages, measure: PageMeasure) -> Shares:
        """Return numerators and denominators by page."""
        rows = _Rows(log, target, measure, self.examination, self.clip, self.exposure)
        relevance = (log.clicks - rows.offset) / rows.propensity
        return rows.shares(rows.weight * relevance + rows.base_values)


@dataclass(frozen=True, eq=False)
class SelfNormalised:
    """Inverse propensities divided by their sum: the mean weight of a relevant document.

    This is the sum of weight x click / exposure over pages, divided by the sum of click / exposure.
    It lies within the range of the weights, and does not change if examination is wrong by a
    constant factor. It estimates the value of a page in units of its relevance, so compare it only
    with other values of this estimator. It cannot be used with an offset (trust bias).

    Parameters
    ----------
    examination, clip, exposure : as in :class:`IPS`

    References
    ----------
    Swaminathan and Joachims, The self-normalized estimator for counterfactual learning (2015).
    """

    examination: Examination
    clip: float = 0.0
    exposure: ArrayLike | None = None

    def shares(self, log: ClickLog, target: TargetPages, measure: PageMeasure) -> Shares:
        """Return numerators and denominators by page."""
        if self.examination.offsets.any():
            raise DataError(
                "self-normalisation does not work with trust bias, which adds an offset "
                "to the probability of a click; use IPS or DoublyRobust"
            )
        rows = _Rows(log, target, measure, self.examination, self.clip, self.exposure)
        relevance = log.clicks / rows.propensity
        shares = rows.shares(rows.weight * relevance)
        # The same inverse propensities above and below: a common factor cancels.
        return replace(shares, denominators=by_page(log, relevance))


@dataclass(frozen=True, eq=False)
class DoublyRobust:
    """Estimated relevance, corrected by inverse propensities where clicks disagree with it.

    The value of a page is the sum of weight x (r + (click - slope_k r - offset_k) / exposure)
    where r is the estimate. Examination must be correct; then it is unbiased if either the exposure
    or the estimate is unbiased. So exposures may be clipped at little cost, and for documents that
    were hardly ever examined the estimate is used.

    If exposures are pooled from the log itself and nothing is clipped, the estimate cancels
    out, and the value is that of :class:`IPS` with the same exposures.

    Parameters
    ----------
    examination : as in :class:`IPS`
    relevance : (rows,) estimated relevance, such as the attraction of a click model or the result
        of a regression, preferably fitted on other pages
    clip : smaller exposures are replaced by this number
    exposure : as in :class:`IPS`; None: pooled over the log

    References
    ----------
    Dudik, Langford and Li, Doubly robust policy evaluation and learning (2011); Oosterhuis,
    Doubly robust estimation for correcting position bias in click feedback (2023).
    """

    examination: Examination
    relevance: ArrayLike
    clip: float = 0.0
    exposure: ArrayLike | None = None

    def shares(self, log: ClickLog, target: TargetPages, measure: PageMeasure) -> Shares:
        """Return numerators and denominators by page."""
        r = _as_rows(self.relevance, log, "relevance")
        exposure = self.exposure
        if exposure is None:
            exposure = pool_exposure(log, self.examination)
        rows = _Rows(log, target, measure, self.examination, self.clip, exposure)
        # What the click says beyond the estimate; its expectation is 0 if the estimate is right.
        surprise = log.clicks - rows.slope * r - rows.offset
        value = rows.weight * (r + surprise / rows.propensity)
        return rows.shares(value + rows.base_values)


@dataclass(frozen=True, eq=False)
class Direct:
    """Use estimated relevance without correction; the result is only as good as the estimate.

    Parameters
    ----------
    examination : as in :class:`IPS`, for clicks
    relevance : (rows,) estimated relevance
    """

    examination: Examination
    relevance: ArrayLike

    def shares(self, log: ClickLog, target: TargetPages, measure: PageMeasure) -> Shares:
        """Return numerators and denominators by page."""
        rows = _Rows(log, target, measure, self.examination, 0.0, None)
        value = rows.weight * _as_rows(self.relevance, log, "relevance")
        return rows.shares(value + rows.base_values)


class _Rows:
    """The weight, slope, offset and propensity of each row of a log, and sums over its pages."""

    def __init__(
        self,
        log: ClickLog,
        target: TargetPages,
        measure: PageMeasure,
        examination: Examination,
        clip: float,
        exposure: ArrayLike | None,
    ) -> None:
        if not 0 <= clip <= 1:
            raise DataError(f"clip must be from 0 to 1; found {clip!r}")
        self._log = log
        self.weight = measure.weights(target.positions, examination)
        self.base_values = measure.base_values(target.positions, examination)
        self.slope = examination.slope_at(log.positions)
        self.offset = examination.offset_at(log.positions)
        chance = self.slope if exposure is None else _as_rows(exposure, log, "exposure")
        # A document that is never examined cannot get a click, so its relevance is unknown. It is
        # left out, and `supported` tells the caller how much weight remains.
        possible = np.maximum(chance, clip) > 0
        self.propensity = np.where(possible, np.maximum(chance, clip), 1.0)
        lost = missing_weight(log, target, measure, examination)
        seen = log.row_counts * self.weight
        wanted = float(seen.sum()) + lost
        self.supported = float(seen[possible].sum()) / wanted if wanted else 0.0
        self.weight = np.where(possible, self.weight, 0.0)
        self._cut = float((chance < clip).mean()) if len(chance) else 0.0

    def shares(self, values: NDArray[np.float64]) -> Shares:
        """Add up values by page."""
        log = self._log
        carried = log.row_counts * self.weight / self.propensity
        return Shares(
            by_page(log, values),
            np.ones(len(log)),
            carried[log.clicks & (self.weight > 0)],
            self.supported,
            self._cut,
        )


def _as_rows(values: ArrayLike, log: ClickLog, name: str) -> NDArray[np.float64]:
    numbers = np.asarray(values, np.float64)
    check_length(name, numbers, len(log.documents))
    if not np.isfinite(numbers).all():
        raise DataError(
            f"the {name} of row {int((~np.isfinite(numbers)).argmax())} is not finite; "
            "give finite numbers"
        )
    return numbers
