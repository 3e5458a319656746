"""The dependent click model: whether users read on after a click depends on its position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.clicks.models.base import (
    ClickModel,
    by_position,
    check_iterations,
    check_prior,
    count_ranks,
    require_fitted,
)
from rankloop.clicks.models.behaviour import Chain
from rankloop.clicks.models.counts import by_pair, by_rank, first_and_last_clicks, prior_mean, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class DCM(ClickModel):
    """Users read from the top, and after a click at position k read on with probability lambda_k.

    The paper's estimator counts, as if nothing below the last click was examined. `fit` starts
    from these counts; each of its `iterations` is then a step of EM on the likelihood of the
    model, in which a user may also have read on without another click.

    Parameters
    ----------
    iterations : steps of EM after counting; 0: the paper's estimator
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have their own parameter; later ones share the last. None: all
    go_on : lambda by position, learnt by `fit`
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) per step. Results are the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a", "b"], ["a", "b"])])
    >>> DCM(iterations=0).fit(log).go_on.tolist()  # of 2 clicks at 1, 1 was followed by another
    [0.5, 0.3333333333333333]

    References
    ----------
    Guo, Liu and Wang, Efficient multiple-click models in web search (2009).
    """

    iterations: int = 50
    prior: tuple[float, float] = (1.0, 1.0)
    ranks: int | None = None
    go_on: NDArray[np.float64] | None = None
    attraction: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        check_prior(self.prior)
        check_iterations(self.iterations)
        pages, ranks = log.grouped_pages, count_ranks(self.ranks, log)
        row, (_, last) = np.arange(len(pages.pairs)), first_and_last_clicks(pages)
        seen = pages.row_counts * (row <= last)
        clicked = seen * pages.clicks
        attraction = ratio(by_pair(pages, clicked), by_pair(pages, seen), self.prior)
        followed = by_rank(pages, clicked * (row < last), ranks)
        go_on = ratio(followed, by_rank(pages, clicked, ranks), self.prior)
        _core.fit_dependent_model(
            pages.arrays, attraction, go_on, self.prior, self.iterations, threads()
        )
        default = prior_mean(self.prior)
        return replace(self, go_on=go_on, attraction=pages.table(attraction, default))

    def behaviour(self, log: ClickLog) -> Chain:
        """Return what users do with the pages of a log."""
        attraction = require_fitted(self.attraction, self).of(log)
        after_click = by_position(require_fitted(self.go_on, self), log)
        return Chain(log.offsets, attraction, np.ones(len(attraction)), after_click)
