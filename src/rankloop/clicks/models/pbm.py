"""The position-based model: a click needs an examined position and an attractive document."""

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
from rankloop.clicks.models.behaviour import Independent
from rankloop.clicks.models.counts import prior_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class PBM(ClickModel):
    """P(click on u at k for q) = gamma_k alpha_uq: position-based model.

    It is fitted by alternating EM: attraction becomes clicks divided by expected examinations, then
    examination becomes clicks divided by expected attractions. The usual EM treats both as latent
    at the same time; it has the same result, but needs about three times as many steps. Clicks show
    only the product: if documents never change their positions, a log cannot separate attraction
    from examination.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have their own parameter; later ones share the last. None: all
    examination : gamma by position, learnt by `fit`
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) per step. Results are the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> shown = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> model = PBM().fit(ClickLog.from_pages(shown * 100))
    >>> model.examination.round(2).tolist()
    [0.99, 0.44]

    References
    ----------
    Craswell et al., An experimental comparison of click position-bias models (2008); Chuklin,
    Markov and de Rijke, Click models for web search (2015), 3.3 and 4.2; Meng and van Dyk, The EM
    algorithm: an old folk-song sung to a fast new tune (1997), for alternating EM.
    """

    iterations: int = 50
    prior: tuple[float, float] = (1.0, 1.0)
    ranks: int | None = None
    examination: NDArray[np.float64] | None = None
    attraction: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        ranks = count_ranks(self.ranks, log)
        examination, attraction = fit_browsing(log, ranks, self.prior, self.iterations)
        return replace(self, examination=examination, attraction=attraction)

    def behaviour(self, log: ClickLog) -> Independent:
        """Return what users do with the pages of a log."""
        attraction = require_fitted(self.attraction, self).of(log)
        return Independent(attraction * by_position(require_fitted(self.examination, self), log))


def fit_browsing(
    log: ClickLog,
    ranks: int,
    prior: tuple[float, float],
    iterations: int,
    by_last_click: bool = False,
) -> tuple[NDArray[np.float64], PairTable]:
    """Return examination, by position or also by the last click above, and attraction."""
    check_prior(prior)
    check_iterations(iterations, least=1)
    pages, start = log.grouped_pages, prior_mean(prior)
    attraction = np.full(pages.n_pairs, start)
    examination = np.full((ranks, ranks) if by_last_click else ranks, start)
    _core.fit_browsing_model(
        pages.arrays,
        attraction,
        examination.reshape(-1),
        ranks,
        by_last_click=by_last_click,
        prior=prior,
        iterations=iterations,
        threads=threads(),
    )
    return examination, pages.table(attraction, start)
