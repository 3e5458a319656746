"""ONNX: one graph for one query's documents, written in double, for ONNX Runtime.

The input `features` is a float32 matrix, NaN where a value is missing; the output `scores` has one
double per document. Categories are a second input, `categories`, of their texts, where any text
that the model does not know stands for a missing value, such as the empty one; and dates a third,
`dates`, in microseconds since 1970 in UTC, where the smallest int64 (NumPy's NaT) is missing. The
model's properties `features`, `categories` and `dates` name the columns of each input. Trees are a
`TreeEnsemble` (ai.onnx.ml 5), which adds them up in order when it uses one thread.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import MissingExtraError
from rankloop.export.onnx_trees import add_trees
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
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from onnx import NodeProto, TensorProto

    from rankloop.export.program import Node, Program

_OPSET, _ML_OPSET, _IR = 18, 5, 9


def engine() -> ModuleType:
    """Import the package onnx, or say what to install."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "onnx", "exporting to ONNX") from None
    return onnx


def render(program: Program) -> bytes:
    """Return a program as the bytes of an ONNX model."""
    onnx = engine()
    program.check_categories("ONNX")
    graph = Graph(onnx, program)
    for node in program.nodes():
        graph.values[id(node)] = _RULES[type(node)](graph, node)
    graph.add("Reshape", graph.of(program.output), graph.constant([-1], np.int64))
    graph.nodes[-1].output[0] = "scores"
    helper, kinds = onnx.helper, onnx.TensorProto
    groups = inputs_of(program)
    types = {"features": kinds.FLOAT, "categories": kinds.STRING, "dates": kinds.INT64}
    made = helper.make_graph(
        graph.nodes,
        "rankloop",
        [
            helper.make_tensor_value_info(name, types[name], ["n", len(places)])
            for name, places in groups.items()
        ],
        [helper.make_tensor_value_info("scores", kinds.DOUBLE, ["n"])],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="rankloop")
    model.ir_version = _IR
    named = {
        name: "\n".join(program.features[j] for j in places) for name, places in groups.items()
    }
    helper.set_model_props(model, {"ranker": program.ranker, **named})
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def inputs_of(program: Program) -> dict[str, list[int]]:
    """Return the inputs of a model, each with the features in it."""
    groups = {
        "features": program.places("number", "boolean"),
        "categories": program.places("category"),
        "dates": program.places("date"),
    }
    return {name: places for name, places in groups.items() if places}


class Graph:
    """The operators of a graph, and its constants."""

    def __init__(self, onnx: ModuleType, program: Program) -> None:
        self.onnx, self.program = onnx, program
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.values: dict[int, str] = {}
        self.numbers = itertools.count()

    def of(self, node: Node) -> str:
        """Return the name of a node's value."""
        return self.values[id(node)]

    def constant(self, values: ArrayLike, kind: DTypeLike = np.float64) -> str:
        """Add an array; return its name."""
        name = f"c{next(self.numbers)}"
        tensor = self.onnx.numpy_helper.from_array(np.asarray(values, kind), name)
        self.constants.append(tensor)
        return name

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        """Add an operator; return the name of its value."""
        name = f"v{next(self.numbers)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def add_two(self, operator: str, *inputs: str, **attributes: object) -> tuple[str, str]:
        """Add an operator that has two values; return their names."""
        first = self.add(operator, *inputs, **attributes)
        second = f"v{next(self.numbers)}"
        self.nodes[-1].output.append(second)
        return first, second

    def cast(self, x: str, kind: str) -> str:
        """Add a conversion to another type."""
        return self.add("Cast", x, to=getattr(self.onnx.TensorProto, kind))


def _inputs(g: Graph, node: Inputs) -> str:  # noqa: ARG001
    """Bring the columns of all inputs into the order of the features, as doubles."""
    groups = inputs_of(g.program)
    parts = [g.cast("features", "DOUBLE")] if "features" in groups else []
    parts += [
        _codes(g, place, g.program.columns[j].categories)
        for place, j in enumerate(groups.get("categories", ()))
    ]
    if "dates" in groups:
        days = g.add("Div", g.cast("dates", "DOUBLE"), g.constant(86_400e6))
        absent = g.add("Equal", "dates", g.constant(np.iinfo(np.int64).min, np.int64))
        single = g.cast(g.cast(days, "FLOAT"), "DOUBLE")
        parts.append(g.add("Where", absent, g.constant(np.nan), single))
    if len(parts) == 1:
        return parts[0]
    order = np.argsort([j for places in groups.values() for j in places])
    joined = g.add("Concat", *parts, axis=1)
    return g.add("Gather", joined, g.constant(order, np.int64), axis=1)


