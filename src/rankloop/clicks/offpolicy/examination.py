"""Clicks as a function of relevance at each position: slope and offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop.clicks.models.base import as_chances, require_fitted
from rankloop.clicks.models.counts import add_up
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.bias.result import PositionBias
    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.models.trust import TrustBias


@dataclass(frozen=True, eq=False)
class Examination:
    """P(click at k | relevance r) = slope_k r + offset_k.

    Without trust bias, the offset is 0 and the slope is the probability of examination.

    Parameters
    ----------
    slopes : by position from 1, each from 0 to 1; later positions share the last one
    offsets : by position, in the same way

    Examples
    --------
    >>> Examination.of([1.0, 0.5]).slope_at(np.array([1, 2, 3])).tolist()
    [1.0, 0.5, 0.5]
    """

    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]

    @classmethod
    def of(cls, bias: PositionBias | ArrayLike) -> Self:
        """Make it from position bias, as estimated or as numbers."""
        values = np.asarray(getattr(bias, "examination", bias), np.float64)
        if np.isnan(values).any():
            where = int(np.isnan(values).argmax()) + 1
            raise DataError(
                f"position {where} has no estimate; estimate position bias again with a "
                "smaller number of ranks"
            )
        slopes = np.maximum(values, 0)
        if slopes.ndim != 1 or len(slopes) == 0 or not slopes.any():
            raise DataError(
                "examination must be a list of numbers, one per position, at least one "
                f"of them above 0; found {values}"
            )
        return cls(slopes, np.zeros(len(slopes)))

    @classmethod
    def of_trust(cls, model: TrustBias) -> Self:
        """Make it from a fitted model of trust bias."""
        relevant = as_chances(require_fitted(model.relevant, model), "relevant")
        irrelevant = as_chances(require_fitted(model.irrelevant, model), "irrelevant")
        if not (relevant > irrelevant).all():
            where = int((relevant <= irrelevant).argmax()) + 1
            raise DataError(
                f"at position {where} irrelevant documents are clicked as often as "
                "relevant ones, so clicks there show nothing; fit the model again with a "
                "smaller number of ranks"
            )
        return cls(relevant - irrelevant, irrelevant)

    def slope_at(self, positions: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the slope of each position."""
        return np.asarray(self.slopes[np.minimum(positions, len(self.slopes)) - 1])

    def offset_at(self, positions: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the offset of each position."""
        return np.asarray(self.offsets[np.minimum(positions, len(self.offsets)) - 1])


def pool_exposure(log: ClickLog, examination: Examination) -> NDArray[np.float64]:
    """Return for each row the mean slope over all logged views of its query and document.

    It estimates how likely the logging ranker lets a document be examined, at any position.

    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], []), ("q", ["b", "a"], [])])
    >>> pool_exposure(log, Examination.of([1.0, 0.5])).tolist()
    [0.75, 0.75, 0.75, 0.75]

    References
    ----------
    Oosterhuis and de Rijke, Policy-aware unbiased learning to rank for top-k rankings (2020).
    """
    key = log.row_queries.astype(np.int64) * len(log.document_ids) + log.documents
    _, pair = np.unique(key, return_inverse=True)
    seen, pairs = log.row_counts, int(pair.max(initial=-1)) + 1
    total = add_up(pair, seen * examination.slope_at(log.positions), pairs)
    views = add_up(pair, seen, pairs)
    return np.asarray((total / np.where(views > 0, views, 1))[pair])
