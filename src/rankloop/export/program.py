"""A scoring program: what a fitted ranker computes, as a small graph that every target can render.

A value is a matrix with one row per document of one query. It starts with the features, which are
float32; all arithmetic is in double, and :class:`Apply` with `float32` rounds where the ranker
rounds. A ranker is described once (`describe.py`), and a target renders these nodes, or refuses
those that its engine cannot compute.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.features.column import Kind
    from rankloop.rankers.boosting.trees import Tree

Function: TypeAlias = Literal["float32", "signed_log", "tanh", "sin", "cos"]
Within: TypeAlias = Literal["minmax", "centre", "rank", "standardise"]
FUNCTIONS: tuple[str, ...] = get_args(Function)
WITHIN: tuple[str, ...] = get_args(Within)
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Node(ABC):
    """A matrix of `width` columns, computed from other nodes."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that it is computed from."""
        return ()


@dataclass(frozen=True, eq=False)
class Inputs(Node):
    """The features of the documents, in float32; NaN where one is missing."""

    size: int

    @property
    def width(self) -> int:
        """The number of features."""
        return self.size


@dataclass(frozen=True, eq=False)
class UnaryNode(Node):
    """A node that is computed from one other, and as wide unless it says otherwise."""

    x: Node

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.x.width

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The other node."""
        return (self.x,)


@dataclass(frozen=True, eq=False)
class Apply(UnaryNode):
    """A function of each value.

    `float32` rounds to the nearest float32, of which the largest stands for all beyond it;
    `signed_log` is sign(x) log(1 + abs(x)).
    """

    function: Function


@dataclass(frozen=True, eq=False)
class Affine(UnaryNode):
    """(x - shift) / divisor, one shift and divisor per column; an infinite divisor gives 0."""

    shift: NDArray[np.float64]
    divisor: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WithinQuery(UnaryNode):
    """A map of each column that looks at all documents of the query.

    `minmax` is (x - min) / (max - min), or 0; `centre` is x - min; `rank` is the share of smaller
    values plus half the share of equal ones; `standardise` gives mean 0 and standard deviation 1,
    or 0 where all are equal.
    """

    how: Within


@dataclass(frozen=True, eq=False)
class Products(UnaryNode):
    """The products of some columns with others."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @property
    def width(self) -> int:
        """The number of products."""
        return len(self.left)


@dataclass(frozen=True)
class Column:
    """One encoded column: what it becomes where it is known, and where it is missing.

    source : the column that it comes from
    code : if at least 0, the column is `slope` where x is this number, and 0 elsewhere
    slope, offset : otherwise x becomes offset + slope x, limited to low .. high
    missing : what a missing value becomes
    """

    source: int
    missing: float
    code: int = -1
    slope: float = 1.0
    offset: float = 0.0
    low: float = -LARGEST
    high: float = LARGEST


@dataclass(frozen=True, eq=False)
class Encode(UnaryNode):
    """Columns without missing values, and with categories as numbers; exact in float32."""

    columns: tuple[Column, ...]

    @property
    def width(self) -> int:
        """The number of encoded columns."""
        return len(self.columns)


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Several matrices side by side."""

    parts: tuple[Node, ...]

    @property
    def width(self) -> int:
        """The number of all columns."""
        return sum(part.width for part in self.parts)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The parts."""
        return self.parts


@dataclass(frozen=True, eq=False)
class LinearMap(UnaryNode):
    """X weights' + bias, with one row of weights per column of the result.

    `lanes` says how Rankloop adds up: 32 sums in float32, 16 in double (`cpp/linalg/rows.hpp`), or
    1 from the first to the last. A target may add up otherwise, and then differs by rounding.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    lanes: int = 1

    @property
    def width(self) -> int:
        """The number of rows of weights."""
        return len(self.weights)


@dataclass(frozen=True, eq=False)
class Trees(UnaryNode):
    """A sum of trees, from the first to the last."""

    trees: tuple[Tree, ...]

    @property
    def width(self) -> int:
        """One column."""
        return 1


@dataclass(frozen=True, eq=False)
class KernelMatrix(UnaryNode):
    """The kernel of each document with each of some rows: one column per row.

    kernel : its text, as :func:`rankloop.rankers.parse_kernel` reads it
    """

    kernel: str
    rows: NDArray[np.float64]

    @property
    def width(self) -> int:
        """The number of rows."""
        return len(self.rows)


@dataclass(frozen=True)
class InputColumn:
    """What a feature is in the user's own table.

    kind : `number`; `boolean`, which becomes 0 or 1; `date`, a date or a moment, which becomes days
        since 1970 in UTC; or `category`, a text, which becomes its place in `categories`
    categories : the texts that the model knows
    buckets : whether other texts have codes by a hash; if not, they are missing values
    """

    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    buckets: int = 0


@dataclass(frozen=True, eq=False)
class Program:
    """What a ranker computes: `output` has one column, the scores.

    features : the names of the features, in order
    columns : what each of them is in the user's table
    single : whether the ranker's scores are float32
    ranker : the name of the ranker's class
    notes : text that a target may carry along, such as the version of the model
    """

    features: tuple[str, ...]
    columns: tuple[InputColumn, ...]
    output: Node
    single: bool
    ranker: str
    notes: dict[str, object] = field(default_factory=dict)

    def nodes(self) -> list[Node]:
        """Return all nodes once, each after those that it is computed from."""
        order: dict[int, Node] = {}

        def visit(node: Node) -> None:
            if id(node) not in order:
                for other in node.inputs:
                    visit(other)
                order[id(node)] = node

        visit(self.output)
        return list(order.values())

    def places(self, *kinds: Kind) -> list[int]:
        """Return the features of some kinds."""
        return [j for j, column in enumerate(self.columns) if column.kind in kinds]

    def check_categories(self, engine: str) -> None:
        """Raise if texts become codes by a hash, which the engine cannot compute."""
        hashed = [self.features[j] for j in self.places("category") if self.columns[j].buckets]
        if hashed:
            raise DataError(
                f"{engine} cannot compute the hash that gives codes to the rarer categories of "
                f"{', '.join(map(repr, hashed))}; train with a description in which this column "
                "has no buckets, or with a larger limit where a loop computes it, or export to "
                "json, and compute the codes as rankloop.features.hashing says"
            )

    @property
    def scores_rows_alone(self) -> bool:
        """Whether a document's score does not depend on the other documents of its query."""
        return not any(isinstance(node, WithinQuery) for node in self.nodes())

    def all_trees(self) -> Iterator[Tree]:
        """Give the trees of all ensembles."""
        for node in self.nodes():
            if isinstance(node, Trees):
                yield from node.trees
