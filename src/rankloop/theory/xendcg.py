"""Bruch's results about XE_NDCG as values: Theorems 1 and 2, Propositions 1 and 2, Claims 1 and 2.

Corrections. Theorem 2 prints exp(-2 n eps^2 / Lip^2), but its proof needs the centres of the cover
to be correct within eps/2, which gives exp(-n eps^2 / (2 Lip^2)): a quarter of the exponent. Also,
replacing an example changes its grades, so the loss must have a range of at most Lip. XE_NDCG has
this for lists of one length and scores in [0, 1]: it lies in [log m - 1, log m + 1].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.losses.xendcg import XENDCGLoss
from rankloop.measures.evaluation import evaluate
from rankloop.theory.result import Assumption, Bound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset

    Floats = NDArray[np.float64]

XENDCG_LIPSCHITZ = 2.0
"""Proposition 2: XE_NDCG changes by at most this times the largest change of a score."""


def negative_log_ndcg(data: QueryDataset, scores: ArrayLike) -> float:
    """Return -log(mean nDCG + mean 1/DCG of the ideal order): what Theorem 1 bounds.

    Queries without a relevant document are left out, as they have no nDCG.
    """
    values = evaluate(data, np.asarray(scores, np.float64), "nDCG").result("nDCG").values
    known = ~np.isnan(values)
    if not known.any():
        raise DataError("no query has a relevant document, so there is no nDCG")
    ideal = np.array([_ideal_dcg(query.y) for query in data])[known]
    return -math.log(float(values[known].mean()) + float((1 / ideal).mean()))


def xendcg_bound(data: QueryDataset, scores: ArrayLike, gamma: float | ArrayLike = 1.0) -> Bound:
    """Bound :func:`negative_log_ndcg` by the mean XE_NDCG of the scores: Theorem 1.

    Parameters
    ----------
    data, scores : the documents and their scores
    gamma : one number, or one per document (Definition 1), from 0 to 1

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(20, np.random.default_rng(0)).data
    >>> scores = data.y  # a perfect order
    >>> bound = xendcg_bound(data, scores)
    >>> bound.holds, negative_log_ndcg(data, scores) <= bound.value
    (True, True)
    """
    s = np.asarray(scores, np.float64)
    each = np.broadcast_to(np.asarray(gamma, np.float64), s.shape)
    losses, left_out = [], 0
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        if not (data.y[rows] > 0).any():
            left_out += 1
            continue
        loss = XENDCGLoss(tuple(each[rows].tolist()))
        losses.append(loss.value(s[rows], data.y[rows]))
    judged = Assumption("every document is judged", bool((data.y >= 0).all()))
    some = Assumption("a query has a relevant document", len(losses) > 0)
    value = float(np.mean(losses)) if losses else math.inf
    quantities = {"queries": float(len(losses)), "left out": float(left_out)}
    return Bound("Theorem 1", value, {"cross entropy": value}, quantities, (judged, some))


def lambdamart_lipschitz(m: int, sigma: float = 1.0) -> float:
    """Return sigma m^2: how fast LambdaMART's loss may change with scores (Proposition 1).

    Each of the m(m - 1) terms of its gradient is at most sigma, if nDCG's changes are at most 1.

    >>> lambdamart_lipschitz(10)
    100.0
    """
    if m < 1 or not sigma > 0:
        raise DataError(f"m must be at least 1 and sigma above 0; found {m} and {sigma}")
    return sigma * m**2


def series_radius(scores: ArrayLike, epsilon: float) -> float:
    """Return the largest row sum of S, which bounds its spectral radius: Claim 2.

    The Hessian of XE_NDCG is D (I - S) with S_ij = rho_j / (1 - rho_i) off the diagonal, rho with
    the epsilon of eq. 14. A row sums to (1 - rho_i - e) / (1 - rho_i), where e is the mass that
    epsilon takes. So for epsilon > 0 the radius is below 1, the Hessian is positive definite
    (Claim 1), and I + S + S^2 is its inverse but for at most r^3 / (1 - r) of the largest entry.

    Trees are grown with epsilon = 0. Then the radius is exactly 1: the Hessian has no inverse, the
    series does not converge, and its first three terms are a step by themselves.

    >>> series_radius([0.0, 0.0], 0.0), series_radius([0.0, 0.0], 1.0)
    (1.0, 0.5)
    """
    s = np.asarray(scores, np.float64)
    if len(s) < 2 or not (0 <= epsilon < math.inf and np.isfinite(s).all()):
        raise DataError(
            "at least two finite scores are needed, and an epsilon of at least 0; found "
            f"{len(s)} scores and {epsilon}"
        )
    shift = max(float(s.max()), math.log(epsilon) if epsilon > 0 else -math.inf)
    others = float(np.exp(np.sort(s)[1:] - shift).sum())  # of the row with the least rho
    return others / (others + epsilon * math.exp(-shift))


def generalisation_probability(
    n: int, epsilon: float, lipschitz: float, log_covering: float
) -> float:
    """Return a lower bound on the probability that no f errs by more than epsilon: Theorem 2.

    1 - 2 N exp(-n eps^2 / (2 Lip^2)), at least 0, with N the covering number of the class by balls
    of radius eps / (4 Lip), given by its logarithm. The module says what was corrected.

    Parameters
    ----------
    n : training queries, at least 1
    epsilon : the difference between the mean loss on new queries and on training queries, above 0
    lipschitz : :data:`XENDCG_LIPSCHITZ` or :func:`lambdamart_lipschitz`
    log_covering : log N, at least 0

    Examples
    --------
    LambdaMART needs (m^2 / 2)^2 times as many queries for the same promise:

    >>> round(generalisation_probability(1000, 0.2, XENDCG_LIPSCHITZ, 0.0), 4)
    0.9865
    >>> round(generalisation_probability(1000 * 50**2, 0.2, lambdamart_lipschitz(10), 0.0), 4)
    0.9865
    """
    if n < 1 or not epsilon > 0 or not lipschitz > 0 or log_covering < 0:
        raise DataError(
            "n must be at least 1, epsilon and lipschitz above 0 and log_covering at least 0; "
            f"found {n}, {epsilon}, {lipschitz} and {log_covering}"
        )
    exponent = log_covering - n * epsilon**2 / (2 * lipschitz**2)
    return max(0.0, 1 - 2 * math.exp(min(exponent, 0.0)))


def _ideal_dcg(y: Floats) -> float:
    gains = np.exp2(np.sort(np.maximum(y, 0.0))[::-1]) - 1
    return float(gains @ (1 / np.log2(np.arange(2.0, len(y) + 2))))
