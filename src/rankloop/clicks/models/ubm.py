"""The user browsing model: examined by position and the distance to the last click."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop import _core
from rankloop.clicks.models.base import (
    ClickModel,
    check_iterations,
    check_prior,
    count_ranks,
    fitted,
)
from rankloop.clicks.models.behaviour import Browsing
from rankloop.processors import threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pairs import PairTable

_MANY_RANKS = 50


@dataclass(frozen=True, eq=False)
class UBM(ClickModel):
    """P(click on u at k | last click at j) = gamma_kj alpha_uq: user browsing model.

    Fitted by EM as :class:`~rankloop.clicks.models.pbm.PBM` is.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have parameters of their own, the last for all beyond; None: all,
        at most 50, because their number is the square of it
    examination : gamma[k - 1, j] by position and that of the last click above, 0 for none; learnt
        by `fit`
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) a step; probabilities without the clicks above O(rows x length). The
    same bits for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> shown = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> model = UBM().fit(ClickLog.from_pages(shown * 100))
    >>> model.examination.round(2).tolist()  # below a click nobody looked
    [[0.99, 0.5], [0.99, 0.01]]

    References
    ----------
    Dupret and Piwowarski, A user browsing model to predict search engine click data from past
    observations (2008); Chuklin, Markov and de Rijke (2015), 3.5 and 4.2.
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
        pages = log.grouped
        ranks = count_ranks(self.ranks, log)
        ranks = min(ranks, _MANY_RANKS) if self.ranks is None else ranks
        start = self.prior[0] / sum(self.prior)
        attraction, examination = np.full(pages.n_pairs, start), np.full(ranks * ranks, start)
        _core.fit_browsing_model(
            pages.arrays,
            attraction,
            examination,
            ranks,
            True,
            self.prior,
            self.iterations,
            threads(),
        )
        return replace(
            self,
            examination=examination.reshape(ranks, ranks),
            attraction=pages.table(attraction, start),
        )

    def behaviour(self, log: ClickLog) -> Browsing:
        """Return what users do with the pages of a log."""
        attraction = fitted(self.attraction, self).of(log)
        return Browsing(log.offsets, attraction, log.positions, fitted(self.examination, self))
