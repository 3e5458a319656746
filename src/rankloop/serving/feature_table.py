"""A table of items and their features, for requests with ids only, such as UBI queries."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class FeatureTable:
    """Features by item id; it is read once, when a service starts.

    Rankings are stored in the journal with their features, so that a replay never reads the table.
    """

    def __init__(self, ids: Sequence[str], X: NDArray[np.float32]) -> None:
        self._rows = {item: row for row, item in enumerate(ids)}
        self._X = X

    def __len__(self) -> int:
        return len(self._rows)

    def features(self, ids: Sequence[str]) -> NDArray[np.float32] | None:
        """Return one row per item; None if one is not in the table."""
        rows = [self._rows.get(item) for item in ids]
        return None if None in rows else self._X[np.array(rows, np.int64)]

    @classmethod
    def read(cls, path: str, names: Sequence[str]) -> FeatureTable:
        """Read a CSV or Parquet file with a column `id` and one per feature; others are ignored.

        Raises
        ------
        DataError
            if the file cannot be read, a column is missing, an id occurs twice, or a value is not a
            finite number.
        """
        columns = _read_parquet(path) if Path(path).suffix == ".parquet" else _read_csv(path)
        missing = [name for name in ("id", *names) if name not in columns]
        if missing:
            raise DataError(
                f"{path}: there is no column {missing[0]!r}; a table of features has a column id "
                "and one column per feature"
            )
        ids = [str(value) for value in columns["id"]]
        if len(set(ids)) < len(ids):
            twice = next(item for item in ids if ids.count(item) > 1)
            raise DataError(f"{path}: the id {twice!r} occurs twice; give each item one row")
        try:
            with np.errstate(over="ignore"):
                X = np.array([columns[name] for name in names], np.float64).T.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}: a feature is not a number: {error}") from None
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0].tolist()
            raise DataError(
                f"{path}: the feature {names[column]!r} of item {ids[row]!r} is {X[row, column]}; "
                "features must be finite numbers that float32 can hold"
            )
        return cls(ids, np.ascontiguousarray(X))


def _read_csv(path: str) -> dict[str, list[str]]:
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            head, *rows = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as CSV: {error}") from None
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise DataError(
                f"{path}: line {number} has {len(row)} values; the first line has {len(head)} names"
            )
    return {name: [row[n] for row in rows] for n, name in enumerate(head)}


def _read_parquet(path: str) -> dict[str, list[object]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "a table of features in Parquet") from None
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}") from None
    return {name: table[name].to_pylist() for name in table.column_names}
