"""Intervention harvesting: documents that several rankers put at different positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.clicks.models.base import count_ranks
from rankloop.clicks.models.counts import add_up
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog

Weights = Literal["views", "equal"]


@dataclass(frozen=True, eq=False)
class _Cells:
    """Clicks and views of each (query, document, position) with a view."""

    pairs: NDArray[np.int64]
    places: NDArray[np.int64]
    clicks: NDArray[np.float64]
    views: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Meetings:
    """Weighted clicks and views at two positions, from documents that were seen at both.

    `first[m]` < `second[m]` are the two positions of meeting m, counted from 0.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    clicks: NDArray[np.float64]  # (meetings, 2)
    views: NDArray[np.float64]


@dataclass(frozen=True)
class AdjacentChain:
    """Compare neighbouring positions by documents seen at both, and multiply the ratios.

    p_(k+1) / p_k is the ratio of the click rates of documents that were shown at k + 1 and at k.
    Such documents come from rankers that ran side by side, or from a ranker that changed. It is
    assumed that a document's relevance did not change between its positions.

    Parameters
    ----------
    ranks : how many positions have their own value; later ones share the last. None: all
    weights : how documents are weighted. `equal` is the paper's choice: the click rates of each
        document count once, whether they come from one view or from a thousand. `views` gives a
        document the weight n n' / (n + n'), where n and n' are its views at the two positions
        (Mantel and Haenszel). It is also unbiased, and much less noisy if numbers of views differ

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> pages = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> AdjacentChain().estimate(ClickLog.from_pages(pages)).round(3).tolist()
    [1.0, 0.333]

    References
    ----------
    Agarwal et al., Estimating position bias without intrusive interventions (2019), 4.2; Mantel
    and Haenszel, Statistical aspects of the analysis of data from retrospective studies (1959).
    """

    ranks: int | None = None
    weights: Weights = "views"

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination by position."""
        ranks = count_ranks(self.ranks, log)
        meetings = _meet(_cells(log, ranks), self.weights, only_neighbours=True)
        steps = np.full(ranks, np.nan)
        steps[0] = 1.0
        rates = meetings.clicks / meetings.views
        fine = rates[:, 0] > 0
        steps[meetings.second[fine]] = rates[fine, 1] / rates[fine, 0]
        if np.isnan(steps).any():
            where = int(np.flatnonzero(np.isnan(steps))[0])
            raise DataError(
                f"no document was clicked at position {where} and also shown at {where + 1}; use "
                f"AllPairs, or ranks={where}"
            )
        return np.cumprod(steps)


@dataclass(frozen=True)
class AllPairs:
    """Compare all pairs of positions at once, by maximum likelihood.

    Documents seen at both k and k' have the same mean relevance r_kk' at both, so that their
    click rates there are p_k r_kk' and p_k' r_kk'. Examination p and relevance r maximise the
    likelihood of all weighted clicks and skips, by the alternating EM of the position-based model.

    Parameters
    ----------
    ranks : how many positions have their own value; later ones share the last. None: all
    weights : as in :class:`AdjacentChain`
    iterations : steps of EM

    Notes
    -----
    Cost: O(pairs of positions of each document), then O(ranks^2) per step.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> pages = [("q", ["a", "b"], ["a"]), ("q", ["b", "a"], ["b"]), ("q", ["b", "a"], ["a"])]
    >>> AllPairs().estimate(ClickLog.from_pages(pages)).round(3).tolist()
    [1.0, 0.333]

    References
    ----------
    Agarwal et al., Estimating position bias without intrusive interventions (2019), 4.3.
    """

    ranks: int | None = None
    weights: Weights = "views"
    iterations: int = 1000

    def estimate(self, log: ClickLog) -> NDArray[np.float64]:
        """Return examination by position; NaN if no documents link a position to the first one."""
        ranks = count_ranks(self.ranks, log)
        meetings = _meet(_cells(log, ranks), self.weights, only_neighbours=False)
        useful = (meetings.clicks > 0).any(axis=1)
        linked = _find_linked(meetings.first[useful], meetings.second[useful], ranks)
        if len(linked) < 2:
            raise DataError(
                "no document was clicked at one position and also shown at another, so "
                "this log cannot separate position bias from relevance; use a log in "
                "which documents change positions"
            )
        usable = useful & np.isin(meetings.first, linked)
        examination = _fit(meetings, usable, ranks, self.iterations)
        relative = np.full(ranks, np.nan)
        relative[linked] = examination[linked] / examination[0]
        return relative


def _cells(log: ClickLog, ranks: int) -> _Cells:
    pages = log.grouped_pages
    keys = pages.pairs.astype(np.int64) * ranks + np.minimum(pages.positions, ranks) - 1
    cells, at = np.unique(keys, return_inverse=True)
    seen = pages.row_counts
    views = add_up(at, seen, len(cells))
    clicks = add_up(at, seen * pages.clicks, len(cells))
    shown = views > 0
    return _Cells(cells[shown] // ranks, cells[shown] % ranks, clicks[shown], views[shown])


def _meet(cells: _Cells, weights: Weights, *, only_neighbours: bool) -> _Meetings:
    """Compare every two positions of each document, and add up by the two positions."""
    if weights not in ("views", "equal"):
        raise DataError(f"weights must be 'views' or 'equal'; found {weights!r}")
    upper, lower = _cells_of_a_document(cells)
    if only_neighbours:
        near = cells.places[lower] - cells.places[upper] == 1
        upper, lower = upper[near], lower[near]
    n, m = cells.views[upper], cells.views[lower]
    # Mantel and Haenszel's weights: the precision of a difference of two rates, up to a factor.
    # Both rates of a document get the same weight, so that both positions have the same documents.
    share = n * m / (n + m) if weights == "views" else np.ones(len(n))
    ranks = int(cells.places.max(initial=0)) + 1
    keys, at = np.unique(cells.places[upper] * ranks + cells.places[lower], return_inverse=True)

    def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return add_up(at, values, len(keys))

    clicks = np.stack(
        [total(share * cells.clicks[upper] / n), total(share * cells.clicks[lower] / m)], axis=1
    )
    views = np.stack([total(share)] * 2, axis=1)
    return _Meetings(keys // ranks, keys % ranks, clicks, views)


def _cells_of_a_document(cells: _Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all pairs of cells of the same document, with the higher place on the page first.

    Cells are sorted by document and position, so the second cell is a few steps after the first.
    """
    uppers, lowers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    cell = np.arange(len(cells.pairs))
    for step in range(1, len(cells.pairs)):
        upper = cell[:-step][cells.pairs[step:] == cells.pairs[:-step]]
        if len(upper) == 0:
            break
        uppers.append(upper)
        lowers.append(upper + step)
    return np.concatenate(uppers), np.concatenate(lowers)


