"""SQL: one SELECT for PostgreSQL, DuckDB or SQLite, in stages that each add columns.

It reads the user's own columns: texts of categories, dates and booleans too (`sql_inputs.py`). Maps
inside queries are window functions. Values are double precision, and rounded to float32 where the
ranker rounds. NULL and NaN are missing values. Models with hundreds of columns are written in
another form (`sql_long.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankloop.exceptions import DataError
from rankloop.export.needs import find_needed_columns
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
from rankloop.export.sql_dialect import DIALECTS, Dialect, quote
from rankloop.export.sql_long import render_long

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankloop.export.program import Column, Node, Program

    Columns: TypeAlias = dict[int, str]

_TOGETHER = 50  # terms of a sum in one stage, because engines limit the depth of expressions
_WIDE = 150  # columns of all nodes, from which a row for each value is better


@dataclass(frozen=True)
class SqlNames:
    """What the table and its columns are called.

    table : the table, or view, with one row per document of a query
    query, document : the columns of the ids of queries and documents
    """

    table: str = "documents"
    query: str = "qid"
    document: str = "doc"


def render(program: Program, dialect: str = "postgresql", names: SqlNames | None = None) -> str:
    """Return a SELECT with the columns `query`, `document` and `score`.

    >>> from rankloop.export.describe import program_of
    >>> from rankloop.rankers.batch.baselines import SingleFeature
    >>> ranker = SingleFeature().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1], group=[2])
    >>> print(render(program_of(ranker, ["price", "age"]), "sqlite"))
    WITH s0 AS MATERIALIZED (SELECT "qid" AS q, "doc" AS k, \
(CAST("price" AS DOUBLE PRECISION) * 536870913e0 - (CAST("price" AS DOUBLE PRECISION) * \
536870913e0 - CAST("price" AS DOUBLE PRECISION))) AS c0 FROM "documents"),
    s1 AS MATERIALIZED (SELECT q, k, c0, 0e0 + 1e0 * c0 AS c1 FROM s0)
    SELECT q AS "qid", k AS "doc", c1 AS score FROM s1
    """
    if dialect not in DIALECTS:
        raise DataError(f"the dialect must be one of {', '.join(DIALECTS)}; found {dialect!r}")
    program.check_categories("SQL")
    for node in program.nodes():
        if isinstance(node, KernelMatrix):
            _refuse_kernel(program, node)
    query = render_long if _is_wide(program) else _render_columns
    return query(program, Dialect(dialect), names or SqlNames())


def _render_columns(program: Program, dialect: Dialect, names: SqlNames) -> str:
    return _Query(program, dialect, names).text()


def _is_wide(program: Program) -> bool:
    """Whether a column for each value would exceed what databases allow, or plan in seconds."""
    needed = find_needed_columns(program)
    nodes = program.nodes()
    # Trees read only some features, and a column of its own is the best form for each of these.
    others = {id(other) for n in nodes if not isinstance(n, Trees) for other in n.inputs}
    computed = [n for n in nodes if not isinstance(n, Inputs) or id(n) in others]
    return sum(len(needed[id(node)]) for node in computed) > _WIDE


def _refuse_kernel(program: Program, node: KernelMatrix) -> None:
    raise DataError(
        f"this {program.ranker} compares a document with {node.width:,} kept rows by a kernel, "
        "which is too much for an SQL expression; export it to onnx or c, or train a linear "
        "ranker on Lifted(features='fourier(rbf(1),200)'), which SQL can compute"
    )


class _Query:
    """The stages of a query; each selects the columns that later ones need, and new ones."""

    def __init__(self, program: Program, dialect: Dialect, names: SqlNames) -> None:
        self._program, self.dialect, self._names = program, dialect, names
        self.number, self.round_to_float32 = dialect.number, dialect.round_to_float32
        self._needed = find_needed_columns(program)
        self._stages: list[str] = []
        self._columns: dict[int, Columns] = {}
        self._count = 0

    def text(self) -> str:
        order = self._program.nodes()
        for place, node in enumerate(order):
            # A stage selects only what this node or a later one still needs. If it selected all
            # columns, the text would grow with the square of the number of nodes.
            later = order[place + 1 :]
            self._live = [
                name
                for earlier in order[:place]
                if earlier is self._program.output
                or any(earlier in other.inputs for other in (node, *later))
                for name in self._columns[id(earlier)].values()
            ]
            self._columns[id(node)] = _RULES[type(node)](self, node, self._needed[id(node)])
        last = f"s{len(self._stages) - 1}"
        score = self._columns[id(self._program.output)][0]
        query, document = quote(self._names.query), quote(self._names.document)
        stages = ",\n".join(self._stages)
        return f"WITH {stages}\nSELECT q AS {query}, k AS {document}, {score} AS score FROM {last}"

    def inputs(self, features: Sequence[int]) -> Columns:
        """Add the first stage: the features in float32."""
        names = self._names
        columns = {j: self._name() for j in features}
        read = self.dialect.read
        inputs = self._program.features, self._program.columns
        selected = [f"{read(inputs[0][j], inputs[1][j])} AS {name}" for j, name in columns.items()]
        keys = f"{quote(names.query)} AS q", f"{quote(names.document)} AS k"
        content = ", ".join((*keys, *selected))
        self._stages.append(f"s0 AS MATERIALIZED (SELECT {content} FROM {quote(names.table)})")
        return columns

    def of(self, node: Node) -> Columns:
        return self._columns[id(node)]

    def stage(self, expressions: dict[int, str], keep: Sequence[str] = ()) -> Columns:
        """Add a stage that computes columns; return their names."""
        columns = {column: self._name() for column in expressions}
        new = [f"{text} AS {columns[column]}" for column, text in expressions.items()]
        content = ", ".join(dict.fromkeys(("q", "k", *self._live, *keep, *new)))
        before = f"s{len(self._stages) - 1}"
        # MATERIALIZED keeps an engine from putting the text of a column wherever it is used:
        # a rounding uses its value three times, so the text would triple with each of them.
        window = " WINDOW w AS (PARTITION BY q)" if any("OVER w" in text for text in new) else ""
        self._stages.append(
            f"s{len(self._stages)} AS MATERIALIZED (SELECT {content} FROM {before}{window})"
        )
        return columns

    def sum(self, terms: Sequence[str], start: str) -> str:
        """Add up terms from the first to the last, some in each stage."""
        total = start  # in the order of the ranker, because another order rounds differently
        for first in range(0, max(len(terms), 1), _TOGETHER):
            text = " + ".join((total, *terms[first : first + _TOGETHER]))
            total = self.stage({0: text})[0]
        return total

    def keeping(self, columns: Sequence[str]) -> None:
        """Keep more columns in the stages of this node."""
        self._live = [*self._live, *columns]

    def _name(self) -> str:
        self._count += 1
        return f"c{self._count - 1}"


def _inputs(s: _Query, node: Inputs, columns: list[int]) -> Columns:  # noqa: ARG001
    return s.inputs(columns)


def _apply(s: _Query, node: Apply, columns: list[int]) -> Columns:
    given = s.of(node.x)
    if node.function != "signed_log":
        functions = {"tanh": "TANH({})", "sin": "SIN({})", "cos": "COS({})"}
        form = functions.get(node.function)
        return s.stage(
            {c: form.format(given[c]) if form else s.round_to_float32(given[c]) for c in columns}
        )
    # log(1 + x) = log(u) x / (u - 1) with u = 1 + x, because no dialect has log1p
    more = s.stage({c: f"({s.number(1)} + ABS({given[c]}))" for c in columns})
    return s.stage(
        {
            c: f"CASE WHEN {more[c]} = 1 THEN {given[c]} ELSE "
            f"LN({more[c]}) * {given[c]} / ({more[c]} - 1) END"
            for c in columns
        }
    )


def _affine(s: _Query, node: Affine, columns: list[int]) -> Columns:
    given = s.of(node.x)

    def shift_and_divide(c: int) -> str:
        if np.isinf(node.divisor[c]):  # which `number` cannot write
            return f"{given[c]} * 0"
        return f"({given[c]} - {s.number(node.shift[c])}) / {s.number(node.divisor[c])}"

    return s.stage({c: shift_and_divide(c) for c in columns})


def _within(s: _Query, node: WithinQuery, columns: list[int]) -> Columns:
    given = s.of(node.x)
    if node.how == "rank":
        return s.stage(
            {
                c: f"(RANK() OVER (PARTITION BY q ORDER BY {given[c]}) - 1 + "
                f"{s.number(0.5)} * COUNT(*) OVER (PARTITION BY q, {given[c]})) / COUNT(*) OVER w"
                for c in columns
            }
        )
    if node.how == "centre":
        return s.stage({c: f"{given[c]} - MIN({given[c]}) OVER w" for c in columns})
    if node.how == "minmax":
        return s.stage(
            {
                c: f"({given[c]} - MIN({given[c]}) OVER w) / "
                f"COALESCE(NULLIF(MAX({given[c]}) OVER w - MIN({given[c]}) OVER w, 0), 1)"
                for c in columns
            }
        )
    apart = s.stage({c: f"{given[c]} - SUM({given[c]}) OVER w / COUNT(*) OVER w" for c in columns})
    s.keeping(list(apart.values()))
    spread = s.stage(
        {c: f"SQRT(SUM({apart[c]} * {apart[c]}) OVER w / COUNT(*) OVER w)" for c in columns}
    )
    return s.stage(
        {c: f"CASE WHEN {spread[c]} > 0 THEN {apart[c]} / {spread[c]} ELSE 0 END" for c in columns}
    )


def _products(s: _Query, node: Products, columns: list[int]) -> Columns:
    given = s.of(node.x)
    return s.stage(
        {c: f"{given[int(node.left[c])]} * {given[int(node.right[c])]}" for c in columns}
    )


def _encode(s: _Query, node: Encode, columns: list[int]) -> Columns:
    given = s.of(node.x)
    return s.stage(
        {c: _encode_column(s, node.columns[c], given[node.columns[c].source]) for c in columns}
    )


def _encode_column(s: _Query, column: Column, x: str) -> str:
    missing = "NULL" if np.isnan(column.missing) else s.number(column.missing)
    if column.code >= 0:
        value, none = s.number(column.slope), s.number(0.0)
        return f"CASE WHEN {x} = {column.code} THEN {value} ELSE {none} END"
    moved = f"({s.number(column.offset)} + {s.number(column.slope)} * {x})"
    cases = f"WHEN {x} IS NULL THEN {missing}"
    if column.low > -LARGEST:
        cases += f" WHEN {moved} < {s.number(column.low)} THEN {s.number(column.low)}"
    if column.high < LARGEST:
        cases += f" WHEN {moved} > {s.number(column.high)} THEN {s.number(column.high)}"
    return f"CASE {cases} ELSE {moved} END"


def _join(s: _Query, node: Join, columns: list[int]) -> Columns:  # noqa: ARG001
    joined: Columns = {}
    first = 0
    for part in node.parts:
        joined |= {first + c: name for c, name in s.of(part).items()}
        first += part.width
    return joined


def _linear(s: _Query, node: LinearMap, columns: list[int]) -> Columns:
    given = s.of(node.x)
    sums: Columns = {}
    for c in columns:
        s.keeping(list(sums.values()))
        weights = node.weights[c]
        terms = [f"{s.number(weights[j])} * {given[j]}" for j in given if weights[j]]
        sums[c] = s.sum(terms, s.number(node.bias[c]))
    return sums


def _trees(s: _Query, node: Trees, columns: list[int]) -> Columns:  # noqa: ARG001
    given = s.of(node.x)
    return {0: s.sum([s.dialect.tree(tree, given) for tree in node.trees], s.number(0))}


_RULES: dict[type[Node], Callable[..., Columns]] = {
    Inputs: _inputs,
    Apply: _apply,
    Affine: _affine,
    WithinQuery: _within,
    Products: _products,
    Encode: _encode,
    Join: _join,
    LinearMap: _linear,
    Trees: _trees,
}
