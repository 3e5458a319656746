"""Which columns of which nodes a score depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.export.program import Encode, Inputs, Join, KernelMatrix, LinearMap, Products, Trees

if TYPE_CHECKING:
    from rankloop.export.program import Node, Program


def find_needed_columns(program: Program) -> dict[int, list[int]]:
    """Return, by the id of each node, the columns that the scores depend on, in order."""
    needed: dict[int, set[int]] = {id(node): set() for node in program.nodes()}
    needed[id(program.output)] = {0}
    for node in reversed(program.nodes()):
        columns = sorted(needed[id(node)])
        first = 0
        for other in node.inputs:
            if isinstance(node, Join):
                end = first + other.width
                needed[id(other)] |= {c - first for c in columns if first <= c < end}
                first = end
            else:
                needed[id(other)] |= _sources(node, columns)
    return {key: sorted(columns) for key, columns in needed.items()}


def used_features(program: Program) -> list[int]:
    """Return the features that the scores depend on."""
    needed = find_needed_columns(program)
    inputs = [node for node in program.nodes() if isinstance(node, Inputs)]
    return needed[id(inputs[0])] if inputs else []


def _sources(node: Node, columns: list[int]) -> set[int]:
    """Return the columns of its input that some columns of a node depend on."""
    if isinstance(node, Products):
        return {int(k) for c in columns for k in (node.left[c], node.right[c])}
    if isinstance(node, Encode):
        return {node.columns[c].source for c in columns}
    if isinstance(node, LinearMap):
        return {int(k) for k in np.flatnonzero(node.weights[columns].any(axis=0))}
    if isinstance(node, Trees):
        return {int(k) for tree in node.trees for k in tree.feature}
    if isinstance(node, KernelMatrix):
        return set(range(node.x.width))
    return set(columns)
