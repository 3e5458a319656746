"""The dynamic Bayesian network model: users stop when a clicked document satisfies them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.clicks.models.base import ClickModel, check_iterations, check_prior, require_fitted
from rankloop.clicks.models.behaviour import Chain
from rankloop.clicks.models.counts import by_pair, first_and_last_clicks, prior_mean, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.grouped_pages import GroupedPages
    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class DBN(ClickModel):
    """Users click attractive documents, stop if satisfied, and else read on with probability gamma.

    P(click | examined) = alpha_uq. A click satisfies the user with probability sigma_uq, and a
    satisfied user stops; any other user reads on with probability gamma. `fit` starts from the
    counts of :class:`SDBN` and takes steps of exact EM.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    go_on : gamma, learnt by `fit`
    attraction, satisfaction : alpha and sigma by query and document, learnt by `fit`. Their
        product is the relevance of a document to a query

    Notes
    -----
    Cost: O(different rows) per step. Results are the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> shown = [("q", ["a", "b"], ["a"]), ("q", ["a", "b"], ["a", "b"]), ("q", ["a", "b"], [])]
    >>> model = DBN().fit(ClickLog.from_pages(shown * 100))
    >>> round(model.attraction.get("q", "a"), 2), round(model.satisfaction.get("q", "a"), 2)
    (0.67, 0.02)

    References
    ----------
    Chapelle and Zhang, A dynamic Bayesian network click model for web search ranking (2009).
    """

    iterations: int = 50
    prior: tuple[float, float] = (1.0, 1.0)
    go_on: float | None = None
    attraction: PairTable | None = None
    satisfaction: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        check_iterations(self.iterations, least=1)
        start = prior_mean(self.prior)
        return self._fit(log, start, learns_going_on=True)

    def _fit(self, log: ClickLog, go_on: float, *, learns_going_on: bool) -> Self:
        check_prior(self.prior)
        pages = log.grouped_pages
        attraction, satisfaction = count_up_to_last_click(pages, self.prior)
        go_on = _core.fit_bayesian_model(
            pages.arrays,
            attraction,
            satisfaction,
            go_on,
            learns_going_on=learns_going_on,
            prior=self.prior,
            iterations=self.iterations,
            threads=threads(),
        )
        default = prior_mean(self.prior)
        return replace(
            self,
            go_on=go_on,
            attraction=pages.table(attraction, default),
            satisfaction=pages.table(satisfaction, default),
        )

    def behaviour(self, log: ClickLog) -> Chain:
        """Return what users do with the pages of a log."""
        attraction = require_fitted(self.attraction, self).of(log)
        satisfaction = require_fitted(self.satisfaction, self).of(log)
        go_on = require_fitted(self.go_on, self)
        after_skip = np.full(len(attraction), go_on)
        return Chain(log.offsets, attraction, after_skip, go_on * (1 - satisfaction))


@dataclass(frozen=True, eq=False)
class SDBN(DBN):
    """The simplified DBN: gamma is 1, so that only satisfaction ends a page.

    The paper's estimator counts: attraction is clicks divided by views at or above the last click,
    and satisfaction is last clicks divided by clicks. Each of the `iterations` is a step of EM on
    the likelihood of the model, in which a user may also have read on without another click.

    Parameters
    ----------
    iterations : steps of EM after counting; 0: the paper's estimator
    others : as in :class:`DBN`

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a", "b"], ["a", "b"])])
    >>> model = SDBN(iterations=0).fit(log)
    >>> model.attraction.get("q", "a"), model.satisfaction.get("q", "a")
    (0.75, 0.5)

    References
    ----------
    Chapelle and Zhang (2009), algorithm 1.
    """

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        check_iterations(self.iterations)
        return self._fit(log, 1.0, learns_going_on=False)


def count_up_to_last_click(
    pages: GroupedPages, prior: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return attraction and satisfaction by pair, counted over the rows down to the last click.

    These rows were examined for certain; whether rows below were examined is not known. This is the
    paper's estimator, and the start of EM, which adds what rows below the last click say.
    """
    row, (_, last) = np.arange(len(pages.pairs)), first_and_last_clicks(pages)
    seen = pages.row_counts * (row <= last)
    clicked = seen * pages.clicks
    clicks = by_pair(pages, clicked)
    return (
        ratio(clicks, by_pair(pages, seen), prior),
        ratio(by_pair(pages, clicked * (row == last)), clicks, prior),
    )
