"""The losses of experts on queries, and the weights that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def losses_of(experts: Experts, queries: Queries, scores: Rows) -> Floats:
    """Return the loss of each query and expert, of the mean of its members' scores.

        c sum_i t_i log(t_i / rho_i),   t_i ~ 2^R_i - 1,   rho = softmax(scores)

    It is NaN for a query that says nothing about the order of its documents.

    scores : (M, documents) of the members, before they learnt from these queries
    """
    grades = queries.y
    if queries.sample_weight is not None:  # documents of weight 0 are not judged
        grades = np.where(queries.sample_weight > 0, grades, -1.0)
    given = grades, queries.offsets, queries.sample_weight, queries.query_weight
    means = np.zeros((len(experts), scores.shape[1]), np.float32)
    for expert, member in experts.seats.tolist():
        means[expert] += scores[member]
    means /= experts.sizes[:, None].astype(np.float32)
    return _core.relative_losses(means, *given)


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


def mix(
    scores: NDArray[np.floating[Any]], experts: Experts, offsets: Offsets, losses: Floats | None
) -> tuple[Floats, Floats]:
    """Return the scores of all members together, and the weights of the experts at the end.

    losses : as :func:`losses_of` returns them; each query is scored with the weights that follow
        from the losses before it. None keeps the weights
    """
    if losses is None:
        losses = np.full((len(offsets) - 1, len(experts)), np.nan)
    weights = experts.weights.copy()
    mixed = _core.adapt_queries(
        np.ascontiguousarray(scores[experts.seats[:, 1]], np.float64),
        offsets,
        losses,
        np.ascontiguousarray(experts.seats[:, 0]),
        weights,
        np.empty_like(losses),
        SHARE,
    )
    return mixed, weights


def follow(weights: Floats, losses: Floats) -> Floats:
    """Return the weights after each query (queries x experts).

    w_k <- w_k exp(-loss_k) / sum,   w_k <- (1 - SHARE) w_k + SHARE / K
    """
    history, queries = np.empty_like(losses), len(losses)
    nobody, offsets = np.empty((0, 0)), np.zeros(queries + 1, np.int64)
    of_nobody = np.empty(0, np.int64)
    _core.adapt_queries(nobody, offsets, losses, of_nobody, weights.copy(), history, SHARE)
    return history
