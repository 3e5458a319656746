"""The parts of the ranking perceptrons' bounds: weights v, hinges and losses of a query.

SLAM's weights v_i follow the order of scores inside a grade. So the surrogate as a function of the
scores is a *minimum* over the orders inside grades of convex functions: for nDCG with three or more
documents it is not convex, against the paper's Lemma 3, and its comparison with other weights in
Theorem 6 is not proven as printed. The correction: the weights of round t are fixed by the scores
of the ranker, w_t, and f_t(w) uses *them* for every w. This f_t is convex, its value and
subgradient at w_t are the ranker's, and for a separating w both are 0. :func:`slam_surrogate`
takes the scores that fix the order as `order`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import MeasureError
from rankloop.losses.base import rivals
from rankloop.losses.maxpair import MaxPairLoss
from rankloop.losses.slam import SlamLoss
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import Measure, parse

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.slam import WithinGrade

    Floats = NDArray[np.float64]


def check_measure(measure: str | Measure) -> Measure:
    """Return the measure, which must be nDCG, nDCG@k or AP: the bounds are about these."""
    wanted = parse(measure)
    known = wanted.name in ("nDCG", "AP") and not wanted.parameters
    if not known or (wanted.name == "AP" and wanted.cutoff is not None):
        raise MeasureError(f"the bounds cover nDCG, nDCG@k and AP; found {wanted}")
    return wanted


def grades_for(measure: Measure, grades: ArrayLike) -> Floats:
    """Return the grades as a measure uses them: 0 and 1 for AP; unjudged ones stay below 0."""
    y = np.asarray(grades, np.float64)
    return np.where(y > 0, 1.0, y) if measure.name == "AP" else y


def data_for(measure: str | Measure, data: QueryDataset) -> QueryDataset:
    """Return the data with grades as a measure sees them."""
    return replace(data, y=grades_for(check_measure(measure), data.y))


def slam_weights(
    grades: ArrayLike,
    measure: str | Measure,
    order: ArrayLike,
    within_grade: WithinGrade = "score",
) -> Floats:
    """Return v_i of each document: eq. 10 (AP), 11 (nDCG) or 24 (nDCG@k).

    Documents count by grade, best first, and inside a grade by `order`, highest first, or all get
    the mean. They add up to 1, or are all 0 if no document is relevant.

    >>> slam_weights([0, 1, 1], "AP", [0.0, 0.0, 0.0]).tolist()
    [0.0, 0.5, 0.5]
    """
    wanted = check_measure(measure)
    y = np.maximum(grades_for(wanted, grades), 0.0)  # unjudged documents have no gain either
    loss = SlamLoss(wanted, within_grade=within_grade)
    return loss.weights(np.asarray(order, np.float64), y)


def weight_ratio(grades: ArrayLike, measure: str | Measure) -> float:
    """Return v_max of one query: the largest v over the smallest one above 0; at least 1."""
    v = slam_weights(grades, measure, np.zeros(np.size(grades)))
    v = v[v > 0]
    return float(v.max() / v.min()) if len(v) else 1.0


def least_weight(data: QueryDataset, measure: str | Measure) -> float:
    """Return v_min: the least v above 0 of any query; 1 if no document is relevant."""
    weights = (slam_weights(query.y, measure, np.zeros(len(query.y))) for query in data)
    return min((float(v[v > 0].min()) for v in weights if v.any()), default=1.0)


def excesses(scores: ArrayLike, grades: ArrayLike) -> Floats:
    """Return, for each document, the highest score of a lower grade minus its own.

    It is minus infinity if no judged document has a lower grade, and for unjudged documents. A
    value of at least 0 is a mistake, ties included. O(m log m).
    """
    s, y = np.asarray(scores, np.float64), np.asarray(grades, np.float64)
    result = np.full(len(y), -np.inf)
    judged = y >= 0
    if judged.any():
        s = s[judged]
        k = rivals(s, y[judged])
        result[judged] = np.where(k >= 0, s[k] - s, -np.inf)
    return result


def is_mistake(scores: ArrayLike, grades: ArrayLike) -> bool:
    """Return whether some document scores no more than one of a lower grade."""
    return bool(excesses(scores, grades).max(initial=-np.inf) >= 0)


def slam_surrogate(
    scores: ArrayLike,
    grades: ArrayLike,
    measure: str | Measure = "nDCG",
    order: ArrayLike | None = None,
    within_grade: WithinGrade = "score",
) -> float:
    """Return sum_i v_i max(0, 1 + max_{j: R_j < R_i} s_j - s_i) (eq. 9).

    order : the scores that fix v inside a grade; default: `scores` themselves, as the paper says,
        which gives the least value. The ranker's own scores give f_t of the regret bound.
    within_grade : the ranker's; see :class:`rankloop.Slam`
    """
    y = grades_for(check_measure(measure), grades)
    v = slam_weights(y, measure, scores if order is None else order, within_grade)
    return float(v @ np.maximum(0.0, 1.0 + excesses(scores, y)))


def worst_slam_surrogate(
    scores: ArrayLike, grades: ArrayLike, measure: str | Measure = "nDCG"
) -> float:
    """Return the largest eq. 9 over all orders inside grades: at least f_t of any ranker."""
    return slam_surrogate(scores, grades, measure, -np.asarray(scores, np.float64))


def max_pair_surrogate(scores: ArrayLike, grades: ArrayLike) -> float:
    """Return the largest max(0, 1 + s_j - s_i) over pairs R_i > R_j (eq. 27)."""
    return MaxPairLoss().value(np.asarray(scores, np.float64), np.asarray(grades, np.float64))


def measure_losses(data: QueryDataset, scores: ArrayLike, measure: str | Measure) -> Floats:
    """Return 1 - measure of each query; 0 if no document is relevant, as nothing can be lost."""
    wanted = check_measure(measure)
    return np.nan_to_num(1.0 - evaluate(data, scores, wanted).result(wanted).values, nan=0.0)
