"""New values for the leaves of trees whose splits stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.boosting.bridge import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.boosting.base import BoostedRanker
    from rankloop.rankers.boosting.objectives import Objective


def move_leaves(
    ranker: BoostedRanker,
    data: QueryDataset,
    decay: float,
    objective_of: Callable[[QueryDataset], Objective],
) -> str:
    """Return the model with leaf values moved towards a Newton step on the data."""
    booster, data = ranker.to_lightgbm(), keep_usable(data)
    if not data.n_documents:
        return text_of(booster)
    objective, scores = objective_of(data), np.zeros(data.n_documents)
    if ranker.start_ is not None:
        scores += ranker.start_._score_rows(data.X, data.offsets)
    for tree in range(booster.num_trees()):
        only: dict[str, Any] = {"start_iteration": tree, "num_iteration": 1}
        leaf = np.asarray(booster.predict(data.X, pred_leaf=True, **only)).ravel().astype(np.int64)
        objective.at(scores, tree)
        slope = np.bincount(leaf, objective.gradient)
        bend = np.bincount(leaf, objective.hessian) + ranker.lambda_l2
        for k in np.unique(leaf):
            wanted = -ranker.rate * slope[k] / max(bend[k], 1e-3)
            value = booster.get_leaf_output(tree, int(k))
            booster.set_leaf_output(tree, int(k), decay * value + (1 - decay) * wanted)
        scores += np.asarray(booster.predict(data.X, raw_score=True, **only))
    return text_of(booster)
