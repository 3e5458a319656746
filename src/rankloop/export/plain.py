"""What search engines can compute for one document: a weighted sum, or a sum of trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError
from rankloop.export.program import (
    LARGEST,
    Affine,
    Apply,
    Encode,
    Inputs,
    KernelMatrix,
    LinearMap,
    Trees,
    WithinQuery,
)
from rankloop.rankers.boosting.trees import float32_above

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankloop.export.program import Node, Program
    from rankloop.rankers.boosting.trees import Tree

    Exported = dict[str, Any]  # a node of a tree, as JSON
    Halves = tuple[NDArray[np.bool_], Exported, Exported]  # which rows go left; left, right


@dataclass(frozen=True)
class WeightedSum:
    """The sum of weight (g(x) - mean) / deviation; g is the identity, or a signed logarithm.

    A deviation of 0 stands for a feature that is not scaled.
    """

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    logs: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether features are scaled first."""
        return bool(self.deviations.any())


def plain_form(program: Program, engine: str, *, logs: bool = False) -> WeightedSum | Trees:
    """Return what a program is for an engine that scores each document alone; raise if it cannot.

    logs : whether the engine can compute logarithms of features
    """
    node = _skip_rounding(program.output)
    if isinstance(node, Trees) and _is_raw(node.x):
        if any(tree.members for tree in node.trees):
            raise DataError(
                f"these trees split by categories, which {engine} cannot do; export to onnx, c or "
                "sql, or train on categories that are encoded as numbers"
            )
        return node
    if isinstance(node, LinearMap):
        weighted_sum = _as_weighted_sum(node)
        if weighted_sum is not None and (logs or not weighted_sum.logs):
            return weighted_sum
    raise DataError(f"{engine} cannot compute this {program.ranker}: {_reason(program, engine)}")


def split_below(threshold: float) -> float:
    """Return the float32 t with x < t if and only if x is at most the threshold, for float32 x."""
    return min(float32_above(threshold), LARGEST)


def find_leaf_values(
    root: Exported,
    X: NDArray[np.float32],
    leaf: str,
    split: Callable[[Exported, NDArray[np.float32], NDArray[np.int64]], Halves],
) -> NDArray[np.float64]:
    """Return the value of the leaf that each row reaches in an exported tree.

    leaf : the key of a leaf's value
    split : says which of some rows go left, and returns the left and the right child
    """
    values = np.zeros(len(X))
    waiting = [(root, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        if leaf in node:
            values[rows] = float(node[leaf])
        elif len(rows):
            left, yes, no = split(node, X, rows)
            waiting += [(yes, rows[left]), (no, rows[~left])]
    return values


def list_depth_first(tree: Tree) -> tuple[list[int], dict[int, int]]:
    """Return nodes in depth-first order, and the number of each: splits k, and leaves ~k."""
    order: list[int] = []
    waiting = [0 if tree.splits else -1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if node >= 0:
            waiting += [int(tree.right[node]), int(tree.left[node])]
    return order, {node: k for k, node in enumerate(order)}


def _as_weighted_sum(node: LinearMap) -> WeightedSum | None:
    x = _skip_rounding(node.x)
    weights = node.weights[0]
    nothing = np.zeros(len(weights))
    if _is_raw(node.x):
        return WeightedSum(weights, nothing, nothing)
    if not isinstance(x, Affine):
        return None
    below = x.x
    logs = isinstance(below, Apply) and below.function == "signed_log"
    if isinstance(below, Apply) and logs:
        below = below.x
    if not isinstance(below, Inputs):
        return None
    constant = np.isinf(x.divisor)
    return WeightedSum(
        np.where(constant, 0.0, weights),
        np.where(constant, 0.0, x.shift),
        np.where(constant, 0.0, x.divisor),
        logs,
    )


def _skip_rounding(node: Node) -> Node:
    while isinstance(node, Apply) and node.function == "float32":
        node = node.x
    return node


def _is_raw(node: Node) -> bool:
    """Whether these are the features as they are, missing values included."""
    node = _skip_rounding(node)
    if isinstance(node, Encode) and isinstance(node.x, Inputs):
        same = [c.source for c in node.columns] == list(range(node.x.width))
        plain = all(
            np.isnan(c.missing) and c.code < 0 and (c.slope, c.offset) == (1.0, 0.0)
            for c in node.columns
        )
        return same and plain
    return isinstance(node, Inputs)


def _reason(program: Program, engine: str) -> str:
    nodes = program.nodes()
    others = "export it to onnx, sql or c, which score whole lists"
    if any(isinstance(node, WithinQuery) for node in nodes):
        return (
            "its features or scores are scaled inside each query, and the engine scores one "
            f"document at a time; {others}, or train on Prepared(scale='standard')"
        )
    if any(isinstance(node, KernelMatrix) for node in nodes):
        return "it compares documents with kept rows by a kernel; export it to onnx or c"
    if any(isinstance(node, Apply) and node.function == "signed_log" for node in nodes):
        return (
            "its features are scaled by logarithms, which are not among the engine's normalisers; "
            "export it to vespa, onnx, sql or c, or train on Prepared(scale='standard')"
        )
    return (
        f"{engine} supports only weighted sums and trees of unscaled features; "
        "export it to onnx, sql or c"
    )
