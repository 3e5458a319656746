"""What every kind of feature says: which counters it needs, its columns, and their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from rankloop.features.column import Feature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.features.counters import Counter
    from rankloop.features.fields import Side
    from rankloop.features.options import Options, Ref

    Floats = NDArray[np.float64]
    Column = NDArray[np.float32]


class Step(NamedTuple):
    """What the core writes into columns; `cpp/features/steps.hpp` has the formulas.

    operation : `number`, `age`, `code`, `flags` or `length` of a field; `ratio`, `count`, `since`
        or `affinity` of a counter
    side, number : of the field; or the number of the counter
    overall : for `affinity`, the counter of all categories
    limit, buckets : of categories
    prior : of ratios
    """

    operation: str
    side: Side
    number: int
    overall: int = 0
    limit: int = 0
    buckets: int = 1
    prior: float = 0.0


class Numbers(Protocol):
    """By which numbers the core knows fields and counters."""

    def field(self, ref: Ref) -> int:
        """Return that of a field among those of its side and of its type."""

    def counter(self, counter: Counter) -> int:
        """Return that of a counter."""


class View(Protocol):
    """What a feature may look at: the items of a request, and the state before it."""

    @property
    def n(self) -> int:
        """The number of items."""

    @property
    def at(self) -> int:
        """The time of the request, in milliseconds."""

    def codes(self, ref: Ref) -> Column:
        """Return a number for the category of each item; NaN is missing."""

    def vectors(self, ref: Ref) -> Column:
        """Return a vector for each item, or one for all of them."""

    def match(self, query: Ref, text: Ref, how: str) -> Floats:
        """Return how well the text of each item fits a text of the request."""

    def cross(self, parts: Sequence[str], buckets: int) -> Column:
        """Return a hash of several categories for each item: 0 to buckets - 1."""

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


@dataclass(frozen=True)
class CoreKind(Kind):
    """A kind that the core computes, for all items at once."""

    @abstractmethod
    def step(self, numbers: Numbers) -> Step:
        """Return what to compute."""


@dataclass(frozen=True)
class PythonKind(Kind):
    """A kind that looks at a view; the columns of all kinds of the core are there already."""

    @abstractmethod
    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Write the values of all items into columns of a matrix: rows x columns."""
