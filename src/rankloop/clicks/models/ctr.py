"""Click-through rates: the baselines that every click model must beat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop.clicks.models.base import (
    ClickModel,
    by_position,
    check_prior,
    count_ranks,
    require_fitted,
)
from rankloop.clicks.models.behaviour import Independent
from rankloop.clicks.models.counts import by_pair, by_rank, prior_mean, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class GlobalCTR(ClickModel):
    """Every document has the same click probability: P(click) = rho.

    Parameters
    ----------
    prior : clicks and skips to start with, above 0
    rate : rho, learnt by `fit`

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a", "b"], [])])
    >>> GlobalCTR().fit(log).rate  # (1 + 1) / (2 + 4)
    0.3333333333333333
    """

    prior: tuple[float, float] = (1.0, 1.0)
    rate: float | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log, in O(rows)."""
        check_prior(self.prior)
        pages = log.grouped_pages
        skipped, clicked = np.bincount(pages.clicks, pages.row_counts, 2)
        return replace(self, rate=float(ratio(clicked, skipped + clicked, self.prior)))

    def behaviour(self, log: ClickLog) -> Independent:
        """Return what users do with the pages of a log."""
        return Independent(np.full(len(log.documents), require_fitted(self.rate, self)))


@dataclass(frozen=True, eq=False)
class RankCTR(ClickModel):
    """Only the position matters: P(click at k) = rho_k.

    Parameters
    ----------
    prior : clicks and skips to start with, above 0
    ranks : how many positions have their own rate; later ones share the last. None: all
    rates : rho by position, learnt by `fit`

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a", "b"], [])])
    >>> RankCTR().fit(log).rates.tolist()
    [0.5, 0.25]
    """

    prior: tuple[float, float] = (1.0, 1.0)
    ranks: int | None = None
    rates: NDArray[np.float64] | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log, in O(rows)."""
        check_prior(self.prior)
        pages, ranks = log.grouped_pages, count_ranks(self.ranks, log)
        seen = pages.row_counts
        clicked = by_rank(pages, seen * pages.clicks, ranks)
        return replace(self, rates=ratio(clicked, by_rank(pages, seen, ranks), self.prior))

    def behaviour(self, log: ClickLog) -> Independent:
        """Return what users do with the pages of a log."""
        return Independent(by_position(require_fitted(self.rates, self), log))


@dataclass(frozen=True, eq=False)
class DocumentCTR(ClickModel):
    """Only the document matters: P(click on u for q) = rho_uq.

    Parameters
    ----------
    prior : clicks and skips to start with, above 0
    rates : rho by query and document, learnt by `fit`

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["a"])])
    >>> model = DocumentCTR().fit(log)
    >>> model.rates.get("q", "a"), model.rates.get("q", "b"), model.rates.get("q", "c")
    (0.75, 0.25, 0.5)
    """

    prior: tuple[float, float] = (1.0, 1.0)
    rates: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log, in O(rows)."""
        check_prior(self.prior)
        pages = log.grouped_pages
        seen = pages.row_counts
        rates = ratio(by_pair(pages, seen * pages.clicks), by_pair(pages, seen), self.prior)
        return replace(self, rates=pages.table(rates, prior_mean(self.prior)))

    def behaviour(self, log: ClickLog) -> Independent:
        """Return what users do with the pages of a log."""
        return Independent(require_fitted(self.rates, self).of(log))