def _codes(g: Graph, place: int, categories: Sequence[str]) -> str:
    """Return the place of each text of a column among the categories, and NaN for other texts."""
    column = g.add("Gather", "categories", g.constant([place], np.int64), axis=1)
    codes = g.add(
        "LabelEncoder",
        column,
        domain="ai.onnx.ml",
        keys_strings=[*categories] or [""],
        values_floats=[float(k) for k in range(len(categories))] or [np.nan],
        default_float=np.nan,
    )
    return g.cast(codes, "DOUBLE")


def _apply(g: Graph, node: Apply) -> str:
    x = g.of(node.x)
    if node.function == "float32":
        # Clipped first, because Cast would make an infinity of a value beyond float32.
        low, high = g.constant(-LARGEST), g.constant(LARGEST)
        return g.cast(g.cast(g.add("Clip", x, low, high), "FLOAT"), "DOUBLE")
    if node.function == "cos":  # ONNX Runtime has Sin for doubles, but no Cos
        return g.add("Sin", g.add("Add", x, g.constant(np.pi / 2)))
    if node.function != "signed_log":
        return g.add({"tanh": "Tanh", "sin": "Sin"}[node.function], x)
    # log(1 + x) = log(u) x / (u - 1) with u = 1 + x, because ONNX has no log1p. Here u is
    # 1 + abs(x), so that x gives the result its sign; where u is 1, x is its own logarithm.
    one = g.constant(1.0)
    more = g.add("Add", g.add("Abs", x), one)
    logs = g.add("Div", g.add("Mul", g.add("Log", more), x), g.add("Sub", more, one))
    return g.add("Where", g.add("Equal", more, one), x, logs)


def _affine(g: Graph, node: Affine) -> str:
    return g.add(
        "Div", g.add("Sub", g.of(node.x), g.constant(node.shift)), g.constant(node.divisor)
    )


def _within(g: Graph, node: WithinQuery) -> str:
    x = g.of(node.x)
    if node.how == "rank":
        return _ranks(g, x)
    rows = g.constant([0], np.int64)
    if node.how == "standardise":
        apart = g.add("Sub", x, g.add("ReduceMean", x, rows))
        square = g.add("ReduceMean", g.add("Mul", apart, apart), rows)
        return _divide(g, apart, g.add("Sqrt", square))
    low = g.add("ReduceMin", x, rows)
    apart = g.add("Sub", x, low)
    if node.how == "centre":
        return apart
    return _divide(g, apart, g.add("Sub", g.add("ReduceMax", x, rows), low))


def _divide(g: Graph, x: str, span: str) -> str:
    """Divide where the divisor is above 0; elsewhere x is 0 already."""
    positive = g.add("Greater", span, g.constant(0.0))
    return g.add("Div", x, g.add("Where", positive, span, g.constant(1.0)))


def _ranks(g: Graph, x: str) -> str:
    """Sort all columns, find where equal values start and end, and take this back to the rows."""
    # `group` numbers the groups of equal values, and `place` the rows, both in sorted order. With
    # the first and the last place of its group, a value has `first` smaller ones and last - first
    # + 1 equal ones, so its rank is first + (last - first + 1) / 2 = (first + last + 1) / 2.
    zero, one, last = (g.constant([k], np.int64) for k in (0, 1, -1))
    rows, shape = g.constant(0, np.int64), g.add("Shape", x)
    n = g.add("Slice", shape, zero, one)
    values, order = g.add_two("TopK", x, n, axis=0, largest=0, sorted=1)
    top, others = (g.add("Slice", values, zero, end, zero) for end in (one, last))
    differs = g.add("Not", g.add("Equal", values, g.add("Concat", top, others, axis=0)))
    group = g.add("CumSum", g.cast(differs, "INT64"), rows)
    place = g.add("Sub", g.add("CumSum", g.add("Expand", one, shape), rows), one)

    def of_group(start: str, reduction: str) -> str:
        room = g.add("Expand", start, shape)
        reduced = g.add("ScatterElements", room, group, place, reduction=reduction, axis=0)
        return g.add("GatherElements", reduced, group, axis=0)

    ends = g.add("Add", g.add("Add", of_group(n, "min"), of_group(zero, "max")), one)
    half = g.add("Mul", g.constant(0.5), g.cast(ends, "DOUBLE"))
    share = g.add("Div", half, g.cast(n, "DOUBLE"))
    return g.add("ScatterElements", x, order, share, axis=0)


