"""Forms: the expected type, shape and range of a learnt value, checked when it is loaded.

A ranker gives the form of everything it learns (:meth:`Ranker._forms`), so that a file is checked
completely before any of it is used: numbers must be finite and in their range, arrays must have the
right shape and type, and members must be rankers of the right kind.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop.exceptions import ModelError

MAX = 2**53
"""Counts are below this number, so that they are also exact as float64."""


class Form(ABC):
    """A condition on one value, in words and in code."""

    @abstractmethod
    def __str__(self) -> str:
        """Say what is expected, for example "an array of 3 float64"."""

    @abstractmethod
    def fits(self, value: object) -> bool:
        """Whether a value is as expected; never raises."""

    def check(self, name: str, value: object) -> None:
        """Raise unless a value fits."""
        if not self.fits(value):
            raise ModelError(f"{name} must be {self}; found {shown(value)}")


@dataclass(frozen=True)
class Array(Form):
    """An array of finite numbers of one type and shape; None in the shape means any length.

    >>> Array((2, None)).check("rows_", np.zeros((3, 5)))
    Traceback (most recent call last):
    rankloop.exceptions.ModelError: rows_ must be finite float64 of shape (2, any); found float64 \
of shape (3, 5)
    """

    shape: tuple[int | None, ...]
    dtype: type[np.generic] = np.float64
    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        bounds = "" if math.isinf(self.low) else f" from {self.low:g}"
        bounds += "" if math.isinf(self.high) else f" to {self.high:g}"
        shape = ", ".join("any" if n is None else str(n) for n in self.shape)
        return f"finite {np.dtype(self.dtype)}{bounds} of shape ({shape})"

    def fits(self, value: object) -> bool:
        """Whether it is such an array."""
        return (
            isinstance(value, np.ndarray)
            and value.dtype == self.dtype
            and value.ndim == len(self.shape)
            and all(n in (None, m) for n, m in zip(self.shape, value.shape, strict=True))
            and bool(np.isfinite(value).all())
            and bool(((value >= self.low) & (value <= self.high)).all())
        )


@dataclass(frozen=True)
class Whole(Form):
    """A whole number between two bounds, which are included."""

    low: int = 0
    high: int = MAX - 1

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def fits(self, value: object) -> bool:
        """Whether it is such a number; True and False are not."""
        return type(value) is int and self.low <= value <= self.high


@dataclass(frozen=True)
class FiniteNumber(Form):
    """A finite number of at least `low`, stored as a float."""

    low: float = 0.0

    def __str__(self) -> str:
        return f"a finite number of at least {self.low:g}"

    def fits(self, value: object) -> bool:
        """Whether it is such a number."""
        return type(value) is float and math.isfinite(value) and value >= self.low


@dataclass(frozen=True)
class Text(Form):
    """Text."""

    def __str__(self) -> str:
        return "text"

    def fits(self, value: object) -> bool:
        """Whether it is text."""
        return isinstance(value, str)


@dataclass(frozen=True)
class Names(Form):
    """The names of `count` features, or no names."""

    count: int

    def __str__(self) -> str:
        return f"the names of {self.count} features, or none"

    def fits(self, value: object) -> bool:
        """Whether these are names."""
        return (
            isinstance(value, list | tuple)
            and len(value) in (0, self.count)
            and all(isinstance(name, str) for name in value)
        )


@dataclass(frozen=True)
class Nothing(Form):
    """None, for a part that is learnt only with other parameters."""

    def __str__(self) -> str:
        return "null"

    def fits(self, value: object) -> bool:
        """Whether it is None."""
        return value is None


@dataclass(frozen=True)
class Values(Form):
    """Plain values and arrays by name; the class that made them checks them."""

    def __str__(self) -> str:
        return "values by name"

    def fits(self, value: object) -> bool:
        """Whether it has names."""
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)


@dataclass(frozen=True)
class FittedRanker(Form):
    """A fitted ranker of one kind with `n_features` features; None means any number."""

    kind: type[Any]
    n_features: int | None

    def __str__(self) -> str:
        width = "" if self.n_features is None else f" {self.n_features}"
        return f"a ranker ({self.kind.__name__}) that has learnt from{width} features"

    def fits(self, value: object) -> bool:
        """Whether it is such a ranker."""
        return (
            isinstance(value, self.kind)
            and value.is_fitted
            and self.n_features in (None, value.n_features_in_)
        )


@dataclass(frozen=True)
class ListOf(Form):
    """A list of `count` values of one form; None means any number."""

    form: Form
    count: int | None = None

    def __str__(self) -> str:
        return f"a list of {'any number' if self.count is None else self.count} of {self.form}"

    def fits(self, value: object) -> bool:
        """Whether all are of that form."""
        return (
            isinstance(value, list)
            and self.count in (None, len(value))
            and all(self.form.fits(item) for item in value)
        )


@dataclass(frozen=True)
class Anything(Form):
    """Finite numbers of any shape, for parts whose form a ranker does not give."""

    def __str__(self) -> str:
        return "finite numbers"

    def fits(self, value: object) -> bool:
        """Whether these are numbers."""
        if isinstance(value, np.ndarray):
            return bool(np.isfinite(value).all())
        return FiniteNumber(-math.inf).fits(value) or Whole(-MAX + 1).fits(value)


def shown(value: object) -> str:
    """Describe a value in a few words.

    >>> shown(np.zeros((2, 3))), shown([1, 2]), shown("text")
    ('float64 of shape (2, 3)', 'list', "'text'")
    """
    if isinstance(value, np.ndarray):
        finite = "" if np.isfinite(value).all() else ", not all finite"
        return f"{value.dtype} of shape {value.shape}{finite}"
    if isinstance(value, str | int | float | None):
        text = repr(value) if not isinstance(value, int) or abs(value) < MAX else "a huge number"
        return text if len(text) <= 40 else f"{text[:37]}..."
    return type(value).__name__
