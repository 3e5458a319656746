"""A bound in advance for kernel perceptrons on a memory budget that remove documents at random.

Let v = c u, where u is any function of the kernel's space with surrogate loss F, and K(x, x) <= R^2
on the data. |f - v|^2 begins at c^2 |u|^2, never falls below 0, and changes as follows.

*A step* g on a query, in units of the rate: let a be the sum of v_i over the active hinges (1 for
the minimax perceptron). Then u(g) >= a - f_t(u), f(g) <= (margin / rate) a and |g|^2 <= 4 R^2 a, so

    |f + g - v|^2 - |f - v|^2 <= (4 R^2 + 2 margin / rate) a - 2 c (a - f_t(u)).

*A removal.* f is the sum of the n > B documents that are held, each with its coefficient. If each
of them, h, is as likely to be removed, f(h) has the mean |f|^2 / n, and so the mean effect is

    mean |h|^2 - 2 (|f|^2 - <v, f>) / n <= mean |h|^2 + c^2 |u|^2 / (2 (B + 1)).

A document is removed at most once, with the coefficient that it was added with, and those of a step
have squares that sum to at most 2 a R^2. A step adds at most two documents for each active hinge,
so at most 2 a / v_min. With A the sum of all a, which is at least the loss of the ranker,

    E[A] (2 c - L - c^2 |u|^2 / ((B + 1) v_min)) <= c^2 |u|^2 + 2 c F,
    L = 6 R^2 + 2 margin / rate,

and 4 R^2 instead of 6 R^2 for an RBF kernel: where no value of K is negative, |g|^2 <= 2 R^2 a.

The best c gives the bound; for F = 0 it is L |u|^2 / (1 - L |u|^2 / ((B + 1) v_min)). Without a
budget, it is L' |u|^2, L' = L - 2 R^2. So it holds if the budget is larger than
L |u|^2 / v_min - 1, and is a constant times that of a ranker without a budget from twice this size.

Cavallanti, Cesa-Bianchi and Gentile (2007) prove this for the classification perceptron, with the
same trade-off: |u| of the order of sqrt(B).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.kernel.kernels import RBF
from rankloop.rankers.kernel.online import KernelMinimax, KernelSlam
from rankloop.theory.perceptron import of_data
from rankloop.theory.result import Assumption, Bound
from rankloop.theory.surrogates import (
    data_for,
    least_weight,
    max_pair_surrogate,
    worst_slam_surrogate,
)

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.theory.budget import Expansion


def random_removal_bound(
    ranker: KernelMinimax | KernelSlam, data: QueryDataset, comparison: Expansion
) -> Bound:
    """Bound the expected loss of a kernel perceptron on a budget, before it learns from the data.

    The expectation is over which documents are removed. It bounds the mistakes of `KernelMinimax`,
    and the sum of 1 - measure of `KernelSlam`, on one pass over a stream that does not depend on
    the removals.

    Parameters
    ----------
    ranker : an unfitted ranker with `removal="random"` and without decay
    data : the stream
    comparison : u, a function in the space of the ranker's kernel

    Notes
    -----
    Cost: O(n k d) for u of k documents on n documents.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.theory.budget import Expansion
    >>> data = separable(40, np.random.default_rng(0), n_documents=5, n_features=3).data
    >>> u = Expansion.of(KernelMinimax("rbf(1)", budget=None, passes=20).fit(data))
    >>> small = random_removal_bound(KernelMinimax("rbf(1)", budget=20, removal="random"), data, u)
    >>> small.holds, small.broken
    (False, ('the budget is larger than L |u|^2 / v_min - 1',))
    >>> large = random_removal_bound(KernelMinimax("rbf(1)", budget=999, removal="random"), data, u)
    >>> large.holds, large.value < np.inf
    (True, True)

    References
    ----------
    Chaudhuri and Tewari ask for it in their conclusion; Cavallanti, Cesa-Bianchi and Gentile,
    Tracking the best hyperplane with a simple budget perceptron (2007).
    """
    f = v_min = 0.0
    if isinstance(ranker, KernelSlam):
        seen = data_for(ranker.measure, data)
        f = sum(worst_slam_surrogate(comparison(q.X), q.y, ranker.measure) for q in seen)
        v_min = least_weight(data, ranker.measure)
        slack = 2 * ranker.margin / ranker.rate
    elif isinstance(ranker, KernelMinimax):
        f = sum(max_pair_surrogate(comparison(query.X), query.y) for query in data)
        v_min, slack = 1.0, 0.0
    else:
        raise DataError(
            f"this bound is about KernelMinimax and KernelSlam; found a {type(ranker).__name__}"
        )
    largest = float(comparison.kernel.diagonal(data.X).max(initial=0.0))
    of_step = 2 if isinstance(comparison.kernel, RBF) else 4
    of_removal = 0 if ranker.budget is None else 2
    steep, square = (of_step + of_removal) * largest + slack, comparison.square
    room = np.inf if ranker.budget is None else (ranker.budget + 1) * v_min
    enough = steep * square < room
    c = _best_c(square, f, steep, square / room)
    left = 2 * c - steep - c**2 * square / room
    value = (c**2 * square + 2 * c * f) / left if enough and left > 0 else np.inf
    assumptions = (
        *of_data(data),
        Assumption("documents are removed at random", ranker.removal == "random"),
        Assumption("its rate is constant", ranker.decay == 0),
        Assumption("the ranker starts from nothing", not ranker.is_fitted),
        Assumption("the last coefficients rank, not their mean", not ranker.average),
        Assumption("one pass", ranker.passes == 1),
        Assumption("the budget is larger than L |u|^2 / v_min - 1", bool(enough)),
    )
    terms = {"surrogate": float(f), "constant": steep * square, "factor": c / left if left else 0.0}
    quantities = {
        "norm": float(np.sqrt(square)),
        "R": float(np.sqrt(largest)),
        "L": steep,
        "c": c,
        "v_min": v_min,
    }
    return Bound("random removal", float(value), terms, quantities, assumptions)


def _best_c(square: float, f: float, steep: float, share: float) -> float:
    """Return the c that minimises (c^2 |u|^2 + 2 c F) / (2 c - L - c^2 share).

    The derivative is 0 where c^2 (|u|^2 + share F) - c L |u|^2 - L F = 0.
    """
    lead = square + share * f
    if lead == 0:  # every c gives a bound
        return steep
    half = steep * square / 2
    return float((half + np.sqrt(half**2 + lead * steep * f)) / lead)
