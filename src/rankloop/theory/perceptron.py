"""Loss bounds of the ranking perceptrons (Chaudhuri and Tewari), and one of our own.

All have the form  F + b sqrt(F) + b^2,  where F is the surrogate loss of any comparison vector w
and b grows with its length; F = 0 for a separating one, which gives the corollaries. They follow
from x <= F + b sqrt(x), where x is the ranker's own surrogate loss or weight of mistakes.

F counts the rounds on which the ranker made a mistake. If it is not given (`surrogate`), the
functions sum over all rounds, with the worst order inside grades, which is never less.

All are about whole steps, `clip=0`; :mod:`rankloop.theory.clipped` has the bounds with a clip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError, MeasureError
from rankloop.theory.levels import as_weights, exact_scores
from rankloop.theory.margin import max_norm
from rankloop.theory.result import Assumption, Bound
from rankloop.theory.surrogates import (
    check_measure,
    max_pair_surrogate,
    weight_ratio,
    worst_slam_surrogate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure

    Floats = NDArray[np.float64]


def ogd_regret_bound(norm: float, rate: float, gradient_norms: ArrayLike) -> float:
    """Return |w|^2 / (2 rate) + rate/2 sum_t |z_t|^2 (eq. 17).

    It bounds sum_t f_t(w_t) - f_t(w) for online gradient descent from 0 on convex f_t, with
    subgradients z_t of f_t at w_t, against every w of this norm.

    >>> ogd_regret_bound(1.0, 0.5, [1.0, 1.0])
    1.5
    """
    if not rate > 0:
        raise DataError(f"rate must be above 0; found {rate}")
    z = np.asarray(gradient_norms, np.float64)
    return norm**2 / (2 * rate) + rate / 2 * float(z @ z)


def gradient_bound(m: int, radius: float, v_max: float, loss: float) -> float:
    """Return 4 m R_X^2 v_max f_t(w_t), which bounds |z_t|^2 (Lemma 5, eq. 18).

    The proof needs a document with v_i > 0 that scores no more than one of a lower grade. For nDCG
    and AP every mistake has one. For nDCG@k (m = k) a mistake below rank k need not: the lemma then
    holds on rounds with nDCG@k < 1, and can fail on others.
    """
    return 4 * m * radius**2 * v_max * loss


def slam_bound(
    data: QueryDataset,
    weights: ArrayLike,
    measure: str | Measure = "nDCG",
    *,
    surrogate: float | None = None,
    rate: float | None = None,
) -> Bound:
    """Bound sum_t 1 - measure of the SLAM perceptron: Theorem 6, Corollary 7.

    F + b sqrt(F) + b^2,   b^2 = 4 |w|^2 m R_X^2 v_max.

    Corrections: in eq. 19, v_max is missing under the root of the middle term (eq. 22 has it).
    "Optimising over the rate" needs a rate that depends on the resulting loss; for a fixed rate the
    proof gives (F + |w|^2 / (2 rate)) / (1 - rate B / 2) with B = 4 m R_X^2 v_max and rate < 2/B,
    and the rate in `quantities` makes this at most the value above. The order inside grades is the
    ranker's, see :mod:`rankloop.theory.surrogates`.

    Parameters
    ----------
    data : the stream
    weights : any comparison vector, used as it is; :func:`separating_weights` gives the corollary
    measure : `nDCG` or `AP`
    surrogate : F; default: an upper bound over all rounds
    rate : the ranker's; default: the one that minimises the bound

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.theory.margin import separating_weights
    >>> data = separable(50, np.random.default_rng(0)).data
    >>> bound = slam_bound(data, separating_weights(data), "AP")
    >>> bound.holds, bound.terms["surrogate"] < 1e-4
    (True, True)
    """
    if check_measure(measure).cutoff is not None:
        raise MeasureError(f"slam_bound covers nDCG and AP; for {measure} use slam_cutoff_bound")
    return _self_bounding("Theorem 6", data, weights, measure, surrogate, rate)


def slam_cutoff_bound(
    data: QueryDataset,
    weights: ArrayLike,
    measure: str | Measure = "nDCG@10",
    *,
    surrogate: float | None = None,
    rate: float | None = None,
) -> Bound:
    """Bound sum_t 1 - nDCG@k of Algorithm 2 for nDCG@k: Theorem 8.

    It is :func:`slam_bound` with min(k, m) instead of m, and v_max over the first k. It holds for a
    ranker that steps only if nDCG@k < 1. :class:`Slam` also steps on mistakes below rank k,
    where Lemma 5 may fail: for it, use :func:`slam_any_rate_bound`.
    """
    if check_measure(measure).cutoff is None:
        raise MeasureError(f"slam_cutoff_bound covers nDCG@k; for {measure} use slam_bound")
    return _self_bounding("Theorem 8", data, weights, measure, surrogate, rate)


def slam_any_rate_bound(
    data: QueryDataset,
    weights: ArrayLike,
    measure: str | Measure = "nDCG",
    *,
    rate: float,
    margin: float = 1.0,
    surrogate: float | None = None,
) -> Bound:
    """Bound sum_t 1 - measure of the SLAM perceptron at any rate, without m and v_max: our own.

    F + b sqrt(F) + b^2,   b^2 = |w|^2 (4 R_X^2 + 2 margin / rate).

    Proof. Let a_t be the sum of v_i over the hinges that are active on update t, A = sum_t a_t.
    Every document counted in 1 - measure is outscored by a lower grade, so its hinge is active:
    1 - measure <= a_t. With z_t = sum v_i (x_k - x_i) over active hinges: w.(-z_t) >= a_t - f_t(w),
    so w.w_T >= rate (A - F). And |z_t|^2 <= 4 R_X^2 a_t, as a_t <= 1, and -z_t.w_t <= margin a_t,
    so |w_T|^2 <= (2 rate margin + 4 rate^2 R_X^2) A. Cauchy-Schwarz: A <= F + b sqrt(A).

    For large rates this is the minimax bound of Theorem 10. It needs no mistake with v_i > 0, so it
    covers nDCG@k with steps on every mistake, as :class:`Slam` takes them.

    Parameters
    ----------
    data, weights, measure, surrogate : as in :func:`slam_bound`; nDCG@k too
    rate : the ranker's, constant
    margin : the ranker's, above 0
    """
    if not (0 < rate < np.inf and 0 < margin < np.inf):
        raise DataError(f"rate and margin must be above 0; found {rate} and {margin}")
    w = as_weights(data, weights)
    f = slam_total(data, weights, measure) if surrogate is None else surrogate
    radius, norm = max_norm(data), float(np.linalg.norm(w))
    b = norm * np.sqrt(4 * radius**2 + 2 * margin / rate)
    quantities = {"norm": norm, "R_X": radius, "rate": rate, "margin": margin}
    return _quadratic("SLAM at any rate", f, b, quantities, of_data(data))


def minimax_bound(
    data: QueryDataset, weights: ArrayLike, *, surrogate: float | None = None
) -> Bound:
    """Bound the mistakes of the minimax perceptron, so its nDCG or AP loss: Theorem 10.

    F + b sqrt(F) + b^2,   b = 2 |w| R_X,   F by eq. 27; 4 R_X^2 / margin^2 if separable
    (Corollary 11).

    No rate has to be optimised: M mistakes give w.w_T >= rate (M - F) and
    |w_T|^2 <= 4 rate^2 R_X^2 M, so the bound holds at every constant rate, and counts mistakes
    rather than their loss.
    """
    w = as_weights(data, weights)
    f = max_pair_total(data, weights) if surrogate is None else surrogate
    radius, norm = max_norm(data), float(np.linalg.norm(w))
    quantities = {"norm": norm, "R_X": radius}
    return _quadratic("Theorem 10", f, 2 * norm * radius, quantities, of_data(data))


def slam_total(data: QueryDataset, weights: ArrayLike, measure: str | Measure) -> float:
    """Return the surrogate loss (eq. 9) of weights over all queries, in the worst order."""
    scores = exact_scores(data, as_weights(data, weights))
    return sum(worst_slam_surrogate(s, y, measure) for s, y in _each(data, scores))


def max_pair_total(data: QueryDataset, weights: ArrayLike) -> float:
    """Return the surrogate loss (eq. 27) of weights over all queries."""
    scores = exact_scores(data, as_weights(data, weights))
    return sum(max_pair_surrogate(s, y) for s, y in _each(data, scores))


def _self_bounding(
    name: str,
    data: QueryDataset,
    weights: ArrayLike,
    measure: str | Measure,
    surrogate: float | None,
    rate: float | None,
) -> Bound:
    w = as_weights(data, weights)
    cutoff = check_measure(measure).cutoff
    f = slam_total(data, weights, measure) if surrogate is None else surrogate
    m = int(data.sizes.max(initial=1))
    m = m if cutoff is None else min(m, cutoff)
    radius, norm = max_norm(data), float(np.linalg.norm(w))
    v_max = max((weight_ratio(query.y, measure) for query in data), default=1.0)
    steep = gradient_bound(m, radius, v_max, 1.0)
    quantities = {"norm": norm, "R_X": radius, "m": float(m), "v_max": v_max}
    if rate is None:
        b = norm * np.sqrt(steep)
        quantities["rate"] = best_rate(b, f, steep)
        return _quadratic(name, f, b, quantities, of_data(data))
    small = Assumption("rate below 2 / (4 m R_X^2 v_max)", 0 < rate * steep < 2)
    terms = {"surrogate": f, "distance": norm**2 / (2 * rate), "factor": 1 / (1 - rate * steep / 2)}
    value = (f + terms["distance"]) * terms["factor"] if small.holds else np.inf
    quantities["rate"] = rate
    return Bound(f"{name}, fixed rate", value, terms, quantities, (*of_data(data), small))


def best_rate(b: float, surrogate: float, steep: float) -> float:
    """Return the rate that minimises (F + |w|^2/(2 rate)) / (1 - rate B/2), b^2 = |w|^2 B.

    It is 1/B if F = 0, and smaller with more loss; for w = 0 it is 0, which means never to learn.
    """
    if b == 0:
        return 0.0
    # Setting the derivative to 0 gives 1 / rate = (b sqrt(b^2/4 + F) + b^2/2) / |w|^2.
    return float(b**2 / (steep * (b * np.sqrt(b**2 / 4 + surrogate) + b**2 / 2)))


def _quadratic(
    name: str,
    f: float,
    b: float,
    quantities: dict[str, float],
    assumptions: tuple[Assumption, ...],
) -> Bound:
    terms = {"surrogate": f, "cross": float(b * np.sqrt(f)), "constant": float(b * b)}
    return Bound(name, sum(terms.values()), terms, quantities, assumptions)


def of_data(data: QueryDataset) -> tuple[Assumption, ...]:
    """Check what every bound requires of the data.

    Measures count unjudged documents as not relevant; rankers leave them out. A weight makes steps
    longer or shorter, but a query still costs what its ranking loses.
    """
    unweighted = data.query_weight is None and data.sample_weight is None
    return (
        Assumption("every document is judged", bool((data.y >= 0).all())),
        Assumption("no query or document has a weight", unweighted),
    )


def _each(data: QueryDataset, scores: Floats) -> Iterator[tuple[Floats, Floats]]:
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        yield scores[rows], data.y[rows]
