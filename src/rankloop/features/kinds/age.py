"""`age`: how long ago a date is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.fields import SIDES
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Age(CoreKind):
    """The days from a date to the request, as in `age = { age = "item.released" }`.

        (at - date) / (24 60 60 1000)

    A date in the future has a negative age.

    age : the field

    Cost: one read an item.
    """

    field: Ref

    keyword: ClassVar[str] = "age"

    @classmethod
    def read(cls, name: str, options: Options) -> Age:
        """Read the field."""
        return cls(name, options.field(options.take("age"), ("date",), SIDES))

    def step(self, numbers: Numbers) -> Step:
        """Subtract the dates from the time of the request."""
        return Step("age", self.field.side, numbers.field(self.field))
