"""SQL for wide models: a row for each value, where `to_sql.py` has a column for each.

Databases limit columns (PostgreSQL 1,664, SQLite 2,000) and the depth of expressions, and DuckDB
takes minutes to plan a query with hundreds of windows. Here each node of the program is one table
of rows (r, q, j, v): the value v of column j of row r, of query q. Weights and thresholds are
tables, too, so that the number of steps does not depend on the number of features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    LinearMap,
    Products,
    Trees,
    WithinQuery,
)
from rankloop.export.sql_dialect import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rankloop.export.program import Node, Program
    from rankloop.export.sql_dialect import Dialect
    from rankloop.export.to_sql import SqlNames

MAX_COLUMNS = {"postgresql": 1664, "sqlite": 2000}
_ARM = 16  # columns that one part of a union reads in SQLite, which searches them one by one
_EMPTY = "SELECT r, q, 0 AS j, 0e0 AS v FROM documents_of_model WHERE 1 = 0"
_TOGETHER = 50  # trees in one expression, because engines limit its depth


def render_long(program: Program, dialect: Dialect, names: SqlNames) -> str:
    """Return a SELECT with the columns `query`, `document` and `score`."""
    return _LongQuery(program, dialect, names).text()


class _LongQuery:
    def __init__(self, program: Program, dialect: Dialect, names: SqlNames) -> None:
        self._program, self.dialect, self._names = program, dialect, names
        self._needed = find_needed_columns(program)
        self._tables: list[str] = []
        self._of: dict[int, str] = {}

    def text(self) -> str:
        for node in self._program.nodes():
            columns = self._needed[id(node)]
            if isinstance(node, Inputs):
                self.read(columns)
            # No score depends on a node without columns, which VALUES could not write.
            table = _RULES[type(node)](self, node, columns) if columns else self.table(_EMPTY)
            self._of[id(node)] = table
        scores = self.of(self._program.output)
        query, document = quote(self._names.query), quote(self._names.document)
        tables = ",\n".join(self._tables)
        return (
            f"WITH {tables}\nSELECT d.q AS {query}, d.k AS {document}, s.v AS score "
            f"FROM documents_of_model d JOIN {scores} s ON s.r = d.r"
        )

    def of(self, node: Node) -> str:
        """Return the name of a node's table."""
        return self._of[id(node)]

    def table(self, select: str) -> str:
        """Add a table; return its name."""
        name = f"t{len(self._tables)}"
        self._tables.append(f"{name} AS MATERIALIZED ({select})")
        return name

    def constants(self, columns: str, rows: Iterable[Sequence[float | None]]) -> str:
        """Add a table of numbers, of which the names in capitals are whole."""
        whole = [name.isupper() for name in columns.split(", ")]
        written = ", ".join(
            f"({', '.join(self._constant(x, w) for x, w in zip(row, whole, strict=True))})"
            for row in rows
        )
        name = f"t{len(self._tables)}"
        self._tables.append(f"{name}({columns}) AS MATERIALIZED (VALUES {written})")
        return name

    def _constant(self, value: float | None, whole: bool) -> str:
        if value is None or np.isnan(value):
            return "CAST(NULL AS DOUBLE PRECISION)"
        return str(int(value)) if whole else self.dialect.number(value)

    def read(self, features: Sequence[int]) -> None:
        """Add the table of documents, with the features in float32 as columns x0, x1, ..."""
        limit = MAX_COLUMNS.get(self.dialect.name, np.inf)
        if len(features) + 3 > limit:
            raise DataError(
                f"this {self._program.ranker} reads {len(features):,} features, and a query of "
                f"{self.dialect.name} can have {limit:,} columns; export it to c or onnx, to sql "
                "with the dialect duckdb, or train it on fewer features"
            )
        program, names = self._program, self._names
        columns = [
            f"{self.dialect.read(program.features[j], program.columns[j])} AS x{j}"
            for j in features
        ]
        keys = f"{quote(names.query)} AS q", f"{quote(names.document)} AS k"
        content = ", ".join(("ROW_NUMBER() OVER () AS r", *keys, *columns))
        table = quote(names.table)
        self._tables.append(f"documents_of_model AS MATERIALIZED (SELECT {content} FROM {table})")

    def unpivot(self, features: Sequence[int]) -> str:
        """Turn the columns of the documents into rows."""
        pairs = ", ".join(f"({j}, x{j})" for j in features)
        if self.dialect.name == "postgresql":
            return self.table(
                "SELECT d.r, d.q, u.j, u.v FROM documents_of_model d "
                f"CROSS JOIN LATERAL (VALUES {pairs}) u(j, v)"
            )
        if self.dialect.name == "duckdb":
            places, values = (", ".join(f"{name}{j}" for j in features) for name in ("", "x"))
            return self.table(
                f"SELECT r, q, UNNEST([{places}]) AS j, UNNEST([{values}]) AS v "
                "FROM documents_of_model"
            )
        arms = []
        for first in range(0, len(features), _ARM):
            arm = features[first : first + _ARM]
            places = ", ".join(f"({j})" for j in arm)
            cases = " ".join(f"WHEN {j} THEN x{j}" for j in arm)
            arms.append(
                f"SELECT r, q, column1 AS j, CASE column1 {cases} END AS v "
                f"FROM documents_of_model CROSS JOIN (VALUES {places})"
            )
        return self.table(" UNION ALL ".join(arms))


