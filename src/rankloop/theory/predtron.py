"""Loss bounds of Predtron: Theorem 1, its corollaries, and those of the variants.

All bound the sum of losses over a stream on which some W of a given norm has a margin: every
correct prediction is ahead of every wrong one by at least `margin` in <rep, W x>. All follow from
one inequality. On a round with loss, the surrogate of eq. 2 is at least the loss, so at least c_L,
and has a gradient of dual norm at most G; mirror descent with an a-strongly convex psi then gives

    sum phi <= F + |U|^2 / (2 rate) + rate G^2 / (2 a c_L) sum phi

against every U of surrogate loss F. U = C_L / margin W has F = 0, and rate = a c_L / G^2 leaves

    sum L <= sum phi <= 2 F + G^2 |U|^2 / (a c_L).

In the paper all correct predictions of a label must tie under W. Here they need not: on a round
with loss the maximum in eq. 2 is at a wrong prediction, because it is above every similarity. So
the surrogate may leave the correct ones out, and a margin of every correct one over every wrong one
is enough for F = 0, whichever correct prediction the ranker steps towards.

`quantities["rate"]` is the rate at which a bound holds. R bounds the norm of an input, which is the
Euclidean norm, or for rankings of rows the spectral norm of X, unless the function says otherwise.
"""

from __future__ import annotations

import math

from rankloop.exceptions import DataError
from rankloop.rankers.predtron.problems.subset_ranking import least_ranking_loss
from rankloop.theory.result import Assumption, Bound


def theorem_1(
    radius: float,
    margin: float,
    smallest_loss: float,
    largest_loss: float,
    *,
    norm: float = 1.0,
    surrogate: float = 0.0,
    rate: float | None = None,
) -> Bound:
    """Bound the loss of Algorithm 1: 4 R^2 C_L^2 / (c_L margin^2), with rate c_L / (4 R^2).

    Parameters
    ----------
    radius : R
    margin : the margin of the comparison weights, above 0
    smallest_loss, largest_loss : c_L and C_L of the problem
    norm : the norm of the comparison weights
    surrogate : F, the loss by eq. 2 of C_L / margin times these weights; 0 if they separate all
    rate : the ranker's; default: c_L / (4 R^2). Any rate below c_L / (2 R^2) has a bound.

    Examples
    --------
    >>> theorem_1(1.0, 0.5, 1.0, 1.0).value
    16.0
    """
    losses = smallest_loss, largest_loss
    return _descent("Theorem 1", radius, 2.0, 1.0, margin, losses, norm, surrogate, rate)


def loss_driven_bound(
    radius: float, margin: float, largest_loss: float, *, norm: float = 1.0
) -> Bound:
    """Bound the loss of Predtron.LD: 4 R^2 C_L / margin^2, at every rate.

    The proof is in :class:`rankloop.rankers.predtron.rule.LossDriven`.

    >>> loss_driven_bound(1.0, 0.5, 1.0).value
    16.0
    """
    _check(radius, margin, largest_loss, largest_loss)
    value = 4 * radius**2 * largest_loss * norm**2 / margin**2
    quantities = {"R": radius, "margin": margin, "C_L": largest_loss, "norm": norm}
    return Bound("Predtron.LD", value, {"constant": value}, quantities)


def corollary_2(radius: float, margin: float, weights: tuple[float, float]) -> Bound:
    """Bound the weighted loss of a binary perceptron: 4 R^2 a_1^2 / (a_2 margin^2), a_1 >= a_2.

    The extracted text can be read as a_2^2; that would not scale with the weights, as losses do.
    The margin is twice the one of the textbooks, as rep is 1 and -1.
    """
    return _rename("Corollary 2", theorem_1(radius, margin, min(weights), max(weights)))


def reject_bound(radius: float, margin: float, costs: tuple[float, ...]) -> Bound:
    """Bound the loss with the option to reject: 4 R^2 / (b margin^2), b the smallest cost of it.

    The formula in the paper's text is damaged; this is Theorem 1 with C_L = 1 and c_L = b.
    """
    if not all(0 < cost <= 1 for cost in costs):
        raise DataError(f"costs of rejecting must be above 0 and at most 1; found {costs}")
    return _rename("reject", theorem_1(radius, margin, min(costs), 1.0))


def ordinal_bound(radius: float, margin: float, n_grades: int) -> Bound:
    """Bound sum |prediction - label| of ordinal regression: 4 (l - 1)^2 R^2 / margin^2."""
    return _rename("ordinal regression", theorem_1(radius, margin, 1.0, n_grades - 1.0))


