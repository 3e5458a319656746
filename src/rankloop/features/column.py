"""One column of a data set: a number, a boolean, a date or a category."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.hashing import bucket_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

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


def agree(ours: Feature, theirs: Feature) -> bool:
    """Whether values of one column mean the same in the other."""
    if ours.kind == "category" or theirs.kind == "category":
        if ours.recode and not theirs.categories:
            return False
        return (
            ours.kind == theirs.kind
            and ours.categories == theirs.categories
            and (ours.own_codes, ours.buckets) == (theirs.own_codes, theirs.buckets)
        )
    return (ours.kind == "date") == (theirs.kind == "date")


def recode(values: Rows, ours: Feature, theirs: Feature) -> Rows:
    """Return the codes of another category as codes of ours; NaN for one that we do not have."""
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


def to_plain(column: Feature) -> dict[str, object]:
    """Return a column as plain values."""
    plain = {**asdict(column), "categories": list(column.categories)}
    table = plain.pop("recode")
    return {**plain, "recode": list(table)} if table else plain


def from_plain(record: Mapping[str, Any]) -> Feature:
    """Return the column of plain values; raise a ValueError if they are not sound."""
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
