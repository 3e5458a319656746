"""What every kind of feature says: which counters it needs, its columns, and their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from rankloop import _core
from rankloop.features.columns import Feature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rankloop.features.counters import Counter
    from rankloop.features.options import Options, Ref

    Floats = NDArray[np.float64]
    Column = NDArray[np.float32]


class Counts(NamedTuple):
    """The sums of a counter, one for each key; NaN if a part of the key is missing.

    n, m : of the keys, in the order of the items
    total_n, total_m : of all keys together
    offsets : where the keys of each item begin, if an item can have several; else None
    """

    n: Floats
    m: Floats
    total_n: float
    total_m: float
    offsets: NDArray[np.int64] | None

    @property
    def usual(self) -> float:
        """The ratio over all keys; NaN before the first event."""
        return self.total_n / self.total_m if self.total_m > 0 else float("nan")

    def shrink(self, prior: float, towards: float) -> Floats:
        """Return (n + prior r) / (m + prior), where r is `towards`."""
        if prior > 0:
            return (self.n + prior * towards) / (self.m + prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.m > 0, self.n / self.m, np.nan)

    def by_item(self, values: Floats) -> Floats:
        """Return the mean of each item's values."""
        return values if self.offsets is None else _core.mean_by_offsets(values, self.offsets)


class View(Protocol):
    """What a feature may look at: the items of a request, and the state before it."""

    @property
    def n(self) -> int:
        """The number of items."""

    @property
    def at(self) -> int:
        """The time of the request, in milliseconds."""

    def numbers(self, ref: Ref) -> Floats:
        """Return a number, boolean or date for each item."""

    def codes(self, ref: Ref, limit: int, buckets: int) -> Column:
        """Return the code of a category for each item.

        The first `limit` categories have codes of their own, in order of appearance; later ones
        share `buckets` codes.
        """

    def flags(self, ref: Ref, limit: int, buckets: int) -> Column:
        """Return 1 in the column of each category that an item has, and 0 in the others."""

    def lengths(self, ref: Ref) -> Floats:
        """Return how many categories, or words, each item has."""

    def vectors(self, ref: Ref) -> Column:
        """Return a vector for each item, or one for all of them."""

    def match(self, query: Ref, text: Ref, how: str) -> Floats:
        """Return how well the text of each item fits a text of the request."""

    def cross(self, parts: Sequence[str], buckets: int) -> Column:
        """Return a hash of several categories for each item: 0 to buckets - 1."""

    def counts(self, counter: Counter) -> Counts:
        """Return the sums of a counter for the keys of the items."""

    def given(self, name: str) -> Column:
        """Return the values that the caller sent."""

    def above(self, name: str) -> Column:
        """Return the values of a feature that is defined above this one."""


@dataclass(frozen=True)
class Kind(ABC):
    """A definition of a feature; subclasses are the kinds."""

    name: str

    keyword: ClassVar[str]
    """How definitions name the kind: `{ number = ... }`."""

    @classmethod
    @abstractmethod
    def read(cls, name: str, options: Options) -> Kind:
        """Make a feature from what people wrote; raise for what is not valid."""

    @property
    def columns(self) -> tuple[Feature, ...]:
        """The columns of the matrix: one number, unless a kind says otherwise."""
        return (Feature(self.name, "number", missing="indicator"),)

    @property
    def counters(self) -> tuple[Counter, ...]:
        """The counters that it reads."""
        return ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of keys that it reads without a counter."""
        return ()

    @property
    def texts(self) -> tuple[Ref, ...]:
        """The texts of items whose words it reads."""
        return ()

    def labels(self, categories: Callable[[str], list[str]]) -> dict[str, str]:
        """Return readable names of columns; `categories` lists those of a field."""
        del categories  # few kinds have any
        return {}

    @abstractmethod
    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Write the values of all items into columns of a matrix: rows x columns."""