def _inputs(s: _LongQuery, node: Inputs, columns: list[int]) -> str:  # noqa: ARG001
    return s.unpivot(columns)


def _apply(s: _LongQuery, node: Apply, columns: list[int]) -> str:  # noqa: ARG001
    one = s.dialect.number(1)
    forms = {
        "float32": s.dialect.round_to_float32("v"),
        # log(1 + x) = log(u) x / (u - 1) with u = 1 + x, because no dialect has log1p
        "signed_log": f"CASE WHEN {one} + ABS(v) = {one} THEN v "
        f"ELSE LN({one} + ABS(v)) * v / ({one} + ABS(v) - {one}) END",
    }
    value = forms.get(node.function, f"{node.function.upper()}(v)")
    return s.table(f"SELECT r, q, j, {value} AS v FROM {s.of(node.x)}")


def _affine(s: _LongQuery, node: Affine, columns: list[int]) -> str:
    rows = [
        (c, node.shift[c], node.divisor[c] if np.isfinite(node.divisor[c]) else None)
        for c in columns
    ]
    moves = s.constants("J, shift, divisor", rows)
    return s.table(
        "SELECT x.r, x.q, x.j, CASE WHEN c.divisor IS NULL THEN x.v * 0 "
        f"ELSE (x.v - c.shift) / c.divisor END AS v FROM {s.of(node.x)} x "
        f"JOIN {moves} c ON c.j = x.j"
    )


def _within(s: _LongQuery, node: WithinQuery, columns: list[int]) -> str:  # noqa: ARG001
    x, half = s.of(node.x), s.dialect.number(0.5)
    least, most, mean = (f"{name}(v) OVER w" for name in ("MIN", "MAX", "AVG"))
    forms = {
        "rank": f"(RANK() OVER (PARTITION BY q, j ORDER BY v) - 1 "
        f"+ {half} * COUNT(*) OVER (PARTITION BY q, j, v)) / COUNT(*) OVER w",
        "centre": f"v - {least}",
        "minmax": f"(v - {least}) / COALESCE(NULLIF({most} - {least}, 0), 1)",
        "standardise": f"v - {mean}",
    }
    window = "WINDOW w AS (PARTITION BY q, j)"
    moved = s.table(f"SELECT r, q, j, {forms[node.how]} AS v FROM {x} {window}")
    if node.how != "standardise":
        return moved
    apart = s.table(f"SELECT r, q, j, v, SQRT(AVG(v * v) OVER w) AS spread FROM {moved} {window}")
    return s.table(
        f"SELECT r, q, j, CASE WHEN spread > 0 THEN v / spread ELSE 0 END AS v FROM {apart}"
    )


