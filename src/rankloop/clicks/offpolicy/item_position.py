"""Inverse propensities of a document at its position, without a model of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.offpolicy.shares import Shares, by_page, missing_weight, pages_seen
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.target import PageMeasure, TargetPages


@dataclass(frozen=True)
class ItemPosition:
    """No model of users: a document counts only if it was logged where the target puts it.

    The value of a page is the sum of weight(k) x click / propensity over documents shown at the
    position k where the target shows them too. It needs a logging ranker that draws at random, and
    the propensity of each document at its position. For targets that are very different from the
    logging ranker it says little. It measures clicks as they are, or discounted by position.

    Parameters
    ----------
    clip : smaller propensities are replaced by this number
    self_normalised : divide by the sum of 1 / propensity over those documents, which is expected
        to be their number

    References
    ----------
    Li et al., Offline evaluation of ranking policies with click models (2018).
    """

    clip: float = 0.0
    self_normalised: bool = False

    def shares(self, log: ClickLog, target: TargetPages, measure: PageMeasure) -> Shares:
        """Return numerators and denominators by page."""
        if log.propensities is None:
            raise DataError(
                "the log has no propensities; read them with it, or use IPS with position bias"
            )
        seen, matched = log.row_counts, target.positions == log.positions
        inverse = matched / np.maximum(log.propensities, self.clip)
        weight = measure.weights(target.positions, None)
        known = seen * weight * _ever_matched(log, target)
        wanted = float((seen * weight).sum()) + missing_weight(log, target, measure, None)
        denominators = np.ones(len(log))
        if self.self_normalised:
            expected = float(seen[target.positions > 0].sum()) / pages_seen(log)
            denominators = by_page(log, inverse) / max(expected, 1e-300)
        return Shares(
            by_page(log, weight * inverse * log.clicks),
            denominators,
            (seen * inverse)[matched],
            float(known.sum()) / wanted if wanted else 0.0,
            float((log.propensities[matched] < self.clip).mean()) if matched.any() else 0.0,
        )


def _ever_matched(log: ClickLog, target: TargetPages) -> NDArray[np.bool_]:
    """Return whether the log ever shows this query's document where the target puts it."""
    most = int(max(log.positions.max(initial=0), target.positions.max(initial=0))) + 1
    pair = log.row_queries.astype(np.int64) * len(log.document_ids) + log.documents
    logged = (pair * most + log.positions)[log.row_counts > 0]
    return np.isin(pair * most + target.positions, logged)
