"""The cascade model: users read from the top and stop at the first click."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop.clicks.models.base import ClickModel, check_prior, require_fitted
from rankloop.clicks.models.behaviour import Chain
from rankloop.clicks.models.counts import by_pair, first_and_last_clicks, prior_mean, ratio

if TYPE_CHECKING:
    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class Cascade(ClickModel):
    """Each document is examined until one is clicked: P(click | examined) = alpha_uq.

    It is fitted by counting: attraction is the number of clicks divided by the number of views at
    or above the first click. Under this model a page cannot have a second click.

    Parameters
    ----------
    prior : clicks and skips that each parameter starts with, above 0
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows).

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a", "b"], ["b"])])
    >>> model = Cascade().fit(log)
    >>> model.attraction.get("q", "a"), model.attraction.get("q", "b")  # b was examined once
    (0.5, 0.6666666666666666)

    References
    ----------
    Craswell et al., An experimental comparison of click position-bias models (2008).
    """

    prior: tuple[float, float] = (1.0, 1.0)
    attraction: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        check_prior(self.prior)
        pages = log.grouped_pages
        first, _ = first_and_last_clicks(pages)
        seen = pages.row_counts * (np.arange(len(pages.pairs)) <= first)
        attraction = ratio(by_pair(pages, seen * pages.clicks), by_pair(pages, seen), self.prior)
        return replace(self, attraction=pages.table(attraction, prior_mean(self.prior)))

    def behaviour(self, log: ClickLog) -> Chain:
        """Return what users do with the pages of a log."""
        attraction = require_fitted(self.attraction, self).of(log)
        return Chain(log.offsets, attraction, np.ones(len(attraction)), np.zeros(len(attraction)))
