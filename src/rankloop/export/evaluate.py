"""A scoring program computed in Python, one query after the other, in Rankloop's own arithmetic."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import cos, log1p, row_scores, sin
from rankloop.export.program import (
    LARGEST,
    Affine,
    Apply,
    Encode,
    Inputs,
    Join,
    KernelMatrix,
    LinearMap,
    Products,
    Trees,
    WithinQuery,
)
from rankloop.rankers.kernel import kernels
from rankloop.rankers.kernel.text import parse_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from rankloop.export.program import Column, Node, Program

    Floats = NDArray[np.float64]


def evaluate(program: Program, X: NDArray[np.generic], offsets: ArrayLike) -> Floats:
    """Return the scores of rows; the rows of query q are offsets[q]:offsets[q + 1].

    >>> from rankloop.export.describe import program_of
    >>> from rankloop.rankers.online.slam import Slam
    >>> ranker = Slam().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> bool((evaluate(program_of(ranker), np.eye(2), [0, 2]) == ranker.predict(np.eye(2))).all())
    True
    """
    scores = np.zeros(len(X))
    with np.errstate(all="ignore"):
        for first, end in pairwise(np.asarray(offsets).tolist()):
            if end > first:
                rows = np.asarray(X[first:end], np.float32).astype(np.float64)
                scores[first:end] = _compute(program, rows)[:, 0]
    return scores


def _compute(program: Program, rows: Floats) -> Floats:
    known: dict[int, Floats] = {}
    for node in program.nodes():
        if isinstance(node, Inputs):
            known[id(node)] = rows
        else:
            values = [known[id(other)] for other in node.inputs]
            known[id(node)] = _RULES[type(node)](node, *values)
    return known[id(program.output)]


def _apply(node: Apply, x: Floats) -> Floats:
    return FUNCTIONS[node.function](x)


FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "float32": lambda x: np.clip(x, -LARGEST, LARGEST).astype(np.float32).astype(np.float64),
    "signed_log": lambda x: np.copysign(log1p(np.abs(x)), x),
    "tanh": np.tanh,
    "sin": sin,
    "cos": cos,
}


def _affine(node: Affine, x: Floats) -> Floats:
    return (x - node.shift) / node.divisor


def _within(node: WithinQuery, x: Floats) -> Floats:
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
    if node.how == "centre":
        return np.asarray(x - low)
    if node.how == "minmax":
        return np.asarray((x - low) / np.where(high > low, high - low, 1.0))
    if node.how == "rank":
        smaller = (x[None, :, :] < x[:, None, :]).sum(axis=1)
        equal = (x[None, :, :] == x[:, None, :]).sum(axis=1)
        return np.asarray((smaller + 0.5 * equal) / len(x))
    all_rows = np.array([0, len(x)])
    columns = [_core.standardise(np.ascontiguousarray(column), all_rows) for column in x.T]
    return np.column_stack(columns)


def _products(node: Products, x: Floats) -> Floats:
    return x[:, node.left] * x[:, node.right]


def _encode(node: Encode, x: Floats) -> Floats:
    return np.column_stack([_column(column, x[:, column.source]) for column in node.columns])


def _column(column: Column, x: Floats) -> Floats:
    absent = np.isnan(x)
    if column.code >= 0:
        return np.where(x == column.code, column.slope, 0.0)
    moved = column.offset + column.slope * np.where(absent, 0.0, x)
    return np.where(absent, column.missing, np.clip(moved, column.low, column.high))


def _join(node: Join, *parts: Floats) -> Floats:  # noqa: ARG001
    return np.hstack(parts)


def _linear(node: LinearMap, x: Floats) -> Floats:
    if node.lanes == 32:
        narrow = np.ascontiguousarray(x, np.float32)
        columns = [row_scores(narrow, weights).astype(np.float64) for weights in node.weights]
        return np.column_stack(columns) + node.bias
    if node.lanes == 16:
        narrow = np.ascontiguousarray(x, np.float32)
        columns = [_core.row_products(narrow, weights, 1) for weights in node.weights]
        return np.column_stack(columns) + node.bias
    total = np.zeros((len(x), node.width))
    for j in range(x.shape[1]):
        total += x[:, j : j + 1] * node.weights[:, j]
    return total + node.bias


def _trees(node: Trees, x: Floats) -> Floats:
    total = np.zeros(len(x))
    for tree in node.trees:
        total += tree.value[tree.leaves(x)]
    return total[:, None]


def _kernel(node: KernelMatrix, x: Floats) -> Floats:
    return kernel_values(parse_kernel(node.kernel), x, node.rows)


def kernel_values(kernel: kernels.Kernel, x: Floats, z: Floats) -> Floats:
    """Return the kernel of every row of x with every row of z, by its definition."""
    if isinstance(kernel, kernels.Sum):
        return kernel_values(kernel.left, x, z) + kernel_values(kernel.right, x, z)
    if isinstance(kernel, kernels.Product):
        return kernel_values(kernel.left, x, z) * kernel_values(kernel.right, x, z)
    if isinstance(kernel, kernels.Linear):
        return np.asarray(x @ z.T)
    if isinstance(kernel, kernels.Polynomial):
        return np.asarray((kernel.scale * (x @ z.T) + kernel.offset) ** kernel.degree)
    apart = (x[:, None, :] - z[None, :, :]) ** 2
    if isinstance(kernel, kernels.RBF):
        return np.asarray(np.exp(-apart.sum(axis=2) / (2 * kernel.sigma2)))
    assert isinstance(kernel, kernels.ChiSquared)
    total = x[:, None, :] + z[None, :, :]
    shares = apart / np.where(total > 0, total, 1.0)
    return np.asarray(np.exp(-kernel.gamma * shares.sum(axis=2)))


_RULES: dict[type[Node], Callable[..., Floats]] = {
    Apply: _apply,
    Affine: _affine,
    WithinQuery: _within,
    Products: _products,
    Encode: _encode,
    Join: _join,
    LinearMap: _linear,
    Trees: _trees,
    KernelMatrix: _kernel,
}
