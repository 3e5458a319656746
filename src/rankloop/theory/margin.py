"""The margin of a ranker on data, the best margin of any linear ranker, and the norm R_X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.memory import row_blocks
from rankloop.exceptions import DataError
from rankloop.theory.levels import Levels, as_weights, exact_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset

    Floats = NDArray[np.float64]

_CUTS = 64  # pairs added at a time
_ROUNDS = 2_000
_NOTHING = 1e-7  # if the hull is nearer to 0 than this share of its longest point, it contains 0


def margin(data: QueryDataset, weights: ArrayLike) -> float:
    """Return the smallest w.(x_i - x_j) over pairs R_i > R_j of a query, for w of unit norm.

    If it is positive, every query is ranked correctly. Weights of another length are normalised
    first; unjudged documents are ignored; without any pair the margin is infinite.

    Cost: O(n d + n log n).

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays([[3.0, 0], [1, 1], [0, 2]], [2, 1, 0], group=[3])
    >>> margin(data, [1, 0]), margin(data, [0, 5])
    (1.0, -2.0)

    References
    ----------
    Chaudhuri and Tewari, eq. 21.
    """
    w = as_weights(data, weights)
    if not w.any():
        raise DataError("weights of 0 have no margin; give a vector that is not 0")
    gaps, _, _ = Levels(data).gaps(exact_scores(data, w / np.linalg.norm(w)))
    return float(gaps.min(initial=np.inf))


@dataclass(frozen=True, eq=False)
class BestMargin:
    """The best margin, and a proof that there is no better one; unpacks to the first two.

    Attributes
    ----------
    margin : that of `weights`; at most 0 if the data is not separable
    weights : unit vector
    upper : no unit vector has a margin above this
    """

    margin: float
    weights: Floats
    upper: float

    @property
    def separable(self) -> bool:
        """Whether some linear ranker ranks every query correctly."""
        return self.margin > 0

    def __iter__(self) -> Iterator[float | Floats]:
        return iter((self.margin, self.weights))


def best_margin(data: QueryDataset, *, tolerance: float = 1e-6) -> BestMargin:
    """Find the unit vector of the largest margin, with a certificate.

    By duality the best margin is the distance from 0 to the convex hull of all x_i - x_j with
    R_i > R_j. Cutting planes: the nearest point of the hull of a few pairs (exact, by non-negative
    least squares) is an upper bound and, normalised, a ranker; its margin is a lower bound and
    names the pairs to add. If the hull contains 0, no ranker separates the data, and the returned
    margin is at most 0.

    Parameters
    ----------
    data : at least one query must have documents of different grades
    tolerance : stop when upper - margin is at most this share of upper. Data whose best margin is
        below 1e-7 of its largest pair difference counts as not separable.

    Notes
    -----
    Cost: O(n d + n log n) per round; about ten rounds for a few features, hundreds for many.

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays([[1.0, 1], [0, 0]], [1, 0], group=[2])
    >>> gamma, w = best_margin(data)
    >>> round(gamma, 6), w.round(6).tolist()
    (1.414214, [0.707107, 0.707107])
    """
    levels = Levels(data)
    point = np.zeros(data.n_features)
    gaps, better, worse = levels.gaps(exact_scores(data, point))
    if len(gaps) == 0:
        raise DataError("no query has documents of different grades, so every margin is attained")
    best, weights, upper = -np.inf, np.eye(1, data.n_features).ravel(), np.inf
    cuts = np.empty((0, data.n_features))
    for _ in range(_ROUNDS):
        chosen = np.argsort(gaps, kind="stable")[:_CUTS]
        new = data.X[better[chosen]].astype(np.float64) - data.X[worse[chosen]]
        cuts = np.unique(np.r_[cuts, new], axis=0)
        scale = float(np.linalg.norm(cuts, axis=1).max()) or 1.0
        point, used = _nearest(cuts, scale)
        cuts = cuts[used]  # the others do not determine the point
        length = float(np.linalg.norm(point))
        if length <= _NOTHING * scale:
            if best == -np.inf:
                best = float(levels.gaps(exact_scores(data, weights))[0].min())
            return BestMargin(min(best, 0.0), weights, 0.0)
        upper = min(upper, length)
        gaps, better, worse = levels.gaps(exact_scores(data, point / length))
        if gaps.min() > best:
            best, weights = float(gaps.min()), point / length
        if upper - best <= tolerance * upper:
            break
    return BestMargin(best, weights, max(upper, best))


def separating_weights(data: QueryDataset) -> Floats:
    """Return the shortest u with u.(x_i - x_j) >= 1 for every pair: the best w / margin.

    Its surrogate losses are 0, which makes it the comparison vector of the corollaries.
    """
    best = best_margin(data)
    if not best.separable:
        raise DataError(
            "no linear ranker ranks every query correctly, so no weights separate the data"
        )
    return best.weights / best.margin


def max_norm(data: QueryDataset) -> float:
    """Return R_X: the largest Euclidean norm of a document's features; 0 without documents."""
    squares = [
        float(np.square(data.X[rows].astype(np.float64)).sum(axis=1).max())
        for rows in row_blocks(*data.X.shape)
    ]
    return float(np.sqrt(max(squares, default=0.0)))


def _nearest(points: Floats, scale: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the point of a convex hull that is nearest to 0, and the points that determine it.

    min |P'a|^2 + (1'a - 1)^2 over a >= 0: for a = c b with b on the simplex the best c leaves
    |P'b|^2 / (1 + |P'b|^2), which grows with |P'b|, so b = a / 1'a is the nearest point.
    """
    from scipy.optimize import nnls

    n, d = points.shape
    system = np.vstack([points.T / scale, np.ones(n)])
    a, _ = nnls(system, np.eye(1, d + 1, d).ravel(), maxiter=100 * (n + d))
    return points.T @ (a / a.sum()), a > 0
