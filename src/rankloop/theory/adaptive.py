"""The bound on the mix loss of an adaptive ranker, over every stretch of queries.

With weights w_k before a query and losses l_k, the mix loss is -log sum_k w_k exp(-l_k): what a
Bayesian who holds these weights pays. Each query multiplies w_k by exp(-l_k), makes the sum 1, and
leaves at least (1 - share) of it; at the start of a stretch an expert has at least share / K. So
over the queries r .. s, for every expert k that lives through them,

    sum mix loss <= sum l_k + log(K / share)
                    + (s - r) log(1 / (1 - share)) + starts log(1 / (1 - new)),

`starts` being how often an expert started in between, which takes the share `new` from the others.
An expert that stops only helps: its weight goes to those that stay.

What this does not cover: the list that is shown. It is ranked by the weighted sum of standardised
scores, and no bound on its nDCG follows from one on the mix loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.ensembles.cohort import NEW_SHARE
from rankloop.rankers.ensembles.weighing import SHARE, are_logits, by_order, losses_of
from rankloop.theory.result import Bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.ensembles.adaptive import Adaptive
    from rankloop.rankers.ensembles.experts import Experts

    Floats = NDArray[np.float64]


def stretch_bound(expert_loss: float, experts: int, queries: int, starts: int) -> Bound:
    """Return the bound on the mix loss of a stretch of queries.

    Parameters
    ----------
    expert_loss : the loss over the stretch of an expert that lives through it
    experts : how many there are when it begins
    queries : its length
    starts : how many experts start in it

    Examples
    --------
    >>> bound = stretch_bound(100.0, experts=8, queries=200, starts=10)
    >>> {name: round(value, 2) for name, value in bound.terms.items()}
    {'the expert': 100.0, 'finding it': 8.99, 'shares': 0.2, 'new experts': 0.05}
    """
    terms = {
        "the expert": expert_loss,
        "finding it": math.log(experts / SHARE),
        "shares": (queries - 1) * -math.log1p(-SHARE),
        "new experts": starts * -math.log1p(-NEW_SHARE),
    }
    quantities = {"K": float(experts), "share": SHARE, "new share": NEW_SHARE}
    return Bound("Mix loss of a stretch", sum(terms.values()), terms, quantities)


@dataclass(frozen=True, eq=False)
class TrackedExperts:
    """The losses of an adaptive ranker along a stream.

    Attributes
    ----------
    mix : (n,) the mix loss of each query
    losses : for each query, the loss of every expert that lived, by its birth and what it keeps
    counts : (n,) how many experts there were before each query
    starts : (n,) how many experts started just before each query
    tells : (n,) whether a query said anything about the order of its documents
    """

    mix: Floats
    losses: list[dict[tuple[int, float, int], float]]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    tells: NDArray[np.bool_]

    def bound(self, first: int, end: int) -> Bound:
        """Return the bound over the queries first .. end - 1, for the best expert of them."""
        living = set.intersection(*(set(losses) for losses in self.losses[first:end]))
        if not living:
            raise DataError("no expert lives through these queries, so there is no bound")
        best = min(sum(losses[key] for losses in self.losses[first:end]) for key in living)
        # Shares were last given out after the last query before it that said anything.
        given = np.flatnonzero(self.tells[:first])
        starts = int(self.starts[given[-1] + 1 if len(given) else 0 : end].sum())
        return stretch_bound(best, int(self.counts[first]), end - first, starts)


def track_experts(ranker: Adaptive, data: QueryDataset) -> TrackedExperts:
    """Run a copy of an adaptive ranker over the queries in order, and record what its experts lose.

    Queries that say nothing about the order of their documents cost nothing.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.ensembles.adaptive import Adaptive
    >>> from rankloop.rankers.online.newton import NewtonXENDCG
    >>> data = separable(100, np.random.default_rng(0), n_features=4).data
    >>> tracked = track_experts(Adaptive(NewtonXENDCG()), data)
    >>> float(tracked.mix[40:90].sum()) <= tracked.bound(40, 90).value
    True
    """
    if ranker.is_fitted:
        raise DataError("give a ranker that has learnt nothing yet; its experts must be known")
    player = ranker.copy().partial_fit(data.select(slice(0)))
    mix, losses, counts, starts, tells = [], [], [], [], []
    births: set[tuple[int, float, int]] = set()
    for number in range(len(data)):
        query = data.select(slice(number, number + 1))
        experts = player._experts
        found = _losses(player, experts, query)
        own = [0.0 if math.isnan(loss) else loss for loss in found]
        keys = _keys(experts)
        least = min(own)
        weighed = zip(experts.weights.tolist(), own, strict=True)
        total = sum(weight * math.exp(least - loss) for weight, loss in weighed)
        mix.append(least - math.log(total))
        losses.append(dict(zip(keys, own, strict=True)))
        counts.append(len(experts))
        starts.append(len(set(keys) - births) if births else 0)
        tells.append(not math.isnan(found[0]))
        births |= set(keys)
        player.partial_fit(query)
    return TrackedExperts(
        np.array(mix), losses, np.array(counts), np.array(starts), np.array(tells)
    )


def _keys(experts: Experts) -> list[tuple[int, float, int]]:
    """Return what tells experts from each other: when they started, what they keep, their size."""
    return list(
        zip(experts.births.tolist(), experts.keeps.tolist(), experts.sizes.tolist(), strict=True)
    )


def _losses(player: Adaptive, experts: Experts, query: QueryDataset) -> list[float]:
    scores = np.array([member._score_rows(query.X, query.offsets) for member in player.members_])
    scores = scores.astype(np.float32)
    if not are_logits(player.members_[0]):
        scores = by_order(scores, query.offsets)
    return list(losses_of(experts, player._queries(query), scores)[0].tolist())
