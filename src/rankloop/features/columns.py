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

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rankloop.exceptions import DataError, ModelError
from rankloop.features.encoding import Encoding
from rankloop.features.hashing import bucket_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Rows = NDArray[np.float32]

Kind = Literal["number", "boolean", "date", "category"]
Missing = Literal["indicator", "median", "default"]
KINDS: tuple[str, ...] = get_args(Kind)
RULES: tuple[str, ...] = get_args(Missing)
LIMIT = 1000
"""The number of categories that get a code of their own; the most frequent ones do."""
MOST_CODES = 1_000_000
"""The largest limit, and the largest number of buckets."""
BUCKETS = 256
"""The number of codes that all other categories share, by a hash of their names."""


@dataclass(frozen=True)
class Feature:
    """One column: what it is, and what to do with values that are missing or out of range.

    name : the name of the column
    kind : `number`, `boolean`, `date` (days since 1970) or `category` (its code)
    categories : the meaning of the first codes of a category
    limit : the number of codes that stand for one category each; at least as many as `categories`,
        and more where categories become known later
    buckets : the number of codes after those, which other categories share by a hash of their
        names; without buckets, other categories count as missing
    bucket_value : what the column of a bucket is instead of 1. The mean of n independent effects
        varies 1 / sqrt(n) as much as one of them, so this is 1 / sqrt(n) for buckets of about n
        categories: then they are shrunk as they should be by all that shrinks weights.
    part_of : the name of a list of categories that is spread over several columns, one category a
        column; empty for a category that stands alone
    separator : what divides such a list where it is read as text
    missing : how missing values are encoded: `indicator` (by the default, and by 1 in a further
        column), `median` or `default`; a missing category is none of the categories
    default : the value that replaces a missing value in the encoded form
    low, high : the range to which encoded numbers are limited; None if there is no limit
    origin : for dates, the day from which ages are counted back
    recode : if rows come with the codes of another system, such as a loop that numbers categories
        as they appear: the code here for each code there, and -1 for a category unknown here
    """

    name: str
    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    limit: int = 0
    buckets: int = 0
    bucket_value: float = 0.25
    part_of: str = ""
    separator: str = ""
    missing: Missing = "default"
    default: float = 0.0
    low: float | None = None
    high: float | None = None
    origin: float = 0.0
    recode: tuple[int, ...] = ()

    @property
    def own_codes(self) -> int:
        """The number of codes that stand for one category each."""
        return max(self.limit, len(self.categories))

    @property
    def codes(self) -> int:
        """The number of codes of a category, with those of the buckets."""
        return self.own_codes + self.buckets

    def code_of(self, category: str) -> float:
        """Return the code of a category; NaN if it is unknown and there are no buckets."""
        known = self._code.get(category)
        if known is not None:
            return known
        return self.own_codes + bucket_of(category, self.buckets) if self.buckets else np.nan

    @cached_property
    def _code(self) -> dict[str, int]:
        return {category: code for code, category in enumerate(self.categories)}

    @property
    def encoded_name(self) -> str:
        """The name of its column in the encoded form, if it is not a category."""
        return f"age of {self.name}" if self.kind == "date" else self.name

    @property
    def code_names(self) -> list[str]:
        """The names of the columns of its codes."""
        name, known = self.part_of or self.name, len(self.categories)
        unnamed = (f"{name}: category {code + 1}" for code in range(known, self.own_codes))
        return [
            *(f"{name} = {category}" for category in self.categories),
            *unnamed,
            *(f"{name}: bucket {k + 1} of {self.buckets}" for k in range(self.buckets)),
        ]

    def read_codes(self, values: Rows) -> Rows:
        """Return codes of the other system as those of this column; NaN for what is unknown."""
        table = np.array([code if code >= 0 else np.nan for code in self.recode], np.float32)
        known = ~np.isnan(values)
        codes = values[known].astype(np.int64)
        read = np.full(len(values), np.nan, np.float32)
        read[known] = np.where(codes < len(table), table[np.minimum(codes, len(table) - 1)], np.nan)
        return read

    def native(self, values: Rows) -> Rows:
        """Return values as trees take them."""
        if self.kind != "date":
            return values
        return (np.float32(self.origin) - values).astype(np.float32)

    def learn(
        self,
        values: Rows,
        missing: Missing = "indicator",
        default: float = 0.0,
        clip: bool = True,
    ) -> Feature:
        """Return this column, a number or a date, with what is learnt from training data."""
        known = values[~np.isnan(values)]
        learnt = replace(self, missing="default", default=default)
        if self.kind == "date" and len(known):
            learnt = replace(learnt, origin=float(known.max()))
            known = learnt.native(known)
        if len(known) < len(values):
            learnt = replace(learnt, missing=missing)
        if len(known) and missing != "default":  # an order statistic: the same bits everywhere
            middle = (len(known) - 1) // 2
            learnt = replace(learnt, default=float(np.partition(known, middle)[middle]))
        if clip and len(known) and self.kind == "number":
            learnt = replace(learnt, low=float(known.min()), high=float(known.max()))
        return learnt

    def choose_categories(self, values: Rows, limit: int, buckets: int) -> Feature:
        """Return this category with the most frequent categories; the others get the buckets."""
        if self.limit or self.buckets:  # its codes are fixed already
            return self
        known = values[~np.isnan(values)]
        counts = np.bincount(known.astype(np.int64), minlength=len(self.categories))
        return self.choose_by_counts(counts, limit, buckets)

    def choose_by_counts(self, counts: NDArray[np.int64], limit: int, buckets: int) -> Feature:
        """Return this category with the most frequent categories, by how often each occurs."""
        if self.limit or self.buckets:
            return self
        usual = np.lexsort(
            (np.array(self.categories, dtype=object), -counts[: len(self.categories)])
        )
        usual = usual[counts[usual] > 0]
        others = len(usual) - limit
        return replace(
            self,
            categories=tuple(self.categories[k] for k in usual[:limit]),
            buckets=buckets if others > 0 else 0,
            bucket_value=float(1 / np.sqrt(max(others / max(buckets, 1), 1))),
        )


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
        if same and all(_agree(a, b) for a, b in zip(self, columns, strict=True)):
            return data.X
        X = data.X.copy() if same else np.ascontiguousarray(data.X[:, places])
        X[:, [j for j, place in enumerate(places) if place < 0]] = np.nan
        for j, (ours, other) in enumerate(zip(self, columns, strict=True)):
            if not _agree(ours, other):
                X[:, j] = _recode(X[:, j], ours, other)
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
        return {"columns": [_plain(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Features:
        """Make a description from the values of :meth:`to_dict`; raise if they are not valid."""
        try:
            columns = tuple(_column(column) for column in record["columns"])
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


def _agree(ours: Feature, theirs: Feature) -> bool:
    if ours.kind == "category" or theirs.kind == "category":
        if ours.recode and not theirs.categories:
            return False
        return (
            ours.kind == theirs.kind
            and ours.categories == theirs.categories
            and (ours.own_codes, ours.buckets) == (theirs.own_codes, theirs.buckets)
        )
    return (ours.kind == "date") == (theirs.kind == "date")


def _recode(values: Rows, ours: Feature, theirs: Feature) -> Rows:
    if ours.kind != "category" or theirs.kind != "category":
        raise DataError(
            f"column {ours.name!r} was a {ours.kind} when the model was trained, but is a "
            f"{theirs.kind} here; bring it to the type that it had"
        )
    if ours.recode and not theirs.categories:
        return ours.read_codes(values)
    # Codes of theirs that have no name could be any category.
    unnamed = [np.nan] * (theirs.codes - len(theirs.categories))
    table = np.array([*map(ours.code_of, theirs.categories), *unnamed], np.float32)
    known = ~np.isnan(values)
    codes = np.full(len(values), np.nan, np.float32)
    codes[known] = table[values[known].astype(np.int64)]
    return codes


def _plain(column: Feature) -> dict[str, object]:
    plain = {**asdict(column), "categories": list(column.categories)}
    recode = plain.pop("recode")
    return {**plain, "recode": list(recode)} if recode else plain


def _column(record: Mapping[str, Any]) -> Feature:
    tuples = {name: tuple(record.get(name, ())) for name in ("categories", "recode")}
    column = Feature(**{**record, **tuples})
    numbers = [column.default, column.origin, column.bucket_value]
    numbers += [edge for edge in (column.low, column.high) if edge is not None]
    sound = (
        isinstance(column.name, str)
        and isinstance(column.part_of, str)
        and isinstance(column.separator, str)
        and column.kind in KINDS
        and column.missing in RULES
        and all(isinstance(category, str) for category in column.categories)
        and all(isinstance(n, int) and 0 <= n <= MOST_CODES for n in (column.limit, column.buckets))
        and all(isinstance(code, int) and -1 <= code < column.codes for code in column.recode)
        and all(isinstance(n, int | float) and np.isfinite(n) for n in numbers)
        and column.bucket_value > 0
        and (column.low is None or column.high is None or column.low <= column.high)
    )
    if not sound:
        raise ValueError(f"column {record.get('name')!r}")
    return column
