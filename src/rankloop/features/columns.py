"""What the columns of a data set are, and how they become numbers that a ranker can use.

A data set that was read from a table knows what each column is (:class:`Feature`: a number, a
boolean, a date or a category). :meth:`Features.learn` adds what follows from the training data: the
value for missing values, the range of numbers, and the categories that get a column of their own.
From then on the description is fixed, so that a row has the same meaning whenever it is scored. A
description can also be written down before there is any data, with fixed values for all of this.

There are two forms. Trees get the *native* form: NaN for missing values, dates as ages, and
categories as whole numbers. All other rankers get the *encoded* form, which has only finite
numbers (:class:`rankloop.features.encoding.Encoding`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError, ModelError
from rankloop.features.column import (
    BUCKETS,
    LIMIT,
    RULES,
    Feature,
    Missing,
    agree,
    from_plain,
    recode,
    to_plain,
)
from rankloop.features.encoding import Encoding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Features:
    """All columns of a data set, in order.

    >>> from rankloop.data.dataset import QueryDataset
    >>> X = [[1.0, 0], [np.nan, 1], [3.0, 1]]
    >>> columns = (Feature("price"), Feature("brand", "category", ("acme", "best")))
    >>> data = QueryDataset.from_arrays(X, [0, 1, 2], group=[3], allow_nan=True)
    >>> learnt = Features.learn(replace(data, features=Features(columns)))
    >>> learnt.encoded_names
    ['price', 'price is missing', 'brand = best', 'brand = acme']
    >>> learnt.encode(np.array([[9.0, 0], [np.nan, 1]], np.float32)).tolist()
    [[3.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]

    A description without data: values of brands have codes 0 to 2 as they appear, then share two.

    >>> price = Feature("price", missing="indicator", default=10.0)
    >>> Features((price, Feature("brand", "category", limit=3, buckets=2))).encoded_names
    ... # doctest: +NORMALIZE_WHITESPACE
    ['price', 'price is missing', 'brand: category 1', 'brand: category 2', 'brand: category 3',
     'brand: bucket 1 of 2', 'brand: bucket 2 of 2']
    """

    columns: tuple[Feature, ...]

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def categorical(self) -> list[int]:
        """Which columns hold categories."""
        return [j for j, column in enumerate(self.columns) if column.kind == "category"]

    @property
    def are_numbers(self) -> bool:
        """Whether every column can be used unchanged, apart from missing values."""
        return all(column.kind in ("number", "boolean") for column in self.columns)

    @cached_property
    def encoding(self) -> Encoding:
        """How the columns become those of the encoded form."""
        return Encoding.of(self.columns)

    @property
    def encoded_names(self) -> list[str]:
        """The names of the columns of the encoded form."""
        return list(self.encoding.names)

    @classmethod
    def of(cls, data: QueryDataset) -> Features:
        """Return the description of a data set's columns; without one, all are numbers."""
        if data.features is not None:
            return data.features
        names = data.feature_names or tuple(str(j + 1) for j in range(data.n_features))
        return cls(tuple(Feature(name) for name in names))

    @classmethod
    def learn(
        cls,
        data: QueryDataset,
        missing: Missing = "indicator",
        default: float = 0.0,
        clip: bool = True,
        limit: int = LIMIT,
        buckets: int = BUCKETS,
    ) -> Features:
        """Learn a description from training data.

        Parameters
        ----------
        missing : how missing values are encoded: by the `median`, by the median and an `indicator`
            column if the training data has missing values, or by the `default`
        default : this default, which is also used for a column without any value
        clip : whether to limit encoded numbers to the range of the training data; not for the start
            of a stream
        limit, buckets : the most frequent `limit` categories of a column get a code of their own;
            if there are more, all others share `buckets` codes by a hash, also those that appear
            after training. A column with codes that are fixed already keeps them.

        Cost: a pass over the columns, and a partition of each; memory of two columns.
        """
        if missing not in RULES:
            raise DataError(f"missing must be {', '.join(RULES)}; found {missing!r}")
        learnt: list[Feature] = []
        for members in cls.of(data).together:
            first = members[0][1]
            if first.kind == "category":
                values = np.concatenate([data.X[:, j] for j, _ in members])
                chosen = first.choose_categories(values, limit, buckets)
                learnt += [replace(chosen, name=column.name) for _, column in members]
            else:
                learnt.append(first.learn(data.X[:, members[0][0]], missing, default, clip))
        return cls(tuple(learnt))

    @property
    def together(self) -> Iterator[list[tuple[int, Feature]]]:
        """The columns with their places, those of one list of categories together."""
        for _, members in groupby(enumerate(self.columns), lambda pair: pair[1].part_of or pair[0]):
            yield list(members)

    def select(self, places: Sequence[int]) -> Features:
        """Return some columns, in the given order."""
        return Features(tuple(self.columns[place] for place in places))

    def take(self, data: QueryDataset) -> Rows:
        """Return a data set's rows in the columns and codes of this description.

        Columns are found by name, in any order, if both sides have names.
        """
        theirs = Features.of(data)
        if data.feature_names is None or self.names == theirs.names:
            places = list(range(len(self)))
            if len(theirs) != len(self):
                raise DataError(
                    f"X has {len(theirs)} features, but Features is expecting {len(self)} features "
                    "as input"
                )
        else:
            places = self._places_with_lists(theirs)
        nothing = Feature("", "category")
        columns = [nothing if place < 0 else theirs.columns[place] for place in places]
        same = places == list(range(len(theirs)))
        if same and all(agree(a, b) for a, b in zip(self, columns, strict=True)):
            return data.X
        X = data.X.copy() if same else np.ascontiguousarray(data.X[:, places])
        X[:, [j for j, place in enumerate(places) if place < 0]] = np.nan
        for j, (ours, other) in enumerate(zip(self, columns, strict=True)):
            if not agree(ours, other):
                X[:, j] = recode(X[:, j], ours, other)
        return X

    def _places_with_lists(self, theirs: Features) -> list[int]:
        """Return the position of each column among theirs; -1 beyond the end of a shorter list.

        Of a longer list, the first categories count, as many as the longest list in training had.
        """
        lists = {column.part_of for column in theirs if column.part_of}
        absent = {column.name for column in self if column.part_of in lists} - {*theirs.names}
        return self.places(theirs.names, absent)

    def places(self, names: Sequence[str], without: Collection[str] = ()) -> list[int]:
        """Return the position of each column of this description among names.

        without : columns that may be absent; their position is -1
        """
        place = {**dict.fromkeys(without, -1), **{name: j for j, name in enumerate(names)}}
        absent = [name for name in self.names if name not in place]
        if absent:
            shown = ", ".join(map(repr, absent[:20])) + (" ..." if len(absent) > 20 else "")
            raise DataError(
                f"the data lacks {len(absent)} of the {len(self)} features that the model was "
                f"trained on: {shown}; it has {', '.join(map(repr, list(names)[:20]))}"
            )
        return [place[name] for name in self.names]

    def read_rows(self, X: Rows) -> Rows:
        """Return rows whose categories have the codes of this description."""
        foreign = [j for j, column in enumerate(self.columns) if column.recode]
        if not foreign:
            return X
        read = X.copy()
        for j in foreign:
            read[:, j] = self.columns[j].read_codes(X[:, j])
        return read

    def natural(self, X: Rows) -> Rows:
        """Return rows in the native form, for trees; a list of categories as a column for each."""
        if all(column.kind != "date" and not column.part_of for column in self.columns):
            return X
        columns: list[Rows] = []
        for members in self.together:
            first = members[0][1]
            if first.part_of:
                codes = X[:, [j for j, _ in members]]
                has = (np.any(codes == code, axis=1) for code in range(first.codes))
                columns += [column.astype(np.float32) for column in has]
            else:
                columns.append(first.native(X[:, members[0][0]]))
        return np.stack(columns, axis=1)

    @property
    def native_names(self) -> tuple[str, ...]:
        """The names of the columns of the native form."""
        names: list[str] = []
        for members in self.together:
            first = members[0][1]
            names += first.code_names if first.part_of else [first.name]
        return tuple(names)

    @property
    def native_categories(self) -> list[int]:
        """Which columns of the native form hold categories."""
        single = {
            column.name for column in self if column.kind == "category" and not column.part_of
        }
        return [j for j, name in enumerate(self.native_names) if name in single]

    def encode(self, X: Rows) -> Rows:
        """Return rows in the encoded form: finite numbers."""
        return self.encoding.dense(X)

    def notes(self) -> list[str]:
        """Return a sentence for each feature with categories that share columns."""
        return [
            f"{first.part_of or first.name}: the {first.own_codes:,} most frequent categories have "
            f"columns of their own, and all others share {first.buckets:,} columns by a hash"
            for ((_, first), *_) in self.together
            if first.buckets
        ]

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"columns": [to_plain(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Features:
        """Make a description from the values of :meth:`to_dict`; raise if they are not valid."""
        try:
            columns = tuple(from_plain(column) for column in record["columns"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"its description of features is damaged: {error!r}") from None
        return cls(columns)


def needs_description(data: QueryDataset) -> bool:
    """Whether rankers need encoded data: it has missing values, dates or categories.

    Live features say which of them may be missing, so that a model that was trained while all were
    known can score what comes later.
    """
    known = data.features or ()
    return data.has_missing or any(
        column.kind not in ("number", "boolean") or column.missing == "indicator"
        for column in known
    )


def refuse_kinds(data: QueryDataset, who: str) -> None:
    """Raise if a column is a date or a category, which would be taken for a number."""
    if data.features is None or data.features.are_numbers:
        return
    strange = [c for c in data.features if c.kind not in ("number", "boolean")]
    shown = ", ".join(f"{c.name!r} ({c.kind})" for c in strange[:10])
    raise DataError(
        f"{who} takes numbers only, but these columns hold something else: {shown}; wrap the "
        f"ranker, as in Described({who}()), which learns how to encode them, or leave them out"
    )
