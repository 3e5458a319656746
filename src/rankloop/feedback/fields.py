"""Helpers of rankings and events: reading fields from plain values, and comparing values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TEXTS = ("id", "ranking_id", "item", "type", "policy")


def read_fields(kind: type, plain: Mapping[str, object]) -> dict[str, Any]:
    """Return the given fields by name, without those that are None; raise if one is unknown.

    This checks texts, numbers, the version and the timestamp; each class checks its arrays.
    """
    if not isinstance(plain, Mapping):
        raise DataError(f"a {kind.__name__} must be an object with fields; found {plain!r:.80}")
    known = {field.name: field for field in fields(kind)}
    unknown = plain.keys() - known.keys()
    if unknown:
        raise DataError(
            f"a {kind.__name__} has no field {min(map(str, unknown))!r}; it has: {', '.join(known)}"
        )
    values = {name: value for name, value in plain.items() if value is not None}
    for name, field in known.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and name not in values:
            raise DataError(f"a {kind.__name__} needs the field {name!r}")
    for name in _TEXTS:
        if name in values:
            check_text(name, values[name])
    if "query_id" in values and not isinstance(values["query_id"], str | int):
        raise DataError(f"query_id must be text or a whole number; found {values['query_id']!r}")
    if "version" in values and (type(values["version"]) is not int or values["version"] < 0):
        raise DataError(f"version must be a whole number of at least 0; found {values['version']}")
    for name in ("value", "timestamp"):
        if name in values:
            values[name] = as_number(name, values[name])
    return values


def check_text(name: str, value: object) -> None:
    """Raise unless this is printable text of a reasonable length."""
    if not isinstance(value, str) or not value or len(value) > 1000:
        raise DataError(f"{name} must be text of 1 to 1,000 characters; found {value!r:.80}")
    if not value.isprintable():
        raise DataError(f"{name} must be printable text; found {value!r:.80}")


def as_number(name: str, value: object) -> float:
    """Return a finite number, or raise; True and False are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"{name} must be a number; found {value!r:.80}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise DataError(f"{name} must be a finite number; found {value!r:.80}")
    return number


def same_values(value: DataclassInstance, other: object) -> bool:
    """Return whether two values have the same type and equal fields."""
    return type(value) is type(other) and all(
        _same(getattr(value, f.name), getattr(other, f.name)) for f in fields(value)
    )


def _same(value: object, other: object) -> bool:
    """Return whether two fields are equal; NaN equals NaN, so that a ranking equals its copy."""
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
        nan = value.dtype.kind == "f" and other.dtype.kind == "f"
        return np.array_equal(value, other, equal_nan=nan)
    return type(value) is type(other) and bool(value == other)
