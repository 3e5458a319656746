"""Weights of a blend: they differ from equal weights only as far as validation data support."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankloop.losses.base import Floats

_STEPS = (0.25, 0.5, 0.75, 1.0)  # fractions of the way from equal weights to some members alone
_FEW = 5  # up to this number of members, all groups are tried


def equal_weights(kinds: NDArray[np.int64]) -> Floats:
    """Give equal weights to all kinds, and to all members of a kind.

    >>> equal_weights(np.array([0, 1, 1])).tolist()
    [0.5, 0.25, 0.25]
    """
    copies = np.bincount(kinds)
    return np.asarray((1 / (len(copies) * copies))[kinds])


def shrunk_weights(
    kinds: NDArray[np.int64],
    measured: Callable[[Floats], Floats],
    query_weight: Floats | None = None,
) -> Floats:
    """Move equal weights towards the best ones, as far as the gain exceeds its standard error.

    Parameters
    ----------
    kinds : the kind of each member, numbered from 0
    measured : function from weights to one value per query, NaN if the query has none
    query_weight : the weights of these queries
    """
    copies, equal = np.bincount(kinds), equal_weights(kinds)
    before = measured(equal)
    shares = np.ones(len(before)) if query_weight is None else query_weight
    counted = ~np.isnan(before) & (shares > 0)
    if len(copies) == 1 or np.count_nonzero(counted) < 2:
        return equal
    shares = shares[counted] / shares[counted].sum()
    squares = float(shares @ shares)  # 1 / n if all queries have equal weights
    best, kept = (0.0, 0.0), equal
    for group in groups(len(copies)):
        alone = np.isin(kinds, group) / copies[kinds] / len(group)
        for step in _STEPS:
            weights = equal + step * (alone - equal)
            gains = (measured(weights) - before)[counted]
            gain = float(shares @ gains)
            if gain > best[0]:
                spread = float(shares @ np.square(gains - gain)) / (1 - squares)
                best, kept = (gain, spread * squares), weights
    gain, variance = best
    trust = max(0.0, 1 - variance / gain**2) if gain > 0 else 0.0
    return np.asarray(equal + trust * (kept - equal))


def groups(n: int) -> list[tuple[int, ...]]:
    """Return all groups of fewer than n members; if n is large, only groups of one member.

    >>> groups(3)
    [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    """
    sizes = range(1, n if n <= _FEW else 2)
    return [group for size in sizes for group in itertools.combinations(range(n), size)]
