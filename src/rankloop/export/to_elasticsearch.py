"""The learning-to-rank plugins of Elasticsearch and OpenSearch.

The file is the body of `POST _ltr/_featureset/NAME/_createmodel`: `model/linear` with normalisers,
or `model/xgboost+json` for trees. Both plugins score in float32. A document goes left if the
threshold is above its feature, so thresholds are the next float32 above ours; where a missing value
goes is always written.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.export.plain import WeightedSum, find_leaf_values, plain_form, split_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.export.plain import Exported, Halves
    from rankloop.export.program import Program, Trees
    from rankloop.rankers.boosting.trees import Tree

    Singles = NDArray[np.float32]


def render(program: Program, name: str = "rankloop") -> str:
    """Return the body of the request that creates the model.

    >>> from rankloop.export.describe import program_of
    >>> from rankloop.rankers.batch.baselines import SingleFeature
    >>> ranker = SingleFeature().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1], group=[2])
    >>> json.loads(render(program_of(ranker, ["price", "age"])))["model"]["model"]
    {'type': 'model/linear', 'definition': {'price': 1.0, 'age': 0.0}}
    """
    form = plain_form(program, "the learning-to-rank plugin of Elasticsearch and OpenSearch")
    if isinstance(form, WeightedSum):
        model = _linear(form, program.features)
    else:
        model = _trees(form, program.features)
    body = {"model": {"name": name, "model": model}}
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


def _linear(form: WeightedSum, names: Sequence[str]) -> dict[str, object]:
    weights = dict(zip(names, form.weights.tolist(), strict=True))
    model: dict[str, object] = {"type": "model/linear", "definition": weights}
    if form.is_scaled:
        scales = zip(names, form.means.tolist(), form.deviations.tolist(), strict=True)
        model["feature_normalizers"] = {
            name: {"standard": {"mean": mean, "standard_deviation": deviation}}
            for name, mean, deviation in scales
            if deviation
        }
    return model


def _trees(form: Trees, names: Sequence[str]) -> dict[str, object]:
    splits = [_tree(tree, names) for tree in form.trees]
    definition = {"objective": "rank:pairwise", "splits": splits or [{"nodeid": 0, "leaf": 0.0}]}
    return {"type": "model/xgboost+json", "definition": definition}


def _tree(tree: Tree, names: Sequence[str]) -> dict[str, object]:
    numbers = iter(range(2 * tree.splits + 1))

    def below(node: int, depth: int) -> dict[str, object]:
        number = next(numbers)
        if node < 0:
            return {"nodeid": number, "leaf": float(tree.value[~node])}
        left, right = (
            below(int(child), depth + 1) for child in (tree.left[node], tree.right[node])
        )
        return {
            "nodeid": number,
            "depth": depth,
            "split": names[tree.feature[node]],
            "split_condition": split_below(float(tree.threshold[node])),
            "yes": left["nodeid"],
            "no": right["nodeid"],
            "missing": (left if tree.nan_left[node] else right)["nodeid"],
            "children": [left, right],
        }

    return below(0 if tree.splits else -1, 0)


def twin(content: str, names: Sequence[str], X: Singles) -> Singles:
    """Score rows as the plugins do, in float32."""
    model = json.loads(content)["model"]["model"]
    place = {name: j for j, name in enumerate(names)}
    if model["type"] == "model/linear":
        return _linear_twin(model, names, X)
    total = np.zeros(len(X), np.float32)
    for tree in model["definition"]["splits"]:
        total += find_leaf_values(tree, X, "leaf", partial(_split, place)).astype(np.float32)
    return total


def _linear_twin(model: dict[str, Any], names: Sequence[str], X: Singles) -> Singles:
    total = np.zeros(len(X), np.float32)
    normalisers = model.get("feature_normalizers", {})
    for j, name in enumerate(names):
        x = np.asarray(X[:, j], np.float32)
        if name in normalisers:
            scale = normalisers[name]["standard"]
            x = (x - np.float32(scale["mean"])) / np.float32(scale["standard_deviation"])
        total += np.float32(model["definition"][name]) * x
    return total


def _split(place: dict[str, int], node: Exported, X: Singles, rows: NDArray[np.int64]) -> Halves:
    x = X[rows, place[node["split"]]]
    known = np.float32(node["split_condition"]) > x
    left = np.where(np.isnan(x), node["missing"] == node["yes"], known)
    return left, *node["children"]
