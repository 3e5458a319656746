"""Reads symmetric trees that CatBoost wrote as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.boosting.trees import Tree

_TREATMENTS = {"AsIs": True, "AsFalse": True, "AsTrue": False}
"""Whether a missing value goes where small values go; as it is, it is above no border."""


def read_catboost(record: dict[str, Any]) -> tuple[list[Tree], int, tuple[str, ...]]:
    """Return the trees of a model, the number of its features, and their names.

    A row's leaf has a bit for each level, which is 1 where the feature is above the border.
    """
    if "oblivious_trees" not in record:
        raise DataError(
            "only symmetric trees of CatBoost can be imported (grow_policy='SymmetricTree', its "
            "default)"
        )
    info = record["features_info"]
    others = sorted(key for key in info if key != "float_features" and info[key])
    if others:
        raise DataError(
            f"a CatBoost model with {others[0].replace('_', ' ')} cannot be imported; encode them "
            "as numbers before training"
        )
    scale, bias = record["scale_and_bias"]
    start = bias if isinstance(bias, list) else [bias]
    if len(start) > 1:
        raise DataError("this model has several outputs; a ranker has one score per document")
    features = {int(f["feature_index"]): f for f in info["float_features"]}
    places = {index: int(f["flat_feature_index"]) for index, f in features.items()}
    nan_left = {index: _TREATMENTS[f["nan_value_treatment"]] for index, f in features.items()}
    names = [str(f["feature_id"]) for f in sorted(features.values(), key=_place)]
    trees = [_tree(tree, float(scale), places, nan_left) for tree in record["oblivious_trees"]]
    leaf = _leaf(float(start[0]))
    given = len(set(names)) == len(names) and all(names) and not _numbered(names)
    return [leaf, *trees], len(places), tuple(names) if given else ()


def _place(feature: dict[str, Any]) -> int:
    return int(feature["flat_feature_index"])


def _numbered(names: list[str]) -> bool:
    return names == [str(j) for j in range(len(names))]


def _leaf(value: float) -> Tree:
    none = np.zeros(0, np.int64)
    return Tree(none, np.zeros(0), none, none, np.zeros(0, bool), np.array([value]), {})


def _tree(
    record: dict[str, Any], scale: float, places: dict[int, int], nan_left: dict[int, bool]
) -> Tree:
    levels, values = record["splits"], np.array(record["leaf_values"], np.float64) * scale
    if not levels:
        return _leaf(float(values[0]))
    if any(level["split_type"] != "FloatFeature" for level in levels):
        raise DataError(
            "a CatBoost model with splits on categories cannot be imported; encode them as numbers "
            "before training"
        )
    depth = len(levels)
    if len(values) != 2**depth:
        raise DataError(f"a tree of depth {depth} has {len(values)} leaves; expected {2**depth}")
    feature, threshold, left, right, missing = [], [], [], [], []
    # Nodes by level from the root, which decides the highest bit of the leaf's number.
    for level in range(depth):
        split = levels[depth - 1 - level]
        index = int(split["float_feature_index"])
        for place in range(2**level):
            feature.append(places[index])
            threshold.append(float(np.float32(split["border"])))
            missing.append(nan_left[index])
            first = 2 ** (level + 1) - 1 + 2 * place
            below = [first, first + 1] if level + 1 < depth else [~(2 * place), ~(2 * place + 1)]
            left.append(below[0])
            right.append(below[1])
    numbers = (np.array(part, np.int64) for part in (feature, left, right))
    features, lefts, rights = numbers
    return Tree(features, np.array(threshold), lefts, rights, np.array(missing), values, {})
