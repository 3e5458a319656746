"""A sum of trees as one `TreeEnsemble` of ONNX (ai.onnx.ml 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from rankloop.export.program import Trees
    from rankloop.export.to_onnx import Graph

_AT_MOST, _MEMBER = 0, 6  # BRANCH_LEQ and BRANCH_MEMBER
_SUM = 1


def add_trees(graph: Graph, node: Trees, x: str) -> str:
    """Add a sum of trees to a graph, in double."""
    if not node.trees:
        return graph.add("MatMul", x, graph.constant(np.zeros((node.x.width, 1))))
    return graph.add("TreeEnsemble", x, domain="ai.onnx.ml", **_attributes(graph, node))


def _attributes(graph: Graph, node: Trees) -> dict[str, object]:
    features: list[int] = []
    splits: list[float] = []
    modes: list[int] = []
    nan_left: list[int] = []
    members: list[float] = []
    children: dict[str, list[int]] = {"true": [], "false": []}
    are_leaves: dict[str, list[int]] = {"true": [], "false": []}
    roots: list[int] = []
    values: list[float] = []
    for tree in node.trees:
        first, first_leaf = len(features), len(values)
        roots.append(first)
        for side, kids in (("true", tree.left), ("false", tree.right)):
            below = kids if tree.splits else np.array([-1])  # a single leaf is a split into twins
            are_leaves[side] += (below < 0).astype(int).tolist()
            children[side] += np.where(below < 0, first_leaf + ~below, first + below).tolist()
        features += tree.feature.tolist() or [0]
        splits += tree.threshold.tolist() or [0.0]
        nan_left += tree.nan_left.astype(int).tolist() or [0]
        for split in range(max(tree.splits, 1)):
            modes.append(_MEMBER if split in tree.members else _AT_MOST)
            if split in tree.members:
                members += [*map(float, tree.members[split]), np.nan]
        values += tree.value.tolist()

    def tensor(content: ArrayLike, of: DTypeLike) -> object:
        return graph.onnx.numpy_helper.from_array(np.asarray(content, of))

    optional = {"membership_values": tensor(members, np.float64)} if members else {}
    return {
        "n_targets": 1,
        "aggregate_function": _SUM,
        "tree_roots": roots,
        "nodes_featureids": features,
        "nodes_splits": tensor(splits, np.float64),
        "nodes_modes": tensor(modes, np.uint8),
        "nodes_missing_value_tracks_true": nan_left,
        "nodes_truenodeids": children["true"],
        "nodes_trueleafs": are_leaves["true"],
        "nodes_falsenodeids": children["false"],
        "nodes_falseleafs": are_leaves["false"],
        "leaf_targetids": [0] * len(values),
        "leaf_weights": tensor(values, np.float64),
        **optional,
    }
