"""The pages that a ranker would show, and measures of their value."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.validation import check_length
from rankloop.exceptions import DataError, MeasureError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.examination import Examination


@dataclass(frozen=True, eq=False)
class TargetPages:
    """The pages of a log as another ranker would show them.

    positions : (rows,) where it would show the document of each row, from 1; 0: not at all
    missing : (pages,) how many of its documents the logged page does not have, at positions that
        no row fills

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b", "c"], ["b"])])
    >>> TargetPages.by_scores(log, [0.2, 0.9, 0.5]).positions.tolist()
    [3, 1, 2]
    """

    positions: NDArray[np.int64]
    missing: NDArray[np.int64]

    @classmethod
    def by_scores(cls, log: ClickLog, scores: ArrayLike) -> TargetPages:
        """Return the logged documents of each page in order of scores, higher first.

        Equal scores stay in the logged order. The best document takes the page's first position,
        the next one its second, and so on.
        """
        values = np.asarray(scores, np.float64)
        check_length("scores", values, len(log.documents))
        if np.isnan(values).any():
            raise DataError(
                f"the score of row {int(np.isnan(values).argmax())} is NaN; scores must be numbers"
            )
        page = np.repeat(np.arange(len(log)), log.sizes)
        order = np.lexsort((np.arange(len(values)), -values, page))
        positions = np.empty(len(values), np.int64)
        positions[order] = log.positions
        return cls(positions, np.zeros(len(log), np.int64))

    @classmethod
    def by_positions(
        cls, log: ClickLog, positions: ArrayLike, missing: ArrayLike | None = None
    ) -> TargetPages:
        """Make it from the position at which a ranker shows each logged document; 0: not shown."""
        places = np.asarray(positions)
        check_length("positions", places, len(log.documents))
        if places.dtype.kind not in "iu" or (places < 0).any():
            raise DataError("positions must be whole numbers from 1, or 0 for not shown")
        lost = np.zeros(len(log), np.int64) if missing is None else np.asarray(missing, np.int64)
        check_length("missing", lost, len(log))
        return cls(places.astype(np.int64), lost)


class PageMeasure(ABC):
    """The value of a page: the sum over its documents of weight(position) x relevance."""

    @abstractmethod
    def weights(
        self, positions: NDArray[np.int64], examination: Examination | None
    ) -> NDArray[np.float64]:
        """Return how much relevance at each position counts; 0 where the position is 0."""

    def base_values(
        self,
        positions: NDArray[np.int64],
        examination: Examination,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the value of each position that does not depend on its document."""
        return np.zeros(len(positions))


@dataclass(frozen=True)
class Clicks(PageMeasure):
    """The expected number of clicks on a page."""

    def weights(
        self, positions: NDArray[np.int64], examination: Examination | None
    ) -> NDArray[np.float64]:
        """Return the examination of each position; 1 if clicks are counted without a model."""
        if examination is None:
            return (positions > 0).astype(np.float64)
        return np.where(positions > 0, examination.slope_at(np.maximum(positions, 1)), 0.0)

    def base_values(
        self, positions: NDArray[np.int64], examination: Examination
    ) -> NDArray[np.float64]:
        """Return the clicks that come from trust alone."""
        return np.where(positions > 0, examination.offset_at(np.maximum(positions, 1)), 0.0)

    def __str__(self) -> str:
        return "clicks"


@dataclass(frozen=True)
class Discounted(PageMeasure):
    """Relevance times 1 / log2(1 + position) down to a cutoff: DCG of relevance from 0 to 1."""

    cutoff: int | None = None

    def weights(
        self,
        positions: NDArray[np.int64],
        examination: Examination | None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the discount of each position."""
        inside = positions > 0
        if self.cutoff is not None:
            inside &= positions <= self.cutoff
        return np.where(inside, 1 / np.log2(1 + np.maximum(positions, 1)), 0.0)

    def __str__(self) -> str:
        return "DCG" if self.cutoff is None else f"DCG@{self.cutoff}"


@dataclass(frozen=True)
class Precision(PageMeasure):
    """The mean relevance of the first documents."""

    cutoff: int

    def weights(
        self,
        positions: NDArray[np.int64],
        examination: Examination | None,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return 1 / cutoff for positions up to the cutoff, and 0 for others."""
        return ((positions > 0) & (positions <= self.cutoff)) / self.cutoff

    def __str__(self) -> str:
        return f"P@{self.cutoff}"


def parse_measure(text: str | PageMeasure) -> PageMeasure:
    """Return `clicks`, `DCG`, `DCG@k` or `P@k` as a measure.

    >>> parse_measure("DCG@10")
    Discounted(cutoff=10)
    """
    if not isinstance(text, str):
        return text
    if text == "clicks":
        return Clicks()
    match = re.fullmatch(r"(DCG|P)(?:@([1-9][0-9]*))?", text)
    if match is None or (match[1] == "P" and match[2] is None):
        raise MeasureError(
            f"the measure of a log must be 'clicks', 'DCG', 'DCG@k' or 'P@k'; found {text!r}"
        )
    cutoff = None if match[2] is None else int(match[2])
    return Discounted(cutoff) if match[1] == "DCG" or cutoff is None else Precision(cutoff)
