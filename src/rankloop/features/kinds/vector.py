"""`vector`, `cosine`, `dot` and `distance`: vectors as columns, or compared with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.features.column import Feature
from rankloop.features.fields import SIDES
from rankloop.features.kinds.base import PythonKind, View

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Vector(PythonKind):
    """A column for each number of a vector, as in `image = { vector = "item.image" }`.

    vector : the field

    Cost: one number a column, which is also stored with every ranking.
    """

    field: Ref

    keyword: ClassVar[str] = "vector"

    @classmethod
    def read(cls, name: str, options: Options) -> Vector:
        """Read the field."""
        return cls(name, options.field(options.take("vector"), ("vector",), SIDES))

    @property
    def columns(self) -> tuple[Feature, ...]:
        """A number for each; a missing vector is a vector of zeros for linear rankers."""
        return tuple(Feature(f"{self.name}[{k}]") for k in range(self.field.field.size))

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Copy the vectors."""
        out[:] = view.vectors(self.field)


@dataclass(frozen=True)
class Cosine(PythonKind):
    """The cosine of the angle between two vectors, x y / (|x| |y|).

    As in `alike = { cosine = ["request.image", "item.image"] }`. It is missing if a vector is, or
    has only zeros.

    cosine : two fields with vectors of one size

    Cost: O(size) an item.
    """

    first: Ref
    second: Ref

    keyword: ClassVar[str] = "cosine"

    @classmethod
    def read(cls, name: str, options: Options) -> Self:
        """Read the two fields."""
        found = options.take(cls.keyword)
        if not isinstance(found, list | tuple) or len(found) != 2:
            raise options.error(f"{cls.keyword} needs two fields with vectors; found {found!r}")
        first, second = (options.field(text, ("vector",), SIDES) for text in found)
        if first.field.size != second.field.size:
            raise options.error(
                f"{first} is of the type {first.field.text}, and {second} of {second.field.text}; "
                "they must have one size"
            )
        return cls(name, first, second)

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Compare the vectors."""
        x, y = view.vectors(self.first), view.vectors(self.second)
        if len(x) < len(y):  # one vector for all items; the order of products does not matter
            x, y = y, x
        if len(x) < view.n:
            x = np.repeat(x, view.n, axis=0)
        out[:, 0] = _core.row_likeness(x, y, self.keyword)


@dataclass(frozen=True)
class Dot(Cosine):
    """The dot product of two vectors, x y, as in `{ dot = ["user.taste", "item.image"] }`.

    dot : two fields with vectors of one size

    Cost: O(size) an item.
    """

    keyword: ClassVar[str] = "dot"


@dataclass(frozen=True)
class Distance(Cosine):
    """The Euclidean distance of two vectors, |x - y|.

    distance : two fields with vectors of one size

    Cost: O(size) an item.
    """

    keyword: ClassVar[str] = "distance"
