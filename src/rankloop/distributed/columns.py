"""The columns of parts: one order, one numbering of categories, and exact ranges and counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.columns import Features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.features.column import Feature


@dataclass(frozen=True)
class PartColumns:
    """What the columns of a part, or of all parts together, hold.

    n_documents : their number; a part without any says nothing about its columns
    names : of the features, or None
    columns : what they are, with their categories
    is_described : whether any column is something else than a number
    low, high : the range of each column; NaN where it has no value
    missing : whether each column has missing values
    counts : how often each category of a column occurs; empty for other columns
    """

    n_documents: int
    names: tuple[str, ...] | None
    columns: tuple[Feature, ...]
    is_described: bool
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    missing: NDArray[np.bool_]
    counts: tuple[NDArray[np.int64], ...]

    @property
    def needs_description(self) -> bool:
        """Whether rankers need encoded data: there are missing values, dates or categories."""
        return bool(self.missing.any()) or not Features(self.columns).are_numbers

    def arrange(self, data: QueryDataset) -> QueryDataset:
        """Return a part with these columns, in this order, and with these codes."""
        if not data.n_documents or data.is_sparse:
            return data
        if not self.is_described:
            if self.names is None or data.feature_names in (None, self.names):
                return data
            X = np.asarray(data.X)[:, _places(data.feature_names, self.names)]
            return replace(data, X=np.ascontiguousarray(X), feature_names=self.names)
        ours = dict(zip((c.name for c in self.columns), self.columns, strict=True))
        theirs = [
            ours[column.name] if np.isnan(np.asarray(data.X[:, j])).all() else column
            for j, column in enumerate(Features.of(data))
        ]
        known = replace(data, features=Features(tuple(theirs)))
        described = Features(self.columns)
        return replace(data, X=described.take(known), feature_names=self.names, features=described)

    def complete(self, learnt: Features, limit: int, buckets: int, clip: bool) -> Features:
        """Return a description that was learnt from a sample, with what all parts say."""
        columns = []
        for j, column in enumerate(learnt):
            if column.kind == "category" and not column.part_of:
                raw = self.columns[j]
                columns.append(raw.choose_by_counts(self.counts[j], limit, buckets))
                continue
            made = column
            if clip and made.low is not None and not np.isnan(self.low[j]):
                made = replace(made, low=float(self.low[j]), high=float(self.high[j]))
            if made.kind == "date" and not np.isnan(self.high[j]):
                made = replace(made, origin=float(self.high[j]))
            columns.append(made)
        return Features(tuple(columns))


def describe_columns(data: QueryDataset) -> PartColumns:
    """Return what the columns of a data set hold, in one pass over them."""
    d, columns = data.n_features, Features.of(data).columns
    low, high = np.full((2, d), np.nan, np.float32)
    missing = np.zeros(d, bool)
    counts = [np.zeros(0, np.int64)] * d
    if data.n_documents and not data.is_sparse:  # sparse rows have no missing values, nor kinds
        for j, column in enumerate(columns):
            values = np.asarray(data.X[:, j])
            known = values[~np.isnan(values)]
            missing[j] = len(known) < len(values)
            if len(known):
                low[j], high[j] = known.min(), known.max()
            if column.kind == "category":
                counts[j] = np.bincount(known.astype(np.int64), minlength=column.codes)
    described = data.features is not None
    names = data.feature_names
    return PartColumns(
        data.n_documents, names, columns, described, low, high, missing, tuple(counts)
    )


def unite_columns(parts: Sequence[PartColumns], names: Sequence[str]) -> PartColumns:
    """Return the columns of all parts: those of the first, with the categories of all, in order.

    Raises
    ------
    DataError
        if a part has other columns, or if a column is of another kind there.
    """
    filled = [(part, name) for part, name in zip(parts, names, strict=True) if part.n_documents]
    if not filled:
        raise DataError("no part has any documents; there is nothing to learn from")
    first, first_name = filled[0]
    for part, name in filled[1:]:
        _check_same(part, name, first, first_name)
    orders = [_places(part.names, first.names) or range(len(first.columns)) for part, _ in filled]
    columns, counts = [], []
    for j in range(len(first.columns)):
        versions = [
            (
                part.columns[order[j]],
                part.counts[order[j]],
                bool(np.isnan(part.low[order[j]])),
                name,
            )
            for (part, name), order in zip(filled, orders, strict=True)
        ]
        column, count = _unite(versions)
        columns.append(column)
        counts.append(count)
    low, high, missing = (
        np.stack(
            [getattr(part, what)[list(o)] for (part, _), o in zip(filled, orders, strict=True)]
        )
        for what in ("low", "high", "missing")
    )
    return PartColumns(
        sum(part.n_documents for part, _ in filled),
        first.names,
        tuple(columns),
        any(part.is_described for part, _ in filled),
        np.fmin.reduce(low),
        np.fmax.reduce(high),
        np.asarray(missing.any(axis=0)),
        tuple(counts),
    )


def _unite(
    versions: Sequence[tuple[Feature, NDArray[np.int64], bool, str]],
) -> tuple[Feature, NDArray[np.int64]]:
    """Return a column with the categories of all parts, and how often each occurs."""
    used = [version for version in versions if not version[2]] or list(versions[:1])
    column, _, _, name = used[0]
    for other, _, _, place in used[1:]:
        if (other.kind in ("date", "category") or column.kind in ("date", "category")) and (
            other.kind != column.kind
        ):
            raise DataError(
                f"column {column.name!r} is a {column.kind} in {name}, but a {other.kind} in "
                f"{place}; bring it to one type in all parts"
            )
        if other.kind == "number":
            column = replace(column, kind="number") if column.kind == "boolean" else column
    if column.kind != "category":
        return column, np.zeros(0, np.int64)
    if column.limit or column.buckets:  # its codes are fixed
        totals = np.zeros(column.codes, np.int64)
        for _, count, _, _ in used:
            totals[: len(count)] += count
        return column, totals
    places: dict[str, int] = {}
    for other, _, _, _ in used:
        for category in other.categories:
            places.setdefault(category, len(places))
    totals = np.zeros(len(places), np.int64)
    for other, count, _, _ in used:
        for category, times in zip(other.categories, count.tolist(), strict=False):
            totals[places[category]] += times
    return replace(column, categories=tuple(places)), totals


def _places(have: tuple[str, ...] | None, want: tuple[str, ...] | None) -> list[int] | None:
    """Return where each wanted name is; None if a side has no names."""
    if have is None or want is None:
        return None
    place = {name: j for j, name in enumerate(have)}
    return [place[name] for name in want]


def _check_same(part: PartColumns, name: str, first: PartColumns, first_name: str) -> None:
    same_names = (
        part.names is None
        if first.names is None
        else part.names is not None and sorted(part.names) == sorted(first.names)
    )
    if len(part.columns) != len(first.columns) or not same_names:
        raise DataError(
            f"{name} has other columns than {first_name}: {_shown(part)} instead of "
            f"{_shown(first)}; parts must have the same columns, in any order"
        )


def _shown(part: PartColumns) -> str:
    named = "" if part.names is None else f" ({', '.join(part.names[:5])} ...)"
    return f"{len(part.columns)} features{named}"
