"""Parts of models, as plain values that tables and JSON show."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Ranker
    from rankloop.rankers.online.base import OnlineRanker

    Parts = list[dict[str, Any]]  # parts of a model, the most important first

R = TypeVar("R", bound="OnlineRanker")
SUPPORTS = 20  # number of documents shown


def weight_parts(ranker: Ranker, weights: NDArray[np.float64]) -> Parts:
    """Return the weight of each feature, the largest absolute value first."""
    return [
        {"feature": ranker._feature_name(int(j)), "weight": float(weights[j])}
        for j in np.argsort(-np.abs(weights), kind="stable")
    ]


def support_parts(
    ranker: Ranker, rows: NDArray[np.float32], coefficients: NDArray[np.float64]
) -> Parts:
    """Return the most important documents, with their coefficients and features."""
    most = np.argsort(-np.abs(coefficients), kind="stable")[:SUPPORTS]
    names = [ranker._feature_name(j) for j in range(ranker.n_features_in_)]
    return [
        {
            "document": int(k),
            "coefficient": float(coefficients[k]),
            "features": dict(zip(names, rows[k].tolist(), strict=True)),
        }
        for k in most
    ]


def with_feature_names(ranker: R, names: Iterable[str]) -> R:
    """Return a copy of a ranker that calls its features by these names."""
    new = ranker.copy()
    new.feature_names_in_ = tuple(names)
    return new


def member_parts(members: Sequence[Ranker], weights: NDArray[np.float64]) -> Parts:
    """Return the members by weight, each with its ten most important features."""
    return [
        {
            "member": repr(members[k]),
            "weight": float(weights[k]),
            "features": _features(members[k]),
        }
        for k in np.argsort(-weights, kind="stable")
    ]


def _features(member: Ranker) -> list[str]:
    """Return the most important features, if the member can explain itself."""
    try:
        parts = member.explain()
    except DataError:
        return []
    if parts and isinstance(parts[0].get("features"), list):  # members of its own, in turn
        turns = zip_longest(*(part["features"] for part in parts))
        known = dict.fromkeys(name for turn in turns for name in turn if name is not None)
        return list(known)[:10]
    return [part["feature"] for part in parts[:10] if "feature" in part]
