"""What differs between databases: how a number, a column of the user and a tree are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankloop.export import sql_inputs
from rankloop.rankers.boosting.trees import float32_above, float32_at_most

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.export.program import InputColumn
    from rankloop.rankers.boosting.trees import Tree

DIALECTS = ("postgresql", "duckdb", "sqlite")
_SPLITTER = 2.0**29 + 1  # x s - (x s - x) is x rounded to the 24 bits of a float32


def quote(name: str) -> str:
    """Write a name of a table or column."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Dialect:
    """The words of one database.

    name : postgresql, duckdb or sqlite

    >>> Dialect("sqlite").number(2.0), Dialect("postgresql").number(2.0)
    ('2e0', "float8 '2e0'")
    """

    name: str

    def number(self, value: float) -> str:
        """Write a number as a double, with every bit.

        An engine may take a number without an exponent for an exact decimal, and PostgreSQL takes
        it so even with one.
        """
        text = repr(float(value))
        text = text if "e" in text else f"{text.removesuffix('.0')}e0"
        return f"float8 '{text}'" if self.name == "postgresql" else text

    def round_to_float32(self, x: str) -> str:
        """Round to float32."""
        splitter = self.number(_SPLITTER)
        return f"({x} * {splitter} - ({x} * {splitter} - {x}))"

    def read(self, feature: str, column: InputColumn) -> str:
        """Read a feature from the user's table as a float32."""
        name = quote(feature)
        if column.kind == "category":
            return sql_inputs.code(name, column.categories, self.name, self.number)
        if column.kind == "boolean":
            return sql_inputs.boolean(name, self.number)
        value = sql_inputs.days(name, self.name) if column.kind == "date" else name
        if self.name == "sqlite":
            return self.round_to_float32(f"CAST({value} AS DOUBLE PRECISION)")
        # NaN would be larger than all numbers here, and NULL is what a missing value must be.
        single = "REAL" if self.name == "postgresql" else "FLOAT"
        return f"CAST(NULLIF(CAST({value} AS {single}), 'NaN') AS DOUBLE PRECISION)"

    def tree(self, tree: Tree, given: Mapping[int, str]) -> str:
        """Write nested cases; thresholds lie between two float32, which no rounding reaches."""

        def below(child: int) -> str:
            if child < 0:
                return self.number(tree.value[~child])
            x = given[int(tree.feature[child])]
            if child in tree.members:
                # NULL IN (...) is neither true nor false, so a missing category goes right.
                test = f"{x} IN ({', '.join(map(str, tree.members[child]))})"
            else:
                threshold = float(tree.threshold[child])
                middle = (float(float32_at_most(threshold)) + float32_above(threshold)) / 2
                test = f"{x} <= {self.number(middle)}"
                if tree.nan_left[child]:
                    test += f" OR {x} IS NULL"
            left, right = below(int(tree.left[child])), below(int(tree.right[child]))
            return f"CASE WHEN {test} THEN {left} ELSE {right} END"

        return below(0 if tree.splits else -1)
