"""Fields: the raw values of items, users and requests, and which values each type accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rankloop._utils.names import unknown_name_error
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

FieldType = Literal["number", "boolean", "text", "category", "categories", "date", "vector"]
Side = Literal["item", "user", "request"]
Value = float | str | tuple[str, ...] | bytes | None
"""A checked value: a number (dates in milliseconds), a text, categories, or the bytes of a vector
of float32; None if missing."""

TYPES: tuple[str, ...] = get_args(FieldType)
SIDES: tuple[Side, ...] = get_args(Side)
_VECTOR = re.compile(r"vector\((\d+)\)")
_MAX_SIZE = 4096
_MAX_TEXT = 65_536
_MAX_NUMBER = 3.4e38  # of float32


@dataclass(frozen=True)
class Field:
    """A named value of an item, a user or a request.

    name : as it is sent
    type : `number`, `boolean`, `text`, `category`, `categories` (a list of them), `date` or
        `vector`
    size : how many numbers a vector has

    >>> Field.read("genres", "categories").check(["Drama", "War"])
    ('Drama', 'War')
    >>> Field.read("released", "date").check("1970-01-02")
    86400000.0
    """

    name: str
    type: FieldType
    size: int = 0

    @classmethod
    def read(cls, name: str, text: object) -> Field:
        """Read the type of a field, such as `number` or `vector(64)`."""
        vector = _VECTOR.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
        if vector and 1 <= int(vector[1]) <= _MAX_SIZE:
            return cls(name, "vector", int(vector[1]))
        for known in get_args(FieldType):
            if text == known != "vector":
                return cls(name, known)
        shown = ", ".join(kind for kind in TYPES if kind != "vector")
        raise DataError(
            f"field {name!r} has the type {text!r}; expected {shown}, or vector(n) with n from 1 "
            f"to {_MAX_SIZE:,}"
        )

    @property
    def text(self) -> str:
        """The type as it is written."""
        return f"vector({self.size})" if self.type == "vector" else self.type

    def check(self, value: object) -> Value:
        """Return a value as it is kept; raise for a value of another type."""
        if value is None:
            return None
        if type(value) is float and self.type == "number" and -_MAX_NUMBER <= value <= _MAX_NUMBER:
            return value  # as almost all are: checked here for speed
        checked = _vector(value, self.size) if self.size else _CHECKS[self.type](value)
        if checked is None:
            raise DataError(
                f"field {self.name!r} must be {_EXPECTED[self.type].format(self.size)}; found "
                f"{_shorten(value)}{_hint(value)}"
            )
        return checked


def check_fields(
    fields: Mapping[str, Field], values: Mapping[str, object], owner: str
) -> dict[str, Value]:
    """Return the checked values of known fields; raise for unknown names and wrong types."""
    checked = {}
    for name, value in values.items():
        if name not in fields:
            raise DataError(f"{owner}: {unknown_name_error('field', name, fields)}")
        try:
            checked[name] = fields[name].check(value)
        except DataError as error:
            raise DataError(f"{owner}: {error}") from None
    return checked


def _number(value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= _MAX_NUMBER else None  # NaN is no number: write null


def _boolean(value: object) -> Value:
    is_truth = isinstance(value, bool | np.bool_) or (_number(value) in (0.0, 1.0))
    return float(bool(value)) if is_truth else None


def _text(value: object) -> Value:
    is_text = isinstance(value, str) and len(value) <= _MAX_TEXT and _is_unicode(value)
    return value if is_text else None  # type: ignore[return-value]


def _is_unicode(text: str) -> bool:
    """Return whether a text can be stored: halves of characters cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _category(value: object) -> Value:
    """Return a category as text; whole numbers and truth values are categories too."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return str(int(value)) if isinstance(value, int | np.integer) else None


def _categories(value: object) -> Value:
    """Return categories without repetitions; a single text is a list of one."""
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list | tuple | np.ndarray):
        return None
    words = [_category(word) for word in value]
    if len(words) > 1000 or any(word is None for word in words):
        return None
    return tuple(dict.fromkeys(word for word in words if isinstance(word, str)))


def _date(value: object) -> Value:
    """Return milliseconds since 1970, UTC; a time without an offset is in UTC."""
    if isinstance(value, str):
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            return None
        return _milliseconds(instant)
    if isinstance(value, datetime):
        return _milliseconds(value)
    number = _number(value)
    return number if isinstance(number, float) and abs(number) < 2**53 else None


def _milliseconds(instant: datetime) -> float:
    aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return float(since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000)


def _vector(value: object, size: int) -> Value:
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != size:
        return None
    numbers = [_number(x) for x in value]
    if any(number is None for number in numbers):
        return None
    return np.array(numbers, "<f4").tobytes()


_CHECKS = {
    "number": _number,
    "boolean": _boolean,
    "text": _text,
    "category": _category,
    "categories": _categories,
    "date": _date,
}
_EXPECTED = {
    "number": "a finite number",
    "boolean": "true or false",
    "text": f"a text of at most {_MAX_TEXT:,} characters",
    "category": "a text or a whole number",
    "categories": "a text, or a list of at most 1,000 texts",
    "date": "a date such as '2024-05-31' or '2024-05-31T12:00:00Z', or milliseconds since 1970",
    "vector": "a list of {} finite numbers",
}


def _hint(value: object) -> str:
    """Say how to send a missing value, if it looks like one."""
    is_gap = value == "" if isinstance(value, str) else isinstance(value, float) and value != value
    return "; send null for a missing value" if is_gap else ""


def _shorten(value: object) -> str:
    shown = repr(value)
    more = f" (of {len(value)} values)" if isinstance(value, list | tuple | np.ndarray) else ""
    return (shown if len(shown) <= 60 else shown[:57] + "...") + more
