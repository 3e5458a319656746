"""Perceptrons along a stream, at the learning rates for which their bounds are proven.

Theorems 1, 6 and 8 of Chaudhuri and Tewari are proven "after optimising over the rate". Here a
ranker is run at that rate, and its loss is compared with the bound after each round. Corollaries 2
and 7 are the same numbers for a comparison vector without loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.measures.measure import parse
from rankloop.rankers.online.perceptron import Perceptron
from rankloop.rankers.online.slam import Slam
from rankloop.theory.levels import as_weights, exact_scores
from rankloop.theory.margin import max_norm, separating_weights
from rankloop.theory.perceptron import best_rate, gradient_bound, of_data
from rankloop.theory.surrogates import (
    check_measure,
    data_for,
    measure_losses,
    slam_surrogate,
    slam_weights,
    weight_ratio,
)
from rankloop.theory.tracking import Tracked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.measures.measure import Measure

    Floats = NDArray[np.float64]


def track_slam(
    data: QueryDataset, measure: str | Measure = "nDCG", weights: ArrayLike | None = None
) -> Tracked:
    """Run Algorithm 2 at the rate of Theorem 6 (nDCG, AP) or 8 (nDCG@k), and compute the bound.

    With B = 4 m R_X^2 v_max over the whole stream and F the surrogate loss of the comparison
    vector w, the rate eta minimises (F + |w|^2 / (2 eta)) / (1 - eta B / 2): 1/B where F = 0. After
    each query the bound is that expression, with F of the steps so far. For nDCG@k the ranker
    steps only if the measure is below 1, as in Theorem 8 (`steps_on="loss"`).

    Parameters
    ----------
    data : the stream
    measure : nDCG, nDCG@k or AP
    weights : the comparison vector; default: the shortest that separates the data

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_documents=8, n_features=4).data
    >>> tracked = track_slam(data, "nDCG@3")
    >>> tracked.theorem, bool((tracked.loss <= tracked.bound).all())
    ('Theorem 8', True)
    """
    wanted = check_measure(measure)
    seen = data_for(wanted, data)
    u = separating_weights(seen) if weights is None else as_weights(data, weights)
    steep = _steepness(data, wanted)
    losses_of_u = [
        slam_surrogate(s, y, wanted, -s) for s, y in _queries(seen, exact_scores(data, u))
    ]
    norm = float(np.linalg.norm(u))
    rate = best_rate(norm * np.sqrt(steep), float(sum(losses_of_u)), steep)
    if not 0 < rate < np.inf:
        raise DataError(f"the theorem's rate is {rate}: give weights other than 0")
    ranker = Slam(str(wanted), rate=rate, steps_on="loss", clip=0.0, average=False)
    scores = ranker.predict_then_learn(data).astype(np.float64)
    f = _on_steps(seen, scores, exact_scores(data, u), wanted)
    bound = (np.cumsum(f) + norm**2 / (2 * rate)) / (1 - rate * steep / 2)
    return Tracked(
        "Slam",
        wanted,
        "Theorem 6" if wanted.cutoff is None else "Theorem 8",
        measure_losses(data, scores, wanted),
        bound,
        of_data(data),
        u,
        weights is None,
    )


def track_classification(data: QueryDataset, weights: ArrayLike | None = None) -> Tracked:
    """Run Algorithm 1, one document per round, and compute Theorem 1's bound on its mistakes.

    F + R_x |u| sqrt(F) + R_x^2 |u|^2 with F the hinge loss of u on the rounds with a mistake; for
    u without loss that is R_x^2 / margin^2 (Corollary 2). No rate has to be chosen, because the
    mistakes are the same at every rate.

    Parameters
    ----------
    data : documents in row order; grades above 0 are relevant
    weights : the comparison vector u; by default, the ranker's weights after 20 passes, with the
        length that gives the smallest bound

    Examples
    --------
    >>> X = np.array([[1.0, 0.2], [-1.0, 0.1], [2.0, -0.3], [-0.5, -0.4]])
    >>> data = QueryDataset.from_arrays(X, [1, 0, 1, 0], group=[4])
    >>> tracked = track_classification(data, [2.0, 0.0])
    >>> tracked.losses.tolist(), round(float(tracked.bound[-1]), 6)  # R_x^2 |u|^2 = 4.09 * 4
    ([1.0, 0.0, 0.0, 0.0], 16.36)
    """
    alone = QueryDataset.from_arrays(data.X, data.y, group=np.ones(data.n_documents, np.int64))
    ranker = Perceptron(clip=0.0)
    side = np.where(data.y > 0, 1.0, -1.0)
    lost = (side * ranker.predict_then_learn(alone).astype(np.float64) <= 0) & (data.y >= 0)
    norms = np.sqrt(np.square(data.X.astype(np.float64)).sum(axis=1))
    radii = np.maximum.accumulate(norms) if len(norms) else norms

    def curve(u: Floats) -> Floats:
        hinge = np.maximum(0.0, 1 - side * exact_scores(data, u))
        f = np.cumsum(np.where(lost, hinge, 0.0))
        b = radii * float(np.linalg.norm(u))
        return np.asarray(f + b * np.sqrt(f) + b**2)

    if weights is None:
        learnt = Perceptron(clip=0.0, passes=20).fit(alone).weights_
        direction = learnt / (np.linalg.norm(learnt) or 1.0)
        lengths = np.logspace(-3, 3, 25) / (radii[-1] if len(radii) and radii[-1] else 1.0)
        u = min((length * direction for length in lengths), key=lambda u: float(curve(u)[-1]))
    else:
        u = as_weights(data, weights)
    return Tracked(
        "Perceptron",
        parse("P@1"),  # of one document: whether it is classified correctly
        "Theorem 1",
        lost.astype(np.float64),
        curve(u),
        of_data(alone),
        u,
        None,
    )


def _steepness(data: QueryDataset, measure: Measure) -> float:
    """Return B = 4 m R_X^2 v_max, with min(k, m) for m under nDCG@k."""
    m = int(data.sizes.max(initial=1))
    m = m if measure.cutoff is None else min(m, measure.cutoff)
    v_max = max((weight_ratio(query.y, measure) for query in data), default=1.0)
    return gradient_bound(m, max_norm(data), v_max, 1.0)


def _on_steps(seen: QueryDataset, scores: Floats, theirs: Floats, measure: Measure) -> Floats:
    """Return the surrogate loss of a comparison vector on the rounds where the ranker steps."""
    f = np.zeros(len(seen))
    for q, ((mine, y), (other, _)) in enumerate(
        zip(_queries(seen, scores), _queries(seen, theirs), strict=True)
    ):
        v = slam_weights(y, measure, mine)
        below = np.array([mine[y < grade].max(initial=-np.inf) for grade in y])
        if (v[mine <= below] > 0).any():
            f[q] = slam_surrogate(other, y, measure, mine)
    return f


def _queries(data: QueryDataset, scores: Floats) -> list[tuple[Floats, Floats]]:
    ends = data.offsets[1:-1]
    return list(zip(np.split(scores, ends), np.split(data.y, ends), strict=True))
