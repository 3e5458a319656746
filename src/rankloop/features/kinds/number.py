"""`number` and `boolean`: a field as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.column import Feature
from rankloop.features.fields import SIDES
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Number(CoreKind):
    """A number of an item, a user or a request, as in `price = { number = "item.price" }`.

    number : the field

    Cost: one read an item.
    """

    field: Ref

    keyword: ClassVar[str] = "number"

    @classmethod
    def read(cls, name: str, options: Options) -> Number:
        """Read the field."""
        return cls(name, options.field(options.take("number"), ("number",), SIDES))

    def step(self, numbers: Numbers) -> Step:
        """Copy the field."""
        return Step("number", self.field.side, numbers.field(self.field))


@dataclass(frozen=True)
class Boolean(CoreKind):
    """A truth value as 0 or 1, as in `stocked = { boolean = "item.stocked" }`.

    boolean : the field

    Cost: one read an item.
    """

    field: Ref

    keyword: ClassVar[str] = "boolean"

    @classmethod
    def read(cls, name: str, options: Options) -> Boolean:
        """Read the field."""
        return cls(name, options.field(options.take("boolean"), ("boolean",), SIDES))

    @property
    def columns(self) -> tuple[Feature, ...]:
        """One boolean."""
        return (Feature(self.name, "boolean", missing="indicator"),)

    def step(self, numbers: Numbers) -> Step:
        """Copy the field."""
        return Step("number", self.field.side, numbers.field(self.field))
