"""C: one function without dependencies but the standard library, for one query's documents.

    int rankloop_score(const float *features, size_t documents, double *scores);

Features come row by row; NAN stands for a missing value. The function returns 0, or 1 if there is
no memory. Sums are added up in Rankloop's own order, so that linear rankers and trees give the same
bits; compile without fused multiply-add (`-ffp-contract=off`) and without `-ffast-math`.

Features are floats. Where the model has categories or dates, the source has functions that make
these floats of the user's own values:

    float rankloop_category(size_t feature, const char *text);  UTF-8, NULL if missing
    float rankloop_date(long long microseconds);                since 1970 in UTC
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.export.c_helpers import ALWAYS, HELPERS
from rankloop.export.c_inputs import input_functions
from rankloop.export.program import (
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
    from collections.abc import Callable, Iterable
    from typing import SupportsFloat

    from rankloop.export.program import Node, Program


def render(program: Program) -> str:
    """Return a program as C source.

    >>> from rankloop.export.describe import program_of
    >>> from rankloop.rankers.online.slam import Slam
    >>> ranker = Slam().learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> "int rankloop_score(const float *features" in render(program_of(ranker))
    True
    """
    program.check_categories("C")
    return _Source(program).text()


class _Source:
    """The parts of the source: data, helpers, and one statement or loop per node."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._data: list[str] = []
        self._helpers: dict[str, None] = {}
        self._body: list[str] = []
        self._places: dict[int, str] = {}
        self._room = 0

    def text(self) -> str:
        for node in self._program.nodes():
            self._place(node)
            _RULES[type(node)](self, node)
        # A name of a feature must not end the comment that it stands in, nor start another.
        names = ", ".join(self._program.features).replace("*/", "* /").replace("/*", "/ *")
        output = self._places[id(self._program.output)]
        # All values share one allocation, so there is one thing that can fail and one to free. It
        # is never of 0 bytes, for which calloc may return NULL. Zeros, because
        # a compiler warns of a function that could read memory before it is written.
        return "\n".join(
            [
                f"/* The scores of a {self._program.ranker}, exported by Rankloop.",
                f"   Features of a document, in order: {names} */",
                *ALWAYS,
                *(HELPERS[name] for name in self._helpers),
                *self._data,
                "",
                *input_functions(self._program),
                "int rankloop_score(const float *features, size_t documents, double *scores)",
                "{",
                "    const size_t n = documents;",
                f"    double *const room = calloc(n ? n : 1, {self._room} * sizeof(double));",
                "    if (!room) return 1;",
                *("    " + line for line in self._body),
                f"    for (size_t i = 0; i < n; ++i) scores[i] = {output}[i];",
                "    free(room);",
                "    return 0;",
                "}",
                "",
            ]
        )

    def _place(self, node: Node) -> None:
        """Give a node room for n rows."""
        name = f"v{len(self._places)}"
        self._places[id(node)] = name
        self._body.append(f"double *const {name} = room + n * {self._room};")
        self._room += node.width

    def add(self, *lines: str) -> None:
        self._body += lines

    def of(self, node: Node) -> str:
        return self._places[id(node)]

    def columns(self, count: int) -> str:
        """Give room for some numbers per row."""
        self._room += count
        return f"room + n * {self._room - count}"

    def helper(self, *names: str) -> None:
        self._helpers.update(dict.fromkeys(names))

    def array(self, values: Iterable[SupportsFloat], kind: str = "double") -> str:
        """Write an array of constants; return its name."""
        name = f"c{len(self._data)}"
        texts = [number(value) for value in values] or ["0"]
        lines = [", ".join(texts[k : k + 8]) for k in range(0, len(texts), 8)]
        content = ",\n    ".join(lines)
        self._data.append(f"static const {kind} {name}[] = {{\n    {content}}};")
        return name


