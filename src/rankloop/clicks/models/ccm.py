"""The click chain model: after a click, users read on by how relevant the document was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.clicks.models.base import ClickModel, check_iterations, check_prior, require_fitted
from rankloop.clicks.models.behaviour import Chain
from rankloop.clicks.models.counts import prior_mean
from rankloop.clicks.models.dbn import count_up_to_last_click

if TYPE_CHECKING:
    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class CCM(ClickModel):
    """Users read on with probability tau_1 after a skip, and tau_2 or tau_3 after a click.

    P(click | examined) = alpha_uq. A clicked document turns out to be relevant with the same
    probability alpha_uq: users then read on with probability tau_3, otherwise with tau_2. `fit`
    takes steps of exact EM, whereas the paper integrates over a posterior for each alpha.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    go_on : tau_1, tau_2 and tau_3, learnt by `fit`
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) per step. Results are the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> shown = [("q", ["a", "b"], ["a"]), ("q", ["a", "b"], ["a", "b"]), ("q", ["a", "b"], [])]
    >>> model = CCM().fit(ClickLog.from_pages(shown * 100))
    >>> round(model.attraction.get("q", "a"), 2)
    0.67

    References
    ----------
    Guo et al., Click chain model in web search (2009); Chuklin, Markov and de Rijke (2015), 3.7.
    """

    iterations: int = 50
    prior: tuple[float, float] = (1.0, 1.0)
    go_on: tuple[float, float, float] | None = None
    attraction: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        check_prior(self.prior)
        check_iterations(self.iterations, least=1)
        pages = log.grouped_pages
        attraction, _ = count_up_to_last_click(pages, self.prior)
        start = prior_mean(self.prior)
        skip, useless, relevant = _core.fit_click_chain_model(
            pages.arrays, attraction, (start,) * 3, self.prior, self.iterations, threads()
        )
        return replace(
            self, go_on=(skip, useless, relevant), attraction=pages.table(attraction, start)
        )

    def behaviour(self, log: ClickLog) -> Chain:
        """Return what users do with the pages of a log."""
        attraction = require_fitted(self.attraction, self).of(log)
        skip, useless, relevant = require_fitted(self.go_on, self)
        after_click = useless * (1 - attraction) + relevant * attraction
        return Chain(log.offsets, attraction, np.full(len(attraction), skip), after_click)