def corollary_5(radius: float, margin: float, n_documents: int, top_grade: float) -> Bound:
    """Bound 1 - nDCG of subset ranking: 2^(top + 3) m^2 log2(2m)^2 R^2 / margin^2.

    Theorem 1 with C_L = 1 and the c_L of :func:`least_ranking_loss`. Grades are whole numbers. R
    bounds the spectral norm of X.

    >>> corollary_5(1.0, 1.0, 2, 1).value == 2**4 * 2**2 * 2**2
    True
    """
    least = least_ranking_loss(n_documents, top_grade)
    return _rename("Corollary 5", theorem_1(radius, margin, least, 1.0))


def corollary_6(
    radius: float, margin: float, n_documents: int, top_grade: float, n_features: int
) -> Bound:
    """Bound 1 - nDCG with an l1 margin: 9 * 2^(top + 3) m^2 log2(2m)^2 R^2 log p / margin^2.

    For weights of l1 norm 1, and R the largest norm of a column of X: a gradient X' g has entries
    of at most 2 R. log p counts as at least 1, as the r-norm is Euclidean below p = e^2.
    """
    return _sparse("Corollary 6", radius, margin, n_documents, top_grade, n_features)


def corollary_7(radius: float, margin: float, n_labels: int, top_grade: float = 1.0) -> Bound:
    """Bound 1 - nDCG of multilabel ranking; as Corollary 5, with R the norm of an input vector."""
    return _rename("Corollary 7", corollary_5(radius, margin, n_labels, top_grade))


def corollary_8(
    radius: float, margin: float, n_labels: int, n_features: int, top_grade: float = 1.0
) -> Bound:
    """Bound 1 - nDCG of multilabel ranking with a group margin; as Corollary 6.

    For weights whose columns have norms that add up to 1, and R the largest entry of an input.
    """
    return _sparse("Corollary 8", radius, margin, n_labels, top_grade, n_features)


def trace_norm_bound(
    radius: float,
    margin: float,
    smallest_loss: float,
    largest_loss: float,
    shape: tuple[int, int],
) -> Bound:
    """Bound the loss in the Schatten geometry: 4 R^2 (log k - 1) C_L^2 / (c_L margin^2).

    For weights of trace norm 1, and k the smaller side of the weight matrix; log k - 1 counts as at
    least 1. A gradient g x' has one singular value, at most 2 R, so the dual norm costs nothing.
    """
    curve = 1 / max(1.0, math.log(min(shape)) - 1)
    return _descent("trace norm", radius, 2.0, curve, margin, (smallest_loss, largest_loss))


def _sparse(
    name: str, radius: float, margin: float, m: int, top_grade: float, n_features: int
) -> Bound:
    log = max(1.0, math.log(n_features))
    # |g|_q^2 / a <= 4 e^2 R^2 (log p - 1) for p > e^2, else 4 p R^2: both at most 36 R^2 log p
    least = least_ranking_loss(m, top_grade)
    return _descent(name, radius, 6.0, 1 / log, margin, (least, 1.0))


def _descent(
    name: str,
    radius: float,
    times: float,
    curve: float,
    margin: float,
    losses: tuple[float, float],
    norm: float = 1.0,
    surrogate: float = 0.0,
    rate: float | None = None,
) -> Bound:
    """Return (F + |U|^2 / (2 rate)) / (1 - rate G^2 / (2 a c_L)), with G = times R."""
    smallest_loss, largest_loss = losses
    _check(radius, margin, smallest_loss, largest_loss)
    steep = times * radius
    usual = curve * smallest_loss / steep**2
    rate = usual if rate is None else rate
    small = Assumption("rate below 2 a c_L / G^2", 0 < rate < 2 * usual)
    distance = (norm * largest_loss / margin) ** 2 / (2 * rate) if rate > 0 else math.inf
    factor = 1 / (1 - rate / (2 * usual)) if small.holds else math.inf
    terms = {"surrogate": surrogate, "distance": distance, "factor": factor}
    quantities = {
        "G": steep,
        "a": curve,
        "margin": margin,
        "norm": norm,
        "c_L": smallest_loss,
        "C_L": largest_loss,
        "rate": rate,
    }
    return Bound(name, (surrogate + distance) * factor, terms, quantities, (small,))


def _check(radius: float, margin: float, smallest_loss: float, largest_loss: float) -> None:
    if not (0 < radius < math.inf and 0 < margin < math.inf):
        raise DataError(f"radius and margin must be above 0; found {radius} and {margin}")
    if not 0 < smallest_loss <= largest_loss < math.inf:
        raise DataError(
            "the smallest loss must be above 0 and at most the largest; "
            f"found {smallest_loss} and {largest_loss}"
        )


def _rename(name: str, bound: Bound) -> Bound:
    return Bound(name, bound.value, bound.terms, bound.quantities, bound.assumptions)