def number(value: SupportsFloat) -> str:
    """Write a number so that a compiler reads the same bits."""
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return str(int(value))
    value = float(value)
    if np.isnan(value):
        return "NAN"
    return repr(value) if np.isfinite(value) else ("-" if value < 0 else "") + "INFINITY"


def _inputs(c: _Source, node: Inputs) -> None:
    v = c.of(node)
    c.add(f"for (size_t k = 0; k < n * {node.width}; ++k) {v}[k] = features[k];")


def _apply(c: _Source, node: Apply) -> None:
    function = {
        "float32": "to_single",
        "signed_log": "signed_log",
        "tanh": "tanh",
        "sin": "sin",
        "cos": "cos",
    }[node.function]
    if function in HELPERS:
        c.helper(function)
    v, x = c.of(node), c.of(node.x)
    c.add(f"for (size_t k = 0; k < n * {node.width}; ++k) {v}[k] = {function}({x}[k]);")


def _affine(c: _Source, node: Affine) -> None:
    v, x, w = c.of(node), c.of(node.x), node.width
    shift, divisor = c.array(node.shift), c.array(node.divisor)
    c.add(
        f"for (size_t i = 0; i < n; ++i) for (size_t j = 0; j < {w}; ++j)",
        f"    {v}[i * {w} + j] = ({x}[i * {w} + j] - {shift}[j]) / {divisor}[j];",
    )


def _within(c: _Source, node: WithinQuery) -> None:
    c.helper(f"query_{node.how}")
    scratch = f", {c.columns(2)}" if node.how == "rank" else ""
    c.add(f"query_{node.how}({c.of(node.x)}, n, {node.width}, {c.of(node)}{scratch});")


def _products(c: _Source, node: Products) -> None:
    v, x, w = c.of(node), c.of(node.x), node.width
    left, right = c.array(node.left, "int"), c.array(node.right, "int")
    row = f"{x} + i * {node.x.width}"
    c.add(
        f"for (size_t i = 0; i < n; ++i) for (size_t j = 0; j < {w}; ++j)",
        f"    {v}[i * {w} + j] = ({row})[{left}[j]] * ({row})[{right}[j]];",
    )


def _encode(c: _Source, node: Encode) -> None:
    v, x, w = c.of(node), c.of(node.x), node.width
    c.add("for (size_t i = 0; i < n; ++i) {")
    for j, column in enumerate(node.columns):
        to, value = f"{v}[i * {w} + {j}]", f"{x}[i * {node.x.width} + {column.source}]"
        missing = number(column.missing)
        if column.code >= 0:
            c.add(f"    {to} = {value} == {column.code} ? {number(column.slope)} : 0;")
        else:
            c.helper("limited")
            given = (column.offset, column.slope, column.low, column.high)
            numbers = ", ".join(map(number, given))
            c.add(f"    {to} = limited({value}, {numbers}, {missing});")
    c.add("}")


def _join(c: _Source, node: Join) -> None:
    v, w, first = c.of(node), node.width, 0
    for part in node.parts:
        x, some = c.of(part), part.width
        c.add(
            f"for (size_t i = 0; i < n; ++i) for (size_t j = 0; j < {some}; ++j)",
            f"    {v}[i * {w} + {first} + j] = {x}[i * {some} + j];",
        )
        first += some


def _linear(c: _Source, node: LinearMap) -> None:
    v, x, w, d = c.of(node), c.of(node.x), node.width, node.x.width
    # The helper adds up in as many lanes as the compiled core; a single sum would round otherwise.
    product = {32: "dot_single", 16: "dot_wide", 1: "dot_plain"}[node.lanes]
    c.helper(product)
    weights, bias = c.array(node.weights.ravel()), c.array(node.bias)
    c.add(
        f"for (size_t i = 0; i < n; ++i) for (size_t j = 0; j < {w}; ++j)",
        f"    {v}[i * {w} + j] = {product}({x} + i * {d}, {weights} + j * {d}, {d}) + {bias}[j];",
    )


