"""The user browsing model: examination depends on the position and on the last click above."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from rankloop.clicks.models.base import ClickModel, count_ranks, require_fitted
from rankloop.clicks.models.behaviour import Browsing
from rankloop.clicks.models.pbm import fit_browsing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.log.pair_table import PairTable

_MANY_RANKS = 50


@dataclass(frozen=True, eq=False)
class UBM(ClickModel):
    """P(click on u at k | last click at j) = gamma_kj alpha_uq: user browsing model.

    It is fitted by EM, as :class:`~rankloop.clicks.models.pbm.PBM` is.

    Parameters
    ----------
    iterations : steps of EM, at least 1
    prior : clicks and skips that each parameter starts with, above 0
    ranks : how many positions have their own parameters; later ones share the last. None: all,
        at most 50, because the number of parameters is the square of this
    examination : gamma[k - 1, j] for position k if the last click above is at j, where j = 0 means
        no click; learnt by `fit`
    attraction : alpha by query and document, learnt by `fit`

    Notes
    -----
    Cost: O(different rows) per step; probabilities without the clicks above O(rows x length).
    Results are the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> shown = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> model = UBM().fit(ClickLog.from_pages(shown * 100))
    >>> model.examination.round(2).tolist()  # nobody looked below a click
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
        ranks = count_ranks(self.ranks, log)
        ranks = min(ranks, _MANY_RANKS) if self.ranks is None else ranks
        examination, attraction = fit_browsing(log, ranks, self.prior, self.iterations, True)
        return replace(self, examination=examination, attraction=attraction)

    def behaviour(self, log: ClickLog) -> Browsing:
        """Return what users do with the pages of a log."""
        attraction = require_fitted(self.attraction, self).of(log)
        return Browsing(
            log.offsets, attraction, log.positions, require_fitted(self.examination, self)
        )
