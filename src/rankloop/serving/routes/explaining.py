"""What each computed feature adds to each score, by the names that people gave the features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.serving.policy import score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.features.definitions import Definitions
    from rankloop.rankers.base import Ranker


def explain_scores(
    model: Ranker, X: NDArray[np.float32], names: tuple[str, ...], definitions: Definitions
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the names of features, and what each adds to the score of each item.

    What a feature adds is how much the score falls when all its columns are replaced by what is
    usual in this list: the mean of numbers, and no category. Cost: one scoring pass per feature.

    Parameters
    ----------
    names : of the columns of X
    definitions : of the features; a feature may have several columns
    """
    scores = score(model, X, names)
    place = {name: column for column, name in enumerate(names)}
    added = np.zeros((len(X), len(definitions.features)))
    for j, feature in enumerate(definitions.features):
        changed = X.copy()
        for column in feature.columns:
            at = place.get(column.name)
            if at is not None:
                changed[:, at] = np.nan if column.kind == "category" else _mean(X[:, at])
        added[:, j] = scores - score(model, changed, names)
    return tuple(feature.name for feature in definitions.features), added


def _mean(values: NDArray[np.float32]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if len(known) else float("nan")
