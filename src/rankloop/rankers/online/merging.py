"""Combine rankers that continued from one state, each with its own queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import row_pairs
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    T = TypeVar("T", int, float, Floats)


def sum_changes(values: Sequence[T], base: T) -> T:
    """Return base + sum of (value - base): exact for counters, sums and precisions.

    >>> sum_changes([5, 7], 4)
    8
    """
    total = base
    for value in values:
        total = total + (value - base)
    return total


def mean_weights(weights: Sequence[Floats], counts: Sequence[int]) -> Floats:
    """Return the mean of weights, weighted by the number of queries of each ranker.

    This is parameter mixing: it differs from what one ranker would have learnt from all queries in
    turn, but on data that can be ranked without mistakes it converges, too.

    References
    ----------
    McDonald, Hall and Mann, Distributed training strategies for the structured perceptron (2010).
    """
    shares = counts if sum(counts) else [1] * len(weights)
    total = np.zeros_like(weights[0])
    for array, share in zip(weights, shares, strict=True):
        total = total + array * (share / sum(shares))
    return total


def merge_variances(
    known: Sequence[tuple[Floats, Floats]], base: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return variances and means of independent weights, as :func:`merge_precision` does.

    >>> one, other = (np.array([0.5]), np.array([1.0])), (np.array([0.25]), np.array([2.0]))
    >>> variances, means = merge_variances([one, other], (np.array([1.0]), np.array([0.0])))
    >>> variances.tolist(), means.tolist()
    ([0.2], [2.0])
    """
    precisions = [1 / variances for variances, _ in known]
    sides = [weights / variances for variances, weights in known]
    precision = sum_changes(precisions, 1 / base[0])
    return 1 / precision, sum_changes(sides, base[1] / base[0]) / precision


def merge_precision(
    roots: Sequence[Floats], weights: Sequence[Floats], base_root: Floats, base_weights: Floats
) -> tuple[Floats, Floats]:
    """Return root and mean of the Gaussian with all evidence, counting that of `base` once.

    With precision L = U'U and h = L w, both are sums over queries:

        L = L_0 + sum_k (L_k - L_0),   h = h_0 + sum_k (h_k - h_0),   w = L^-1 h.

    It is exact if what a query adds does not depend on the current weights; otherwise it is as good
    as the curvatures at different weights agree.
    """
    first = row_pairs(base_root.T, base_root.T)
    precisions = [row_pairs(root.T, root.T) for root in roots]
    sides = [row_pairs(L, w[None])[:, 0] for L, w in zip(precisions, weights, strict=True)]
    precision = sum_changes(precisions, first)
    side = sum_changes(sides, row_pairs(first, base_weights[None])[:, 0])
    try:
        root = _core.cholesky(np.ascontiguousarray(precision))
    except (ValueError, RuntimeError):
        raise DataError(
            "these rankers cannot be merged, because their precisions do not add up "
            "to a valid one: they did not all start from the same base"
        ) from None
    root = np.triu(root)
    return root, _core.cholesky_solve(root, np.ascontiguousarray(side))
