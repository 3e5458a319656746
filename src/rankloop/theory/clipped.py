"""What shortened steps do to a mistake bound: our own.

Most online rankers shorten an update that is longer than `clip` times the mean length of those
before it.

The perceptrons: how many mistakes are left
-------------------------------------------
The proofs of the ranking perceptrons bound Lambda, the sum over mistakes of the share of the step
that was taken: a step of share s moves w by s times as much, so in

    u.w >= rate sum s (1 - f_t(u))   and   |w|^2 <= 4 rate^2 R^2 sum s^2

every mistake counts s, and s^2 <= s. Without a clip all s are 1, and Lambda counts mistakes. With
a clip c > 0, let T steps have lengths of at most D, let sigma be the length of the first, n the
number of steps that were not shortened, the first among them, and rho = D / sigma.

The sum of the lengths taken begins at sigma. If step t is shortened, the sum is multiplied by
1 + c / (t - 1), and otherwise it does not fall. What the shortened steps add to it is least if the
others add nothing, and, since the factors fall with t, if the last T - n steps are the shortened
ones. It is also at most D times their shares, which sum to at most Lambda - n:

    sigma (prod_{t = n}^{T - 1} (1 + c / t) - 1) <= D (Lambda - n).

With a = max(c - 1, 0), every factor is at least ((t + 1 + a) / (t + a))^c, by Bernoulli's
inequality, so

    T + a <= (n + a) (1 + rho (Lambda - n))^(1/c).

The largest right side over all n gives, with M = Lambda + a + 1 / rho,

    T <= c rho^(1/c) (M / (c + 1))^(1 + 1/c) - a.

For the usual clip of 10 the exponents are 1/10 and 11/10; for large clips the bound tends to
Lambda + log(rho) + 1 / rho - 1. For SLAM a step counts as the weight v_i of its hinges, at least
v_min, so Lambda / v_min takes the place of Lambda. A mistake without a step, as between equal
documents, counts 1 in Lambda.

SOLAR-II: another stream
------------------------
SOLAR-II does not shorten a step: it brings all documents of a query nearer to each other, by a
factor r <= 1, and then learns from them as usual. Their order does not change, so it is SOLAR-II
without a clip on the stream of these queries, and has its bound there, with r delta for delta.
:func:`solar_ii_factors` measures r along a stream.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.solar_ii import SolarII

    Floats = NDArray[np.float64]
    Number = TypeVar("Number", float, NDArray[np.float64])

_MAX_CERTAINTY = 1e8  # of the core: no query counts for more than this many gammas


def bound_clipped_mistakes(
    whole: Number, clip: float, ratio: Number | float, v_min: float = 1.0
) -> Number:
    """Return the bound on mistakes of a ranker with a clip, given that of one without.

    c ratio^(1/c) (M / (c + 1))^(1 + 1/c) - a,   M = whole / v_min + a + 1 / ratio,

    c the clip, a = max(c - 1, 0).

    Parameters
    ----------
    whole : the bound without a clip, F + b sqrt(F) + b^2
    clip : the ranker's, above 0
    ratio : the longest step without a clip over the first one, at least 1
    v_min : the least weight v_i > 0 of a document; 1 for the minimax perceptron

    Examples
    --------
    >>> round(bound_clipped_mistakes(1035.0, 10.0, 1.0))  # it made 1,074 on a stream of the tests
    1489
    """
    if not clip > 0:
        raise DataError(f"clip must be above 0; found {clip:g}")
    a, rho = max(clip - 1, 0.0), np.float64(1.0) * ratio
    m = whole / v_min + a + 1 / rho
    with np.errstate(over="ignore"):  # a tiny clip has a bound beyond all numbers
        bound: Number = clip * rho ** (1 / clip) * (m / (clip + 1)) ** (1 + 1 / clip) - a
    return bound


def solar_ii_factors(ranker: SolarII, data: QueryDataset) -> Floats:
    """Return by how much a copy of SOLAR-II brings the documents of each query together: r <= 1.

    With z the documents less the first of the best grade, and S the covariance before the query,
    its reach is the largest z'S z. r^2 is the share of it that the clip allows, and at most 1e8
    gamma are ever allowed, so that rounding does not lose the other directions.

    Cost: one pass, query by query.
    """
    player = copy.deepcopy(ranker)
    factors = np.ones(len(data))
    d = data.n_features
    for q, query in enumerate(data):
        judged = query.y >= 0
        y = query.y[judged]
        if len(y) and y.min() < y.max():
            x = query.X[judged].astype(np.float64)
            known = player.is_fitted
            root = player.root_ if known else np.eye(d)
            z = solve_triangular(root, (x - x[np.argmax(y)]).T, trans="T")
            reach = float(np.einsum("ij,ij->j", z, z).max())
            total, count = player.sizes_ if known else (0.0, 0.0)
            allowed = ranker.clip * total / count if ranker.clip and count else np.inf
            allowed = min(allowed, _MAX_CERTAINTY * ranker.gamma)
            factors[q] = np.sqrt(allowed / reach) if reach > allowed else 1.0
        player.learn(query.X, query.y)
    return factors
