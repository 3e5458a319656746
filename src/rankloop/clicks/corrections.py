"""Clicks as training data for any ranker, corrected for how likely each position is examined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.offpolicy.shares import by_page
from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import as_grades, as_matrix, check_length
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.examination import Examination


class Correction(ABC):
    """A way to estimate relevance, row by row, from clicks."""

    @abstractmethod
    def relevance(self, log: ClickLog) -> NDArray[np.float64]:
        """Return one estimate per row; its expectation is the relevance of the document.

        Single estimates may lie below 0 and above 1.
        """


@dataclass(frozen=True)
class Naive(Correction):
    """A click means relevant, and no click means not relevant: the baseline of all corrections.

    If the logging ranker was good, it is often the best choice, because the documents at the top,
    where people look, are then also the relevant ones.
    """

    def relevance(self, log: ClickLog) -> NDArray[np.float64]:
        """Return the clicks as numbers."""
        return log.clicks.astype(np.float64)


@dataclass(frozen=True, eq=False)
class InversePropensity(Correction):
    """A click counts 1 / P(examined): relevance = (click - offset_k) / slope_k at position k.

    The expectation of a click is slope_k r + offset_k, so that of the estimate is r.

    With the offsets of trust bias it is the affine correction.

    Parameters
    ----------
    examination : how clicks depend on relevance by position; `Examination.of(bias)` or
        `Examination.of_trust(model)`
    clip : smaller slopes are replaced by this number, from 0 to 1; it lowers the variance and adds
        some bias
    normalised : whether the estimates of a page are divided by their mean weight, so that n clicks
        count as n (self-normalised)

    References
    ----------
    Joachims, Swaminathan and Schnabel, Unbiased learning-to-rank with biased feedback (2017);
    Vardasbi, Oosterhuis and de Rijke, When inverse propensity scoring does not work (2020), for
    the affine form; Swaminathan and Joachims (2015), for the self-normalised one.
    """

    examination: Examination
    clip: float = 0.1
    normalised: bool = False

    def relevance(self, log: ClickLog) -> NDArray[np.float64]:
        """Return the corrected clicks."""
        slope = clip_slopes(log, self.examination, self.clip)
        relevance = (log.clicks - self.examination.offset_at(log.positions)) / slope
        if not self.normalised:
            return np.asarray(relevance)
        # Scale the weights of a page's clicks so that they add up to the number of clicks.
        clicks = by_page(log, log.clicks.astype(np.float64))
        total = by_page(log, np.where(log.clicks, relevance, 0.0))
        factor = np.where(total > 0, clicks / np.where(total > 0, total, 1), 1.0)
        return np.asarray(relevance * np.repeat(factor, log.sizes))


@dataclass(frozen=True, eq=False)
class DoublyRobustCorrection(Correction):
    """Predicted relevance r, corrected where clicks disagree with it.

    relevance = r + (click - slope_k r - offset_k) / slope_k at position k, where only the slope in
    the denominator is clipped. Clipping does little harm here: if a position is hardly ever
    examined, the prediction remains.

    Parameters
    ----------
    examination, clip : as in :class:`InversePropensity`
    predicted : (rows,) relevance from 0 to 1 from a click model or a regression, which should be
        fitted to other pages

    References
    ----------
    Oosterhuis, Doubly robust estimation for correcting position bias in click feedback (2023).
    """

    examination: Examination
    predicted: ArrayLike
    clip: float = 0.1

    def relevance(self, log: ClickLog) -> NDArray[np.float64]:
        """Return the corrected predictions."""
        r = np.asarray(self.predicted, np.float64)
        check_length("predicted", r, len(log.documents))
        # The unclipped slope belongs here: what the click model expects must not be clipped, or the
        # estimate would be biased even if r is right.
        surprise = (
            log.clicks
            - self.examination.slope_at(log.positions) * r
            - self.examination.offset_at(log.positions)
        )
        return np.asarray(r + surprise / clip_slopes(log, self.examination, self.clip))


def clip_slopes(log: ClickLog, examination: Examination, clip: float) -> NDArray[np.float64]:
    """Return the slope of each row's position, not below `clip`."""
    if not 0 <= clip <= 1:
        raise DataError(f"clip must be from 0 to 1; found {clip!r}")
    slopes = np.maximum(examination.slope_at(log.positions), clip)
    if not (slopes > 0).all():
        where = int(log.positions[slopes <= 0][0])
        raise DataError(
            f"the examination of position {where} is 0, so its clicks cannot be "
            "corrected; set clip above 0, or leave that position out"
        )
    return np.asarray(slopes)


def training_data(
    log: ClickLog,
    X: object,
    correction: Correction | None = None,
    *,
    grades: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    largest: float = 10.0,
) -> QueryDataset:
    """Turn pages into judged queries: clicked documents have grade 1, others 0, each with a weight.

    The weight of a clicked document is its estimated relevance r, and that of another one is 1 - r,
    so without a correction all weights are 1. Weights are limited to the range from 0 to `largest`.
    Every ranker that accepts weights can learn from the result. Each page becomes a query; pages
    without a click are left out, because nothing can be learnt from them.

    Parameters
    ----------
    log : pages, each seen once or as often as its count says
    X : features of the log's rows, in the log's order; `log.rows` are their numbers in your table
    correction : how relevance is estimated; None: :class:`Naive`
    grades : of the log's rows, if some choices are worth more than others (purchases, bookings).
        Rows with a click need a grade above 0; None gives every click grade 1
    largest : the largest weight

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> from rankloop.clicks.offpolicy.examination import Examination
    >>> log = ClickLog.from_pages([("q", ["a", "b", "c"], ["b"])])
    >>> ips = InversePropensity(Examination.of([1.0, 0.5, 0.25]))
    >>> data = training_data(log, np.eye(3), ips)
    >>> data.y.tolist(), data.sample_weight.tolist()
    ([0.0, 1.0, 0.0], [1.0, 2.0, 1.0])
    """
    if not largest > 0:
        raise DataError(f"largest must be above 0; found {largest!r}")
    rows = as_matrix(X, allow_nan=True)
    check_length("X", rows, len(log.documents))
    worth = log.clicks.astype(np.float64) if grades is None else as_grades(grades)
    check_length("grades", worth, len(log.documents))
    if ((worth > 0) != log.clicks).any():
        where = int(((worth > 0) != log.clicks).argmax())
        raise DataError(
            f"row {where} has grade {worth[where]:g}, but was "
            f"{'' if log.clicks[where] else 'not '}clicked; grades must be above 0 "
            "for clicked documents and 0 for all others"
        )
    relevance = (Naive() if correction is None else correction).relevance(log)
    weights = np.clip(np.where(log.clicks, relevance, 1 - relevance), 0, largest)
    clicked = by_page(log, log.clicks.astype(np.float64)) > 0
    if not clicked.any():
        raise DataError("no page of the log has a click; there is nothing to learn from")
    there = np.repeat(clicked, log.sizes)
    pages = np.arange(len(log)) if log.page_ids is None else log.page_ids
    return QueryDataset.from_arrays(
        rows[there],
        worth[there],
        qid=np.repeat(pages, log.sizes)[there],
        sample_weight=weights[there],
        query_weight=None if log.counts is None else log.counts[clicked],
        feature_names=feature_names,
        allow_nan=True,
    )
