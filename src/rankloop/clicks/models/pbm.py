"""The position-based model: examined by position, clicked if attractive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop import _core
from rankloop.clicks.models.base import (
    ClickModel,
    by_position,
    check_iterations,
    check_prior,
    count_ranks,
    fitted,
)
from rankloop.clicks.models.behaviour import Independent
from rankloop.processors import threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pairs import PairTable


@dataclass(frozen=True, eq=False)
class PBM(ClickModel):
    """P(click on u at k for q) = gamma_k alpha_uq: position-based model.

    Fitted by alternating EM: attraction becomes clicks over expected examinations, then
    examination clicks over expected attractions. The textbook's EM takes both for latent at once;
    it ends at the same place, but needs about three times the steps. Clicks show the product
    alone: a log whose documents never change their positions cannot tell attraction from
    examination.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have a parameter of their own, the last for all beyond; None: all
    examination : gamma by position, learnt by `fit`
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) a step. The same bits for any number of threads.

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
        check_prior(self.prior)
        check_iterations(self.iterations, least=1)
        pages, ranks = log.grouped, count_ranks(self.ranks, log)
        start = self.prior[0] / sum(self.prior)
        attraction, examination = np.full(pages.n_pairs, start), np.full(ranks, start)
        _core.fit_browsing_model(
            pages.arrays,
            attraction,
            examination,
            ranks,
            False,
            self.prior,
            self.iterations,
            threads(),
        )
        return replace(self, examination=examination, attraction=pages.table(attraction, start))

    def behaviour(self, log: ClickLog) -> Independent:
        """Return what users do with the pages of a log."""
        attraction = fitted(self.attraction, self).of(log)
        return Independent(attraction * by_position(fitted(self.examination, self), log))
