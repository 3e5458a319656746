"""Elasticsearch's own learning to rank: the body of `PUT _ml/trained_models/NAME`.

Trees are computed in double (`lte`, `default_left`), and the score becomes a float32. There are no
linear models. Every feature comes from a query; the file reads each from a field of its name, and
documents without that field have a missing value. Change these queries to your own. The score of a
query is never negative, so models of features below 0 are refused.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.export.needs import used_features
from rankloop.export.plain import WeightedSum, find_leaf_values, list_depth_first, plain_form

_ZERO = 1e-30
"""LightGBM writes thresholds of about 1e-35 beside 0."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.export.plain import Exported, Halves
    from rankloop.export.program import Program, Trees
    from rankloop.rankers.boosting.trees import Tree


def render(program: Program) -> str:
    """Return the body of the request that creates the model."""
    form = plain_form(program, "Elasticsearch's own learning to rank")
    if isinstance(form, WeightedSum):
        raise DataError(
            f"Elasticsearch's own learning to rank supports only trees, but a {program.ranker} is "
            "linear; export it to elasticsearch, for the learning-to-rank plugin"
        )
    names = list(program.features)
    _refuse_negative(form, names)
    kind = {"feature_names": names, "target_type": "regression"}
    trees = [{"tree": {**kind, "tree_structure": _structure(tree)}} for tree in form.trees]
    weights = [1.0] * len(trees)
    ensemble = {
        **kind,
        "aggregate_output": {"weighted_sum": {"weights": weights}},
        "trained_models": trees,
    }
    extractors = [_extractor(names[j]) for j in used_features(program)]
    body = {
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return json.dumps(body, indent=2, allow_nan=False) + "\n"


def _refuse_negative(form: Trees, names: Sequence[str]) -> None:
    """Raise if a feature is below 0 somewhere: a threshold below 0 has values on both sides."""
    below = {
        int(feature)
        for tree in form.trees
        for k, feature in enumerate(tree.feature)
        if k not in tree.members and tree.threshold[k] < -_ZERO
    }
    if below:
        shown = ", ".join(repr(names[j]) for j in sorted(below)[:5])
        raise DataError(
            "Elasticsearch gets features as scores of queries, which must not be negative, but "
            f"{len(below)} of these {len(names)} features have values below 0: {shown}; train on "
            "these features plus a constant, or export to elasticsearch, for the "
            "learning-to-rank plugin"
        )


def _extractor(name: str) -> dict[str, object]:
    script = {"source": "doc[params.field].value", "params": {"field": name}}
    query = {"script_score": {"query": {"exists": {"field": name}}, "script": script}}
    return {"query_extractor": {"feature_name": name, "query": query}}


def _structure(tree: Tree) -> list[dict[str, object]]:
    order, number = list_depth_first(tree)
    return [
        {
            "node_index": number[node],
            "decision_type": "lte",
            "threshold": float(tree.threshold[node]),
            "split_feature": int(tree.feature[node]),
            "left_child": number[int(tree.left[node])],
            "right_child": number[int(tree.right[node])],
            "default_left": bool(tree.nan_left[node]),
        }
        if node >= 0
        else {"node_index": number[node], "leaf_value": float(tree.value[~node])}
        for node in order
    ]


def twin(
    content: str,
    names: Sequence[str],  # noqa: ARG001 - nodes name features by number
    X: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Score rows as Elasticsearch does: trees in double, and the sum as a float32."""
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    total = np.zeros(len(X))
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    for weight, model in zip(weights, ensemble["trained_models"], strict=True):
        nodes = model["tree"]["tree_structure"]
        total += weight * find_leaf_values(nodes[0], X, "leaf_value", partial(_split, nodes))
    return total.astype(np.float32)


def _split(
    nodes: list[Exported], node: Exported, X: NDArray[np.float32], rows: NDArray[np.int64]
) -> Halves:
    x = X[rows, node["split_feature"]].astype(np.float64)
    left = np.where(np.isnan(x), node["default_left"], x <= node["threshold"])
    return left, nodes[node["left_child"]], nodes[node["right_child"]]
