"""Ratios of counts, by pair of query and document or by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.log.grouped_pages import GroupedPages


Counts = TypeVar("Counts", "NDArray[np.float64]", float)


def ratio(clicked: Counts, seen: Counts, prior: tuple[float, float]) -> Counts:
    """Return (clicks + prior clicks) / (views + prior clicks and skips)."""
    return (prior[0] + clicked) / (prior[0] + prior[1] + seen)


def prior_mean(prior: tuple[float, float]) -> float:
    """Return the probability that a parameter has without data."""
    return prior[0] / sum(prior)


def add_up(
    places: NDArray[np.int64] | NDArray[np.int32], weights: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Add up weights by place, in the order given."""
    return np.asarray(np.bincount(places, weights, size), np.float64)


def by_pair(pages: GroupedPages, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up weights of rows by pair, in the order of the rows."""
    return add_up(pages.pairs, weights, pages.n_pairs)


def by_rank(pages: GroupedPages, weights: NDArray[np.float64], ranks: int) -> NDArray[np.float64]:
    """Add up weights of rows by position; positions beyond `ranks` count as the last one."""
    return add_up(np.minimum(pages.positions, ranks) - 1, weights, ranks)


def first_and_last_clicks(
    pages: GroupedPages,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row the first and the last clicked row of its page; without one, the end."""
    sizes = np.diff(pages.offsets)
    starts, ends = pages.offsets[:-1], pages.offsets[1:]
    clicked = np.flatnonzero(pages.clicks)
    if len(clicked) == 0:
        end = np.repeat(ends, sizes)
        return end, end
    after = np.searchsorted(clicked, starts)  # the first click at or after the page's start
    before = np.searchsorted(clicked, ends) - 1
    first = clicked[np.minimum(after, len(clicked) - 1)]
    has = (after < len(clicked)) & (first < ends) & (first >= starts)
    first = np.where(has, first, ends)
    last = np.where(has, clicked[np.maximum(before, 0)], ends)
    return np.repeat(first, sizes), np.repeat(last, sizes)
