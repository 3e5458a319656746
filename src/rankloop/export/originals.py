"""Rows as they are in the user's own table: texts, dates and numbers instead of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.features.columns import Features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.export.program import InputColumn, Program
    from rankloop.rankers.base import Ranker

_DAY = 86_400_000_000  # microseconds
_LAST_DAY = 2.0**63 / _DAY - 1


@dataclass(frozen=True)
class Originals:
    """Rows to score in an engine, as an application has them.

    columns : for each feature of a program an array: texts or None for a category,
        datetime64[us] for a date, and float32 for a number or a boolean
    codes : the rows as the ranker sees them
    offsets : the rows of query q are offsets[q]:offsets[q + 1]
    """

    columns: tuple[NDArray[Any], ...]
    codes: NDArray[np.float32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, program: Program, ranker: Ranker, data: QueryDataset) -> Originals:
        """Return the rows of a data set, with the texts that it was read with."""
        features = getattr(ranker, "features", None)
        codes = np.asarray(ranker.copy()._rows(data), np.float32)
        if data.features is None or not isinstance(features, Features):
            return cls.from_codes(program.columns, codes, data.offsets)
        names = data.feature_names
        places = range(len(features)) if names is None else features.places(names)
        return cls(
            tuple(
                _original(data.X[:, place], column.kind, data.features.columns[place].categories)
                for place, column in zip(places, program.columns, strict=True)
            ),
            codes,
            data.offsets,
        )

    @classmethod
    def from_codes(
        cls, columns: Sequence[InputColumn], X: NDArray[np.float32], offsets: NDArray[np.int64]
    ) -> Originals:
        """Return rows that have the codes of a model."""
        return cls(
            tuple(_original(X[:, j], c.kind, c.categories) for j, c in enumerate(columns)),
            X,
            offsets,
        )


def _original(values: NDArray[Any], kind: str, categories: Sequence[str]) -> NDArray[Any]:
    absent = np.isnan(values)
    if kind == "category":
        known = np.where(absent, -1, values).astype(np.int64).tolist()
        texts = [categories[k] if 0 <= k < len(categories) else None for k in known]
        return np.array([*texts, None], dtype=object)[:-1]
    if kind == "date":
        days = np.clip(np.where(absent, 0, values).astype(np.float64), -_LAST_DAY, _LAST_DAY)
        moments = np.round(days * _DAY).astype(np.int64).astype("datetime64[us]")
        return np.where(absent, np.datetime64("NaT", "us"), moments)
    return np.asarray(values, np.float32)
