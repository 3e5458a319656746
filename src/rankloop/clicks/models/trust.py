"""Trust bias: users click what stands high even where it is not relevant."""

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
from rankloop.clicks.models.counts import by_rank, ratio
from rankloop.processors import threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pairs import PairTable


@dataclass(frozen=True, eq=False)
class TrustBias(ClickModel):
    """P(click on u at k for q) = a_k r_uq + b_k (1 - r_uq).

    With theta_k the chance that position k is examined and epsilon+_k, epsilon-_k those that an
    examined document seems relevant if it is and if it is not, a_k = theta_k epsilon+_k and
    b_k = theta_k epsilon-_k: clicks show only these products. A click is an affine function of
    relevance, (a_k - b_k) r + b_k, which is what affine corrections take back.

    Fitted by EM with relevance latent. Relevance is seen only up to a scale and an offset: where
    no document is surely relevant or surely irrelevant, a, b and r are one choice of several that
    explain the same clicks. EM starts with a_k = .9 and b_k = .3 of the click-through rate's
    shape, so that relevant means clicked more.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have parameters of their own, the last for all beyond; None: all
    relevant, irrelevant : a and b by position, learnt by `fit`
    relevance : r by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) a step. The same bits for any number of threads.

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
        pages, ranks = log.grouped, count_ranks(self.ranks, log)
        start = self.prior[0] / sum(self.prior)
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
        relevance = fitted(self.relevance, self).of(log)
        a = by_position(fitted(self.relevant, self), log)
        b = by_position(fitted(self.irrelevant, self), log)
        return Independent(a * relevance + b * (1 - relevance))
