"""The cumulative loss of a ranker along a stream, and its bound."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.measures.measure import Measure, parse
from rankloop.rankers.online.minimax import MinimaxPerceptron
from rankloop.rankers.online.slam import Slam
from rankloop.rankers.online.solar_i import SolarI
from rankloop.rankers.online.solar_ii import SolarII
from rankloop.theory.clipped import bound_clipped_mistakes, solar_ii_factors
from rankloop.theory.levels import as_weights, exact_scores
from rankloop.theory.margin import best_margin, max_norm
from rankloop.theory.perceptron import of_data
from rankloop.theory.result import Assumption
from rankloop.theory.solar import (
    hinge_squares,
    largest_constant,
    pair_radius,
    query_radii,
    squares,
)
from rankloop.theory.surrogates import (
    check_measure,
    data_for,
    is_mistake,
    least_weight,
    max_pair_surrogate,
    measure_losses,
    slam_surrogate,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.base import OnlineRanker

    Floats = NDArray[np.float64]
    Curve = Callable[[Floats], Floats]

HAVE_BOUNDS = (Slam, MinimaxPerceptron, SolarI, SolarII)
"""The rankers that a bound of the papers covers."""

# Lengths of comparison vectors to try, in units of 1 / R_X. Length 0 gives the trivial bound: each
# mistake costs at most 1.
_LENGTHS = (0.0, *np.logspace(-4, 2, 13).tolist())


@dataclass(frozen=True, eq=False)
class Tracked:
    """One ranker along one stream.

    Attributes
    ----------
    ranker, measure : what was run and measured
    theorem : which bound
    losses : 1 - measure of each query, ranked before the ranker learnt from it
    bound : the bound on the cumulative loss after each query, for the queries so far
    assumptions : what the theorem needs
    weights : the comparison vector
    separable : whether some linear ranker ranks every query correctly; None if it was not tested
    """

    ranker: str
    measure: Measure
    theorem: str
    losses: Floats
    bound: Floats
    assumptions: tuple[Assumption, ...]
    weights: Floats
    separable: bool | None

    @property
    def loss(self) -> Floats:
        """The cumulative loss after each query."""
        return np.cumsum(self.losses)

    @property
    def holds(self) -> bool:
        """Whether every assumption holds."""
        return all(assumption.holds for assumption in self.assumptions)

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "ranker": self.ranker,
            "measure": str(self.measure),
            "theorem": self.theorem,
            "loss": float(self.losses.sum()),
            "bound": float(self.bound[-1]) if len(self.bound) else 0.0,
            "separable": self.separable,
            "assumptions": {a.text: a.holds for a in self.assumptions},
        }


def track(
    ranker: OnlineRanker,
    data: QueryDataset,
    measure: str | Measure | None = None,
    *,
    weights: ArrayLike | None = None,
) -> Tracked:
    """Run a copy of a ranker over the queries in order, and compute its bound after each.

    SLAM: :func:`slam_any_rate_bound`, with the surrogate losses of its own mistakes; minimax:
    Theorem 10, likewise; SOLAR-I and II: Theorems 2 and 4, corrected. Other rankers have no bound.

    The bounds of the papers are of rankers whose steps are not shortened. SLAM and minimax with a
    `clip` also run without it; if the two differ, their bound is the larger one of
    :mod:`rankloop.theory.clipped`. That of SOLAR-II is of the queries as its clip leaves them.

    Parameters
    ----------
    ranker : `Slam`, `MinimaxPerceptron`, `SolarI` or `SolarII`
    data : the stream, in order
    measure : nDCG, nDCG@k or AP; by default, SLAM's own measure, and nDCG for others
    weights : the comparison vector; by default, the shortest that separates the data, or, if there
        is none, the ranker's own weights with the length that gives the smallest bound

    Notes
    -----
    Cost: one pass (two with a `clip`, and for SOLAR-II), the best margin, and O(m log m) per query
    for each length tried (14); SOLAR's bounds look at every pair.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.registry import make_ranker
    >>> data = separable(100, np.random.default_rng(0)).data
    >>> tracked = track(make_ranker("minimax"), data)
    >>> tracked.theorem, tracked.holds, bool((tracked.loss <= tracked.bound).all())
    ('Theorem 10', True, True)
    """
    kind = type(ranker)
    if kind not in _BOUNDS:
        known = ", ".join(cls.__name__ for cls in _BOUNDS)
        raise DataError(f"no loss bound is known for {kind.__name__}; there is one for {known}")
    if measure is None:
        measure = ranker.measure if isinstance(ranker, Slam) else "nDCG"
    wanted = check_measure(measure)
    player = copy.deepcopy(ranker)
    scores = player.predict_then_learn(data)
    theorem, curve, needs = _BOUNDS[kind](ranker, data, wanted, scores.astype(np.float64))
    if isinstance(ranker, Slam | MinimaxPerceptron) and _is_clipped(ranker, player, data, scores):
        theorem, curve = f"{theorem}, clipped", _clipped(ranker, data, curve)
    separable = None
    if weights is None:
        u, separable = _choose(player, data_for(wanted, data), data, curve)
    else:
        u = as_weights(data, weights)
    assumptions = (
        *of_data(data),
        Assumption("the ranker starts from nothing", not ranker.is_fitted),
        Assumption("the last weights rank, not their mean", not getattr(ranker, "average", False)),
        *needs,
    )
    losses = measure_losses(data, scores.astype(np.float64), wanted)
    return Tracked(kind.__name__, wanted, theorem, losses, curve(u), assumptions, u, separable)


def _is_clipped(
    ranker: Slam | MinimaxPerceptron,
    player: OnlineRanker,
    data: QueryDataset,
    scores: NDArray[np.float32],
) -> bool:
    """Return whether `clip` shortened a step of a ranker that has learnt from this stream.

    The proofs of the papers need whole steps: a mistake whose step is shortened adds less to u.w
    than it costs.
    """
    if not ranker.clip:
        return False
    free = copy.deepcopy(ranker).set_params(clip=0.0)
    same = np.array_equal(free.predict_then_learn(data), scores)
    return not (same and np.array_equal(free.last_weights_, player.last_weights_))  # type: ignore[attr-defined]


def _clipped(ranker: Slam | MinimaxPerceptron, data: QueryDataset, whole: Curve) -> Curve:
    """Return the bound with a clip, given that without one."""
    v_min = least_weight(data, ranker.measure) if isinstance(ranker, Slam) else 1.0
    first = copy.deepcopy(ranker)
    for query in data:
        if first.learn(query.X, query.y).last_weights_.any():
            break
    longest = 2 * ranker.rate * _radii_so_far(data)
    ratio = np.maximum(longest / float(np.linalg.norm(first.last_weights_)), 1.0)
    return lambda u: bound_clipped_mistakes(whole(u), ranker.clip, ratio, v_min)


def _choose(
    player: OnlineRanker, seen: QueryDataset, data: QueryDataset, curve: Curve
) -> tuple[Floats, bool]:
    """Return a comparison vector with a small bound at the end of the stream.

    The theorems hold for every vector at once, so it may be chosen after the stream was seen.
    """
    zero = np.zeros(data.n_features)
    try:
        best = best_margin(seen)
    except DataError:  # without pairs there is no loss
        return zero, True
    if best.separable and not isinstance(player, SolarII):
        return best.weights / best.margin, True
    if best.separable:
        # The bound of SOLAR-II has squares (1 - u.delta)^2, which grow again beyond 1. So another
        # length of the separating vector may have smaller ones, although it has a hinge loss.
        direction, lengths = best.weights, [length / best.margin for length in _LENGTHS]
    else:
        learnt = np.asarray(getattr(player, "last_weights_", zero), np.float64)
        direction = learnt / (np.linalg.norm(learnt) or 1.0)
        lengths = [length / (max_norm(data) or 1.0) for length in _LENGTHS]
    tried = [length * direction for length in lengths]
    return min(tried, key=lambda u: float(curve(u)[-1])), best.separable


def _slam(
    ranker: Slam, data: QueryDataset, measure: Measure, scores: Floats
) -> tuple[str, Curve, tuple[Assumption, ...]]:
    seen = data_for(measure, data)
    radii = _radii_so_far(data)

    def curve(u: Floats) -> Floats:
        f = _on_mistakes(
            seen,
            scores,
            u,
            lambda s, y, mine: slam_surrogate(s, y, measure, mine, ranker.within_grade),
        )
        slack = 2 * ranker.margin / ranker.rate
        return _quadratic(f, float(np.linalg.norm(u)) * np.sqrt(4 * radii**2 + slack))

    needs = (
        Assumption(f"the ranker learns {measure}", parse(ranker.measure) == measure),
        Assumption("its rate is constant", ranker.decay == 0),
        Assumption("its margin is above 0", ranker.margin > 0),
    )
    return "SLAM at any rate", curve, needs


def _minimax(
    ranker: MinimaxPerceptron, data: QueryDataset, measure: Measure, scores: Floats
) -> tuple[str, Curve, tuple[Assumption, ...]]:
    del measure  # the bound counts mistakes, and each costs at most 1 under every measure
    radii = _radii_so_far(data)

    def curve(u: Floats) -> Floats:
        f = _on_mistakes(data, scores, u, lambda s, y, _: max_pair_surrogate(s, y))
        return _quadratic(f, float(np.linalg.norm(u)) * 2 * radii)

    return "Theorem 10", curve, (Assumption("its rate is constant", ranker.decay == 0),)


def _solar_i(
    ranker: SolarI, data: QueryDataset, measure: Measure, scores: Floats
) -> tuple[str, Curve, tuple[Assumption, ...]]:
    del scores
    slack = 1 / (2 * ranker.C)
    factor = largest_constant(data, measure, slack) * (pair_radius(data) ** 2 + slack)

    def curve(u: Floats) -> Floats:
        return factor * (u @ u + 2 * ranker.C * np.cumsum(hinge_squares(data, u)))

    return "Theorem 2, repaired", curve, ()


def _solar_ii(
    ranker: SolarII, data: QueryDataset, measure: Measure, scores: Floats
) -> tuple[str, Curve, tuple[Assumption, ...]]:
    del scores
    gamma, full = ranker.gamma, ranker.covariance == "full"
    nearer = solar_ii_factors(ranker, data) if full else np.ones(len(data))
    radius = float((query_radii(data) * nearer).max(initial=0.0))
    factor = largest_constant(data, measure, gamma, radius) * (radius**2 + gamma)

    def curve(u: Floats) -> Floats:
        return factor * (u @ u + np.cumsum(squares(data, u, nearer)) / gamma)

    name = "Theorem 4, repaired" if (nearer == 1).all() else "Theorem 4, repaired, clipped"
    return name, curve, (Assumption("its covariance is full", full),)


_BOUNDS: dict[type, Callable[..., tuple[str, Curve, tuple[Assumption, ...]]]] = {
    Slam: _slam,
    MinimaxPerceptron: _minimax,
    SolarI: _solar_i,
    SolarII: _solar_ii,
}


def _on_mistakes(
    data: QueryDataset,
    scores: Floats,
    u: Floats,
    surrogate: Callable[[Floats, Floats, Floats], float],
) -> Floats:
    """Return the cumulative surrogate loss of u over the ranker's mistakes.

    Only these rounds count in the proofs, because the ranker does not step on others. Summing over
    all rounds would also be a bound, but a larger one.
    """
    theirs = exact_scores(data, u)
    f = np.zeros(len(data))
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        if is_mistake(scores[rows], data.y[rows]):
            f[q] = surrogate(theirs[rows], data.y[rows], scores[rows])
    return np.cumsum(f)


def _radii_so_far(data: QueryDataset) -> Floats:
    """Return the largest norm of a document up to each query, as the bound must not look ahead."""
    largest = [max_norm(data.select(slice(q, q + 1))) for q in range(len(data))]
    return np.maximum.accumulate(np.array(largest, np.float64))


def _quadratic(f: Floats, b: Floats) -> Floats:
    """Return F + b sqrt(F) + b^2, which follows from x <= F + b sqrt(x)."""
    return f + b * np.sqrt(f) + b**2
