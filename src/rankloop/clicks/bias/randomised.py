"""Position bias from traffic that was randomised: whole pages, or swaps of two documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.models.base import count_ranks
from rankloop.clicks.models.counts import add_up
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog


@dataclass(frozen=True)
class RandomTraffic:
    """Pages in random order: the click rate of a position divided by that of the first.

    Every document is equally likely at every position, so the rates differ only because of
    examination. The log must contain only such pages: select them first.

    Parameters
    ----------
    ranks : how many positions have their own value; later ones share the last. None: all

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> pages = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> RandomTraffic().estimate(ClickLog.from_pages(pages)).tolist()
    [1.0, 0.5]

    References
    ----------
    Wang et al., Learning to rank with selection bias in personal search (2016).
    """

    ranks: int | None = None

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination by position, in O(rows)."""
        ranks = count_ranks(self.ranks, log)
        place, seen = np.minimum(log.positions, ranks) - 1, log.row_counts
        clicks = add_up(place, seen * log.clicks, ranks)
        views = add_up(place, seen, ranks)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = clicks / views
        if not rates[0] > 0:
            raise DataError(
                "no document was clicked at the first position, but examination is "
                "relative to that position; use a log with more pages"
            )
        return np.asarray(rates / rates[0])


@dataclass(frozen=True, eq=False)
class Swaps:
    """Pages on which the first document and another one were swapped, or not, at random.

    In the experiment of position k, the documents of positions 1 and k are swapped on half of its
    pages. Both positions then show the same documents, so examination is the number of clicks at k
    divided by that at 1.

    Parameters
    ----------
    partners : (pages,) the position k that the page's experiment may swap with 1, whether it was
        swapped or not; 0 if the page belongs to no experiment

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]),
    ...                            ("q", ["b", "a"], ["a"])])
    >>> Swaps(np.array([2, 2, 2])).estimate(log).tolist()
    [1.0, 0.5]

    References
    ----------
    Joachims, Swaminathan and Schnabel, Unbiased learning-to-rank with biased feedback (2017), 5.3.
    """

    partners: NDArray[np.int64]

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination by position, in O(rows); NaN at positions without an experiment."""
        partners = np.asarray(self.partners)
        if partners.shape != (len(log),) or partners.dtype.kind not in "iu" or (partners < 0).any():
            raise DataError(
                f"partners must be {len(log):,} whole numbers of at least 0, one per "
                f"page; found {partners.dtype} of shape {partners.shape}"
            )
        if not (partners > 1).any():
            raise DataError(
                "no page belongs to an experiment: all partners are 0 or 1; give the "
                "position that each page may swap with the first one"
            )
        ranks = int(partners.max())
        of_row = np.repeat(partners, log.sizes)
        clicked = log.row_counts * log.clicks
        there = add_up(of_row, clicked * (log.positions == of_row), ranks + 1)[1:]
        first = add_up(of_row, clicked * (log.positions == 1), ranks + 1)[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            examination = np.where(first > 0, there / first, np.nan)
        examination[0] = 1.0
        return np.asarray(examination)