def _products(g: Graph, node: Products) -> str:
    x = g.of(node.x)
    left, right = (
        g.add("Gather", x, g.constant(places, np.int64), axis=1)
        for places in (node.left, node.right)
    )
    return g.add("Mul", left, right)


def _encode(g: Graph, node: Encode) -> str:
    """Encode all columns at once: numbers by slope, offset and limits, categories by their code."""
    columns = node.columns
    x = g.add("Gather", g.of(node.x), g.constant([c.source for c in columns], np.int64), axis=1)
    absent = g.add("IsNaN", x)
    known = g.add("Where", absent, g.constant(0.0), x)
    slope, offset = (
        g.constant([getattr(c, name) for c in columns]) for name in ("slope", "offset")
    )
    moved = g.add("Add", g.add("Mul", known, slope), offset)
    low, high = (g.constant([getattr(c, name) for c in columns]) for name in ("low", "high"))
    moved = g.add("Min", g.add("Max", moved, low), high)
    if any(c.code >= 0 for c in columns):
        is_code = g.constant([c.code >= 0 for c in columns], np.bool_)
        same = g.add("Equal", known, g.constant([float(c.code) for c in columns]))
        value_or_0 = g.add("Where", same, slope, g.constant(0.0))
        moved = g.add("Where", is_code, value_or_0, moved)
    return g.add("Where", absent, g.constant([c.missing for c in columns]), moved)


def _join(g: Graph, node: Join) -> str:
    return g.add("Concat", *(g.of(part) for part in node.parts), axis=1)


def _linear(g: Graph, node: LinearMap) -> str:
    product = g.add("MatMul", g.of(node.x), g.constant(node.weights.T))
    return g.add("Add", product, g.constant(node.bias)) if node.bias.any() else product


def _trees(g: Graph, node: Trees) -> str:
    return add_trees(g, node, g.of(node.x))


def _kernel(g: Graph, node: KernelMatrix) -> str:
    return _kernel_value(g, parse_kernel(node.kernel), g.of(node.x), node.rows)


def _kernel_value(g: Graph, kernel: kernels.Kernel, x: str, rows: NDArray[np.float64]) -> str:
    if isinstance(kernel, kernels.Sum | kernels.Product):
        operator = "Add" if isinstance(kernel, kernels.Sum) else "Mul"
        return g.add(
            operator,
            _kernel_value(g, kernel.left, x, rows),
            _kernel_value(g, kernel.right, x, rows),
        )
    if isinstance(kernel, kernels.ChiSquared):
        return _chi(g, kernel, x, rows)
    if isinstance(kernel, kernels.RBF):
        # |x - z|^2 = |x|^2 + |z|^2 - 2 x.z in double, around the mean, so that little cancels
        centre = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
        near, rows = g.add("Sub", x, g.constant(centre)), rows - centre
        squares = g.add("ReduceSumSquare", near, g.constant([1], np.int64))
        cross = g.add("MatMul", near, g.constant(-2 * rows.T))
        total = g.add("Add", g.add("Add", squares, g.constant((rows**2).sum(axis=1))), cross)
        return g.add("Exp", g.add("Mul", total, g.constant(-1 / (2 * kernel.sigma2))))
    dot = g.add("MatMul", x, g.constant(rows.T))
    if isinstance(kernel, kernels.Linear):
        return dot
    assert isinstance(kernel, kernels.Polynomial)
    base = g.add("Add", g.add("Mul", dot, g.constant(kernel.scale)), g.constant(kernel.offset))
    return g.add("Pow", base, g.constant(float(kernel.degree)))


def _chi(g: Graph, kernel: kernels.ChiSquared, x: str, rows: NDArray[np.float64]) -> str:
    wide = g.add("Unsqueeze", x, g.constant([1], np.int64))
    z = g.constant(rows[None])
    apart, total = g.add("Sub", wide, z), g.add("Add", wide, z)
    share = _divide(g, g.add("Mul", apart, apart), total)
    distance = g.add("ReduceSum", share, g.constant([2], np.int64), keepdims=0)
    return g.add("Exp", g.add("Mul", distance, g.constant(-kernel.gamma)))


_RULES: dict[type[Node], Callable[..., str]] = {
    Inputs: _inputs,
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