def _trees(c: _Source, node: Trees) -> None:
    # The splits of all trees are in one array, and the leaves in another. A child of at least 0 is
    # a split, and moves on by the splits before this tree. Leaf k is ~k = -k - 1, so it moves on by
    # subtracting the leaves before this tree.
    c.helper("tree_leaf")
    splits, first_leaf = 0, 0
    rows: list[str] = []
    roots: list[int] = []
    values: list[float] = []
    words: list[int] = []
    for tree in node.trees:
        roots.append(splits if tree.splits else ~first_leaf)
        for k in range(tree.splits):
            children = [
                int(child) + splits if child >= 0 else int(child) - first_leaf
                for child in (tree.left[k], tree.right[k])
            ]
            bits = 0  # a split by a threshold; else 1 + where its set of categories starts
            if k in tree.members:
                bits = len(words) + 1
                words += _words(tree.members[k])
            cells = (tree.threshold[k], tree.feature[k], *children, bits, tree.nan_left[k])
            rows.append("{" + ", ".join(number(cell) for cell in cells) + "}")
        splits, first_leaf = splits + tree.splits, first_leaf + len(tree.value)
        values += tree.value.tolist()
    v, x, d = c.of(node), c.of(node.x), node.x.width
    nodes = f"t{len(c._data)}"
    content = ",\n    ".join(rows or ["{0, 0, 0, 0, 0, 0}"])
    c._data.append(f"static const struct split {nodes}[] = {{\n    {content}}};")
    sets, leaves, starts = (
        c.array(words or [0, 0], "unsigned"),
        c.array(values),
        c.array(roots, "int"),
    )
    c.add(
        "for (size_t i = 0; i < n; ++i) {",
        "    double sum = 0;",
        f"    for (size_t t = 0; t < {len(node.trees)}; ++t)",
        f"        sum += {leaves}[tree_leaf({nodes}, {sets}, {starts}[t], {x} + i * {d})];",
        f"    {v}[i] = sum;",
        "}",
    )


def _words(members: tuple[int, ...]) -> list[int]:
    """Return a set as its number of words and the words of its bits."""
    bits = sum(1 << member for member in members)
    words = [bits >> 32 * k & 0xFFFFFFFF for k in range((bits.bit_length() + 31) // 32)]
    return [len(words), *words]


def _kernel(c: _Source, node: KernelMatrix) -> None:
    v, x, w, d = c.of(node), c.of(node.x), node.width, node.x.width
    rows = c.array(node.rows.ravel())
    value = _kernel_text(c, parse_kernel(node.kernel), d)
    c.add(
        f"for (size_t i = 0; i < n; ++i) for (size_t j = 0; j < {w}; ++j) {{",
        f"    const double *const a = {x} + i * {d}, *const b = {rows} + j * {d};",
        f"    {v}[i * {w} + j] = {value};",
        "}",
    )


def _kernel_text(c: _Source, kernel: kernels.Kernel, d: int) -> str:
    if isinstance(kernel, kernels.Sum | kernels.Product):
        sign = "+" if isinstance(kernel, kernels.Sum) else "*"
        return f"({_kernel_text(c, kernel.left, d)} {sign} {_kernel_text(c, kernel.right, d)})"
    if isinstance(kernel, kernels.RBF):
        c.helper("squared_distance")
        return f"exp(-squared_distance(a, b, {d}) / {number(2 * kernel.sigma2)})"
    if isinstance(kernel, kernels.ChiSquared):
        c.helper("chi_distance")
        return f"exp(-{number(kernel.gamma)} * chi_distance(a, b, {d}))"
    c.helper("dot_plain")
    if isinstance(kernel, kernels.Linear):
        return f"dot_plain(a, b, {d})"
    assert isinstance(kernel, kernels.Polynomial)
    base = f"{number(kernel.scale)} * dot_plain(a, b, {d}) + {number(kernel.offset)}"
    return f"pow({base}, {kernel.degree})"


_RULES: dict[type[Node], Callable[..., None]] = {
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
