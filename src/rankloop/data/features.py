"""What the columns of a data set are, and how they become numbers that a ranker can use.

A data set that was read from a table knows what each column is (:class:`Feature`: a number, a
boolean, a date or a category). :meth:`Features.learn` adds what follows from the training data: the
value for missing values, the range of numbers, and how often each category occurs. From then on the
description is fixed, so that a row has the same meaning whenever it is scored.

There are two forms. Trees get the *native* form: NaN for missing values, dates as ages, and
categories as whole numbers. All other rankers get the *encoded* form, which has only finite
numbers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rankloop.exceptions import DataError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

    Rows = NDArray[np.float32]

Kind = Literal["number", "boolean", "date", "category"]
Missing = Literal["indicator", "median", "default"]
KINDS: tuple[str, ...] = get_args(Kind)
RULES: tuple[str, ...] = get_args(Missing)
FEW = 16
"""Categories up to which each gets a column of its own; more share one, of how usual each is."""
MAX = 1000
"""The most frequent categories are distinguished, up to this number; others count as missing."""


@dataclass(frozen=True)
class Feature:
    """One column: what it is, and what to do with values that are missing or out of range.

    name : the name of the column
    kind : `number`, `boolean`, `date` (days since 1970) or `category` (its index in `categories`)
    categories : the meaning of each code of a category
    missing : how missing values are encoded: `indicator` (by the default, and by 1 in a further
        column), `median` or `default`
    default : the value that replaces a missing value in the encoded form
    low, high : the range to which encoded numbers are limited; None if there is no limit
    origin : for dates, the day from which ages are counted back
    shares : for categories, the share of training rows with each category
    """

    name: str
    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    missing: Missing = "default"
    default: float = 0.0
    low: float | None = None
    high: float | None = None
    origin: float = 0.0
    shares: tuple[float, ...] = ()

    def native(self, values: Rows) -> Rows:
        """Return values as trees take them."""
        if self.kind != "date":
            return values
        return (np.float32(self.origin) - values).astype(np.float32)

    def encoded(self, values: Rows) -> Iterator[Rows]:
        """Yield the columns for linear rankers."""
        if self.kind == "category":
            if len(self.categories) <= FEW:
                yield from ((values == code).astype(np.float32) for code in self._codes)
            else:
                known = np.where(np.isnan(values), len(self.shares), values).astype(np.int64)
                yield np.append(np.array(self.shares, np.float32), np.float32(0))[known]
            return
        absent = np.isnan(values)
        filled = np.where(absent, np.float32(self.default), self.native(values))
        if self.low is not None or self.high is not None:
            filled = np.clip(filled, self.low, self.high)
        yield filled.astype(np.float32)
        if self.missing == "indicator":
            yield absent.astype(np.float32)

    @property
    def encoded_names(self) -> list[str]:
        """The names of those columns."""
        if self.kind == "category":
            if len(self.categories) <= FEW:
                return [f"{self.name} = {category}" for category in self.categories]
            return [f"share of {self.name}"]
        name = f"age of {self.name}" if self.kind == "date" else self.name
        return [name, f"{self.name} is missing"] if self.missing == "indicator" else [name]

    @property
    def _codes(self) -> range:
        return range(len(self.categories))

    def learn(
        self,
        values: Rows,
        missing: Missing = "indicator",
        default: float = 0.0,
        clip: bool = True,
    ) -> Feature:
        """Return this column with what is learnt from training data."""
        known = values[~np.isnan(values)]
        if self.kind == "category":
            return self._learn_categories(known, len(values))
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

    def _learn_categories(self, known: Rows, rows: int) -> Feature:
        counts = np.bincount(known.astype(np.int64), minlength=len(self.categories))
        usual = np.lexsort((np.array(self.categories, dtype=object), -counts))[:MAX]
        usual = usual[counts[usual] > 0]
        return replace(
            self,
            categories=tuple(self.categories[k] for k in usual),
            shares=tuple((counts[usual] / max(rows, 1)).tolist()),
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

    @property
    def encoded_names(self) -> list[str]:
        """The names of the columns of the encoded form."""
        return [name for column in self.columns for name in column.encoded_names]

    @property
    def sources(self) -> list[int]:
        """Which column each column of the encoded form comes from."""
        return [j for j, column in enumerate(self.columns) for _ in column.encoded_names]

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
    ) -> Features:
        """Learn a description from training data.

        Parameters
        ----------
        missing : how missing values are encoded: by the `median`, by the median and an `indicator`
            column if the training data has missing values, or by the `default`
        default : this default, which is also used for a column without any value
        clip : whether to limit encoded numbers to the range of the training data; not for the start
            of a stream

        Cost: a pass over the columns, and a partition of each; memory of two columns.
        """
        if missing not in RULES:
            raise DataError(f"missing must be {', '.join(RULES)}; found {missing!r}")
        known = cls.of(data).columns
        return cls(
            tuple(
                column.learn(data.X[:, j], missing, default, clip) for j, column in enumerate(known)
            )
        )

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
            places = self.places(theirs.names)
        columns = [theirs.columns[place] for place in places]
        same = places == list(range(len(theirs)))
        if same and all(_agree(a, b) for a, b in zip(self, columns, strict=True)):
            return data.X
        X = data.X.copy() if same else np.ascontiguousarray(data.X[:, places])
        for j, (ours, other) in enumerate(zip(self, columns, strict=True)):
            if not _agree(ours, other):
                X[:, j] = _recode(X[:, j], ours, other)
        return X

    def places(self, names: Sequence[str]) -> list[int]:
        """Return the position of each column of this description among names."""
        place = {name: j for j, name in enumerate(names)}
        absent = [name for name in self.names if name not in place]
        if absent:
            shown = ", ".join(map(repr, absent[:20])) + (" ..." if len(absent) > 20 else "")
            raise DataError(
                f"the data lacks {len(absent)} of the {len(self)} features that the model was "
                f"trained on: {shown}; it has {', '.join(map(repr, list(names)[:20]))}"
            )
        return [place[name] for name in self.names]

    def natural(self, X: Rows) -> Rows:
        """Return rows in the native form, for trees."""
        if all(column.kind != "date" for column in self.columns):
            return X
        columns = (column.native(X[:, j]) for j, column in enumerate(self.columns))
        return np.stack(list(columns), axis=1)

    def encode(self, X: Rows) -> Rows:
        """Return rows in the encoded form: finite numbers."""
        out = np.empty((len(X), len(self.encoded_names)), np.float32)
        place = 0
        for j, column in enumerate(self.columns):
            for values in column.encoded(X[:, j]):
                out[:, place] = values
                place += 1
        return out

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"columns": [_plain(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Features:
        """Make a description from the values of :meth:`to_dict`; raise if they are not valid."""
        try:
            columns = tuple(_column(one) for one in told["columns"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"its description of features is damaged: {error!r}") from None
        return cls(columns)


def needs_description(data: QueryDataset) -> bool:
    """Whether rankers need encoded data: it has missing values, dates or categories."""
    return data.has_missing or (data.features is not None and not data.features.are_numbers)


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
        return ours.kind == theirs.kind and ours.categories == theirs.categories
    return (ours.kind == "date") == (theirs.kind == "date")


def _recode(values: Rows, ours: Feature, theirs: Feature) -> Rows:
    if ours.kind != "category" or theirs.kind != "category":
        raise DataError(
            f"column {ours.name!r} was a {ours.kind} when the model was trained, but is a "
            f"{theirs.kind} here; bring it to the type that it had"
        )
    code = {category: k for k, category in enumerate(ours.categories)}
    table = np.array([code.get(category, np.nan) for category in theirs.categories], np.float32)
    known = ~np.isnan(values)
    found = np.full(len(values), np.nan, np.float32)
    found[known] = table[values[known].astype(np.int64)]
    return found


def _plain(column: Feature) -> dict[str, object]:
    told = asdict(column)
    return {**told, "categories": list(column.categories), "shares": list(column.shares)}


def _column(told: Mapping[str, Any]) -> Feature:
    column = Feature(
        **{**told, "categories": tuple(told["categories"]), "shares": tuple(told["shares"])}
    )
    numbers = [column.default, column.origin, *column.shares]
    numbers += [edge for edge in (column.low, column.high) if edge is not None]
    sound = (
        isinstance(column.name, str)
        and column.kind in KINDS
        and column.missing in RULES
        and all(isinstance(category, str) for category in column.categories)
        and (not column.shares or len(column.shares) == len(column.categories))
        and all(isinstance(n, int | float) and np.isfinite(n) for n in numbers)
    )
    if not sound:
        raise ValueError(f"column {told.get('name')!r}")
    return column