def _find_linked(
    first: NDArray[np.int64], second: NDArray[np.int64], ranks: int
) -> NDArray[np.int64]:
    """Return the positions that meetings link to the first one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(first)), (first, second)), shape=(ranks, ranks))
    _, part = connected_components(graph, directed=False)
    return np.flatnonzero(part == part[0])


def _fit(
    meetings: _Meetings, usable: NDArray[np.bool_], ranks: int, iterations: int
) -> NDArray[np.float64]:
    """Fit the position-based model to meetings, as if each were a query with one document.

    A meeting gives four rows, with counts: a click and a skip at each of its two positions.
    """
    n = int(usable.sum())
    clicks, views = meetings.clicks[usable], meetings.views[usable]
    counts = np.stack([clicks, np.maximum(views - clicks, 0)], axis=2).ravel()
    places = np.stack([meetings.first[usable], meetings.second[usable]], axis=1) + 1
    arrays = (
        np.arange(0, 4 * n + 1, 4),
        np.arange(n + 1),
        np.arange(4 * n + 1),
        counts,
        np.repeat(np.arange(n, dtype=np.int32), 4),
        np.repeat(places.ravel(), 2).astype(np.int32),
        np.tile(np.array([1, 0], np.uint8), 2 * n),
    )
    relevance, examination = np.full(n, 0.5), np.full(ranks, 0.5)
    # The core needs a prior above 0; this one is too small to matter.
    tiny = 1e-9 * float(views.sum() / n)
    _core.fit_browsing_model(
        arrays,
        relevance,
        examination,
        ranks,
        by_last_click=False,
        prior=(tiny, tiny),
        iterations=iterations,
        threads=threads(),
    )
    return examination
