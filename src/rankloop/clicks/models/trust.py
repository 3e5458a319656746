"""Trust bias: users click documents at the top even if they are not relevant."""

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
from rankloop.clicks.models.counts import by_rank, prior_mean, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable


@dataclass(frozen=True, eq=False)
class TrustBias(ClickModel):
    """P(click on u at k for q) = a_k r_uq + b_k (1 - r_uq).

    Position k is examined with probability theta_k. An examined document seems relevant with
    probability epsilon+_k if it is relevant, and epsilon-_k if it is not. Clicks show only the
    products a_k = theta_k epsilon+_k and b_k = theta_k epsilon-_k. The probability of a click is
    an affine function of relevance, (a_k - b_k) r + b_k, which affine corrections invert.

    It is fitted by EM with latent relevance. Relevance is known only up to a scale and an offset:
    if no document is surely relevant or surely irrelevant, several choices of a, b and r explain
    the same clicks, and the result is one of them. EM starts with a_k and b_k at .9 and .3 times
    the shape of the click-through rate, so that relevant documents are those with more clicks.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have their own parameters; later ones share the last. None: all
    relevant, irrelevant : a and b by position, learnt by `fit`
    relevance : r by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) per step. Results are the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> shown = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> model = TrustBias().fit(ClickLog.from_pages(shown * 100))
    >>> bool((model.relevant > model.irrelevant).all())
    True

    References
    ----------
    Agarwal et al., Addressing trust bias for unbiased learning-to-rank (2019); Vardasbi,
    Oosterhuis and de Rijke, When inverse propensity scoring does not work (2020).
    """

    iterations: int = 100
    prior: tuple[float, float] = (1.0, 1.0)
    ranks: int | None = None
    relevant: NDArray[np.float64] | None = None
    irrelevant: NDArray[np.float64] | None = None
    relevance: PairTable | None = None

    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""
        check_prior(self.prior)
        check_iterations(self.iterations, least=1)
        pages, ranks = log.grouped_pages, count_ranks(self.ranks, log)
        start = prior_mean(self.prior)
        seen = pages.row_counts
        rates = ratio(
            by_rank(pages, seen * pages.clicks, ranks), by_rank(pages, seen, ranks), self.prior
        )
        shape = rates / rates.max()
        relevance, relevant, irrelevant = np.full(pages.n_pairs, start), 0.9 * shape, 0.3 * shape
        _core.fit_trust_model(
            pages.arrays,
            relevance,
            relevant,
            irrelevant,
            self.prior,
            self.iterations,
            threads(),
        )
        return replace(
            self,
            relevant=relevant,
            irrelevant=irrelevant,
            relevance=pages.table(relevance, start),
        )

    def behaviour(self, log: ClickLog) -> Independent:
        """Return what users do with the pages of a log."""
        relevance = require_fitted(self.relevance, self).of(log)
        a = by_position(require_fitted(self.relevant, self), log)
        b = by_position(require_fitted(self.irrelevant, self), log)
        return Independent(a * relevance + b * (1 - relevance))
