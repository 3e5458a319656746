"""`given`: a value that the caller sends with each item."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.column import BUCKETS, MOST_CODES, Feature
from rankloop.features.fields import Field
from rankloop.features.kinds.base import PythonKind, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.features.columns import Features
    from rankloop.features.options import Options

GivenType = Literal["number", "boolean", "date", "category", "categories"]
_TYPES: tuple[GivenType, ...] = ("number", "boolean", "date", "category", "categories")
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1)
_LONGEST = 100
_MISSING = float("nan")


@dataclass(frozen=True)
class Given(PythonKind):
    """A value that comes with the request, as in `bm25 = { given = "number" }`.

    given : its type: `number`, `boolean`, `date`, `category`, or `categories` for a list of them
    default : the value of a number if an item has none; without it, the value is missing
    origin : the date from which ages are counted back, for a date
    values : the categories that have a code of their own, in the order of their codes
    buckets : how many codes all other categories share by a hash of their names; with 0, they count
        as missing
    longest : how many categories of a list count, each in a column; further ones are left out
    separator : what divides a list that is sent as one text

    Cost: a copy; a lookup for each category.
    """

    type: GivenType = "number"
    default: float | None = None
    origin: float = 0.0
    values: tuple[str, ...] = ()
    buckets: int = 0
    longest: int = 1
    separator: str = ""

    keyword: ClassVar[str] = "given"

    @classmethod
    def read(cls, name: str, options: Options) -> Given:
        """Read the type, and the options that belong to it."""
        kind: GivenType = options.choice("given", _TYPES)  # type: ignore[assignment]
        if kind == "number":
            return cls(name, default=_read_default(options))
        if kind == "date":
            return cls(name, kind, origin=_read_origin(options))
        if kind == "boolean":
            return cls(name, kind)
        words = options.take("values", [])
        known = isinstance(words, list | tuple) and all(isinstance(word, str) for word in words)
        if not known or len(set(words)) < len(words) or len(words) > MOST_CODES:
            raise options.error("values must be a list of texts, all different")
        buckets = options.whole("buckets", BUCKETS, 0, MOST_CODES)
        if not words and not buckets:
            raise options.error("give values, or buckets of at least 1")
        longest, separator = 1, ""
        if kind == "categories":
            longest = options.whole("longest", 10, 1, _LONGEST)
            separator = options.take("separator", "")
            if not isinstance(separator, str):
                raise options.error(f"separator must be a text; found {separator!r}")
        return cls(
            name,
            kind,
            values=tuple(words),
            buckets=buckets,
            longest=longest,
            separator=separator,
        )

    @cached_property
    def columns(self) -> tuple[Feature, ...]:
        """One column, or one for each place of a list; without a default, values may be missing."""
        if self.type == "number" and self.default is not None:
            return (Feature(self.name, "number", default=self.default),)
        if self.type == "number" or self.type == "boolean" or self.type == "date":
            return (Feature(self.name, self.type, missing="indicator", origin=self.origin),)
        codes: dict[str, Any] = {"categories": self.values, "buckets": self.buckets}
        if self.type == "category":
            return (Feature(self.name, "category", **codes),)
        codes |= {"part_of": self.name, "separator": self.separator}
        return tuple(
            Feature(f"{self.name} {k + 1}", "category", **codes) for k in range(self.longest)
        )

    def read_value(self, sent: object) -> Sequence[float]:
        """Return what was sent as the numbers of the columns; raise if it is of another type."""
        if sent is None:
            return [_MISSING] * self.longest
        if self.type == "number":
            return [_number(sent)]
        if self.type == "date":
            return [_days(self.name, sent)]
        if self.type == "boolean":
            return [1.0 if Field(self.name, "boolean").check(sent) else 0.0]
        code_of = self.columns[0].code_of
        if self.type == "category":
            return [code_of(_word(self.name, sent))]
        if isinstance(sent, str):
            sent = sent.split(self.separator) if self.separator else [sent]
        if not isinstance(sent, list | tuple):
            raise DataError(f"field {self.name!r} must be a text, or a list of texts")
        some = sent[: self.longest]
        words = ["" if word is None else _word(self.name, word).strip() for word in some]
        codes = [code_of(word) if word else _MISSING for word in words]
        return codes + [_MISSING] * (self.longest - len(codes))

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Copy what the caller sent."""
        for k, column in enumerate(self.columns):
            out[:, k] = view.given(column.name)


def given_like(features: Features) -> dict[str, dict[str, object]]:
    """Return definitions for a loop whose callers send the columns that a model was trained on.

    >>> from rankloop.features.columns import Features
    >>> given_like(Features((Feature("price"), Feature("brand", "category", ("a", "b")))))["brand"]
    {'given': 'category', 'values': ['a', 'b'], 'buckets': 0}
    """
    given: dict[str, dict[str, object]] = {}
    for members in features.together:
        column = members[0][1]
        options: dict[str, object] = {"given": column.kind}
        if column.kind == "date" and column.origin:
            options["origin"] = str(np.datetime64(int(column.origin), "D"))
        if column.kind == "category":
            options |= {"values": list(column.categories), "buckets": column.buckets}
        if column.part_of:
            options |= {"given": "categories", "longest": len(members)}
            if column.separator:
                options["separator"] = column.separator
        given[column.part_of or column.name] = options
    return given


def _read_default(options: Options) -> float | None:
    default = options.take("default")
    if default is None:
        return None
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise options.error(f"default must be a number; found {default!r}")
    return float(default)


def _read_origin(options: Options) -> float:
    origin = options.take("origin", "1970-01-01")
    try:
        return float(np.floor(_days("origin", origin)))
    except DataError as error:
        raise options.error(str(error)) from None


def _number(sent: object) -> float:
    if not isinstance(sent, bool | int | float):
        raise DataError("expected a number, true, false or null")
    try:
        return float(sent)
    except OverflowError:
        return float("inf")


def _days(name: str, sent: object) -> float:
    """Return the days from 1970 to a date, as tables are read: with the fraction of its time."""
    checked = Field(name, "date").check(sent)
    if isinstance(sent, str):  # exactly: the checked value has no microseconds
        instant = datetime.fromisoformat(sent)
        return ((instant if instant.tzinfo else instant.replace(tzinfo=UTC)) - _EPOCH) / _DAY
    assert isinstance(checked, float)
    return timedelta(milliseconds=checked) / _DAY


def _word(name: str, sent: object) -> str:
    """Return a category as text, as tables are read: a whole number without a fraction."""
    if isinstance(sent, float) and sent.is_integer():
        sent = int(sent)
    return str(Field(name, "category").check(sent))
