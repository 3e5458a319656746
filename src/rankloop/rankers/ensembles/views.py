"""The forms of the same rows that the members of a blend get."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.scaling import QueryMinMax
from rankloop.features.column import Feature
from rankloop.features.columns import Features

if TYPE_CHECKING:
    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.base import Offsets, Ranker, Rows


def description(data: QueryDataset, codes: list[int]) -> dict[str, object]:
    """Return how to encode missing values and categories; empty if the data has none.

    codes : the columns whose values are categories, as whole numbers from 0, which keep their codes
    """
    if not codes and not data.has_missing:
        return {}
    columns = list(Features.learn(replace(data, features=None)).columns)
    for j in codes:
        known = data.X[:, j]
        codes_seen = known[~np.isnan(known)].astype(np.int64)
        names = tuple(str(code) for code in range(codes_seen.max(initial=0) + 1))
        columns[j] = Feature(columns[j].name, "category", names)
    return Features(tuple(columns)).to_dict()


class Views:
    """Rows as they are, encoded, or scaled inside queries; each form is made once, when asked for.

    A member that accepts missing values gets them as they are, otherwise encoded; one that does not
    work well on raw features gets them scaled to 0 .. 1 inside the query.
    """

    def __init__(self, X: Rows, offsets: Offsets, features: Features | None) -> None:
        self._X, self._offsets, self._features = X, offsets, features
        self._made: dict[tuple[bool, bool], Rows] = {}
        self._data: QueryDataset | None = None

    @classmethod
    def of(cls, data: QueryDataset, features: Features | None) -> Views:
        """Return the views of a data set's rows."""
        views = cls(data.X, data.offsets, features)
        views._data = data
        return views

    def rows_for(self, member: Ranker) -> Rows:
        """Return the rows that a member gets."""
        is_native = self._features is None or member.traits.takes_nan
        form = is_native, member.traits.takes_raw_features
        if form not in self._made:
            rows = self._X if is_native else self._encode()
            scaled = rows if form[1] else QueryMinMax().transform_rows(rows, self._offsets)
            self._made[form] = scaled
        return self._made[form]

    def data_for(self, member: Ranker) -> QueryDataset:
        """Return the data set that a member gets."""
        assert self._data is not None
        names = self._data.feature_names
        if self._features is not None and not member.traits.takes_nan:
            names = tuple(self._features.encoded_names)
        return replace(self._data, X=self.rows_for(member), feature_names=names, features=None)

    def _encode(self) -> Rows:
        assert self._features is not None
        return self._features.encode(self._X)