def _products(s: _LongQuery, node: Products, columns: list[int]) -> str:
    pairs = s.constants("J, A, B", [(c, node.left[c], node.right[c]) for c in columns])
    x = s.of(node.x)
    return s.table(
        f"SELECT x.r, x.q, c.j, x.v * y.v AS v FROM {pairs} c JOIN {x} x ON x.j = c.a "
        f"JOIN {x} y ON y.r = x.r AND y.j = c.b"
    )


def _encode(s: _LongQuery, node: Encode, columns: list[int]) -> str:
    rows = []
    for c in columns:
        column = node.columns[c]
        low = column.low if column.low > -LARGEST else None
        high = column.high if column.high < LARGEST else None
        numbers = (column.slope, column.offset, low, high, column.missing)
        rows.append((c, column.source, column.code, *numbers))
    rules = s.constants("J, SOURCE, CODE, slope, start, low, high, missing", rows)
    moved = "c.start + c.slope * x.v"
    return s.table(
        "SELECT x.r, x.q, c.j, CASE WHEN c.code >= 0 THEN CASE WHEN x.v = c.code THEN c.slope "
        f"ELSE 0 END WHEN x.v IS NULL THEN c.missing WHEN {moved} < c.low THEN c.low "
        f"WHEN {moved} > c.high THEN c.high ELSE {moved} END AS v "
        f"FROM {rules} c JOIN {s.of(node.x)} x ON x.j = c.source"
    )


def _join(s: _LongQuery, node: Join, columns: list[int]) -> str:  # noqa: ARG001
    parts, first = [], 0
    for part in node.parts:
        parts.append(f"SELECT r, q, j + {first} AS j, v FROM {s.of(part)}")
        first += part.width
    return s.table(" UNION ALL ".join(parts))


def _linear(s: _LongQuery, node: LinearMap, columns: list[int]) -> str:
    triples = [
        (j, c, node.weights[c, j])
        for c in columns
        for j in np.flatnonzero(node.weights[c]).tolist()
    ]
    alone = [c for c in columns if not node.weights[c].any()]
    biases = s.constants("J, bias", [(c, node.bias[c]) for c in columns])
    parts = []
    if alone:
        constant = f"SELECT d.r, d.q, b.j, b.bias AS v FROM documents_of_model d, {biases} b "
        parts.append(f"{constant} WHERE b.j IN ({', '.join(map(str, alone))})")
    if triples:
        weights = s.constants("J, O, w", triples)
        # SUM passes over a missing value, but then the score is missing.
        sums = s.table(
            "SELECT x.r, x.q, w.o AS j, CASE WHEN COUNT(x.v) = COUNT(*) THEN SUM(w.w * x.v) END "
            f"AS v FROM {s.of(node.x)} x JOIN {weights} w ON w.j = x.j GROUP BY x.r, x.q, w.o"
        )
        parts.append(
            f"SELECT s.r, s.q, s.j, b.bias + s.v AS v FROM {sums} s JOIN {biases} b ON b.j = s.j"
        )
    return s.table(" UNION ALL ".join(parts))


def _trees(s: _LongQuery, node: Trees, columns: list[int]) -> str:  # noqa: ARG001
    used = sorted({int(j) for tree in node.trees for j in tree.feature})
    if isinstance(node.x, Inputs):
        source = "documents_of_model"
    else:
        pivot = "".join(f", MAX(CASE WHEN j = {j} THEN v END) AS x{j}" for j in used)
        source = s.table(f"SELECT r, q{pivot} FROM {s.of(node.x)} GROUP BY r, q")
    names = {j: f"x{j}" for j in used}
    sums = [
        " + ".join(s.dialect.tree(tree, names) for tree in some)
        for some in (node.trees[k : k + _TOGETHER] for k in range(0, len(node.trees), _TOGETHER))
    ] or [s.dialect.number(0)]
    parts = " UNION ALL ".join(f"SELECT r, q, {text} AS v FROM {source}" for text in sums)
    return s.table(f"SELECT r, q, 0 AS j, SUM(v) AS v FROM ({parts}) p GROUP BY r, q")


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
}
