"""The losses of experts on queries, and the weights that follow from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.online.xendcg import OnlineXENDCG
from rankloop.rankers.wrappers.prepared import OnlinePrepared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.ensembles.experts import Experts
    from rankloop.rankers.online.base import OnlineRanker, Queries

    Floats = NDArray[np.float64]

SHARE = 0.001
"""The share of all weight that goes to all experts alike after each query."""


def weigh(
    experts: Experts, queries: Queries, scores: Rows, logits: bool
) -> tuple[Floats, Experts, Floats]:
    """Rank queries that come after each other, and let the experts' weights follow their losses.

    For each query, w_k <- w_k exp(-loss_k) / sum, then w_k <- (1 - SHARE) w_k + SHARE / K. The loss
    is that of :func:`losses_of`, for `beliefs` always of scores :func:`by_order`.

    Parameters
    ----------
    scores : (M, documents) of the members, before they learnt from these queries
    logits : whether the size of scores says how sure a member is

    Returns
    -------
    the scores of all together, the experts with their new weights, and their beliefs after each
    query (queries x experts)
    """
    weights, beliefs = experts.weights.copy(), experts.beliefs.copy()
    history = np.empty((queries.n, len(experts)))
    mixed = _core.weigh_experts(
        scores,
        *_judged(queries),
        seats=experts.seats,
        weights=weights,
        beliefs=beliefs,
        history=history,
        logits=logits,
        share=SHARE,
    )
    return mixed, replace(experts, weights=weights, beliefs=beliefs), history


def mix(scores: Floats, experts: Experts, offsets: Offsets) -> Floats:
    """Return the scores of all members (M, documents) together, by the weights of the experts."""
    return _core.mix_experts(scores, offsets, experts.seats, experts.weights)


def losses_of(experts: Experts, queries: Queries, scores: Rows) -> Floats:
    """Return the loss of each query and expert, of the mean of its members' scores.

        c sum_i t_i log(t_i / rho_i),   t_i ~ 2^R_i - 1,   rho = softmax(scores)

    It is NaN for a query that says nothing about the order of its documents.

    scores : (M, documents) of the members, before they learnt from these queries
    """
    means = np.zeros((len(experts), scores.shape[1]), np.float32)
    for expert, member in experts.seats.tolist():
        means[expert] += scores[member]
    means /= experts.sizes[:, None].astype(np.float32)
    return _core.relative_losses(means, *_judged(queries))


def by_order(scores: Rows, offsets: Offsets) -> Rows:
    """Return scores of one size, which say only where documents are, not how sure the ranker is."""
    rankers, documents = scores.shape
    starts = (documents * np.arange(rankers))[:, None] + offsets[:-1]
    rows = np.append(starts.ravel(), rankers * documents)  # all rankers, one after the other
    scaled = _core.standardise(scores.astype(np.float64).ravel(), rows)
    return scaled.reshape(scores.shape).astype(np.float32)


def are_logits(ranker: OnlineRanker) -> bool:
    """Whether the scores of a ranker are logits, whose size says how sure it is."""
    inner: object = ranker
    while isinstance(inner, OnlinePrepared):
        inner = inner.ranker_
    return isinstance(inner, NewtonXENDCG | OnlineXENDCG)


def _judged(queries: Queries) -> tuple[Floats, Offsets, Floats | None, Floats | None]:
    """Return grades, offsets and weights; documents of weight 0 are not judged."""
    grades = queries.y
    if queries.sample_weight is not None:
        grades = np.where(queries.sample_weight > 0, grades, -1.0)
    return grades, queries.offsets, queries.sample_weight, queries.query_weight
