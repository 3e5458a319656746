"""The columns that linear rankers get, and where each of them comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankloop.features.column import Feature

    Rows = NDArray[np.float32]

FEW = 16
"""Up to so many codes, the columns of a category stand beside the numbers; others are wide."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """How rows of a description become rows of finite numbers.

    The columns come in this order: numbers and ages; then *indicators*, which are 0 or 1: booleans,
    marks of missing values, and a column for each code of a category with up to 16 codes; and at
    the end, the *wide* indicators: a column for each code of all other categories. So a ranker
    need only know how many of its last columns are indicators (there is nothing to scale or to
    rank in them), and how many are wide (hardly any two of them are 1 in the same row).

    names : the names of the columns
    indicators, wide : how many of the last columns are
    places, numbers : what becomes of each column of the description; see
        `cpp/maps/encode_columns.hpp`

    Cost of :meth:`dense`: O(rows x (columns + encoded columns)); of :meth:`sparse`: without the
    encoded columns, and 8 bytes a number that is not 0.
    """

    names: tuple[str, ...]
    indicators: int
    wide: int
    places: NDArray[np.int32]
    numbers: Rows

    @classmethod
    def of(cls, columns: Sequence[Feature]) -> Encoding:
        """Lay out the columns."""
        places = np.full((len(columns), 3), -1, np.int32)
        places[:, 1] = 0
        numbers = np.zeros((len(columns), 5), np.float32)
        names: list[str] = []
        for j, column in enumerate(columns):
            numbers[j] = _number(column)
            if column.kind != "category" and not _is_flag(column):
                places[j, 0] = len(names)
                names.append(column.encoded_name)
        n_values = len(names)
        for j, column in enumerate(columns):
            if column.kind != "category" and _is_flag(column):
                places[j, 0] = len(names)
                names.append(column.encoded_name)
            if column.kind != "category" and column.missing == "indicator":
                places[j, 2] = len(names)
                names.append(f"{column.name} is missing")
        lists = list(_lists(columns))
        for members in lists:
            if _codes(columns, members) <= FEW:
                names += _place(columns, members, places, len(names))
        n_full = len(names)
        for members in lists:
            if _codes(columns, members) > FEW:
                names += _place(columns, members, places, len(names))
        return cls(tuple(names), len(names) - n_values, len(names) - n_full, places, numbers)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names)

    def dense(self, X: Rows) -> Rows:
        """Return encoded rows as a matrix."""
        return _core.encode_columns(np.ascontiguousarray(X), self.places, self.numbers, self.width)

    def sparse(self, X: Rows) -> tuple[NDArray[np.int64], NDArray[np.int32], Rows]:
        """Return encoded rows without zeros: where each row starts, columns and values."""
        rows = np.ascontiguousarray(X)
        return _core.encode_columns_sparse(rows, self.places, self.numbers, self.width)


def _number(column: Feature) -> tuple[float, ...]:
    if column.kind == "category":
        return column.bucket_value, 0.0, 0.0, 0.0, 0.0
    slope, origin = (-1.0, column.origin) if column.kind == "date" else (1.0, 0.0)
    low = -np.inf if column.low is None else column.low
    high = np.inf if column.high is None else column.high
    return slope, origin, column.default, low, high


def _is_flag(column: Feature) -> bool:
    """Whether its encoded values are 0 or 1."""
    return column.kind == "boolean" and column.default in (0, 1)


def _lists(columns: Sequence[Feature]) -> Iterator[list[int]]:
    """Yield the columns that hold the same category: one, or those of a list."""
    categories = [j for j, column in enumerate(columns) if column.kind == "category"]
    for _, members in groupby(categories, lambda j: columns[j].part_of or j):
        yield list(members)


def _codes(columns: Sequence[Feature], members: list[int]) -> int:
    return max(columns[j].codes for j in members)


def _place(
    columns: Sequence[Feature], members: list[int], places: NDArray[np.int32], first: int
) -> list[str]:
    """Give the codes of a category columns from `first` on; return their names."""
    for j in members:
        places[j] = first, columns[j].codes or -1, columns[j].own_codes
    widest = max(members, key=lambda j: columns[j].codes)
    return columns[widest].code_names
