"""`words` and `size`: how long a text or a list is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Words(CoreKind):
    """The number of words of a text, as in `words = { words = "item.title" }`.

    Words are letters and digits between other characters; each character of Chinese and Japanese is
    one.

    words : the field

    Cost: one read an item; the words of a text are found when it is put.
    """

    field: Ref

    keyword: ClassVar[str] = "words"

    @classmethod
    def read(cls, name: str, options: Options) -> Words:
        """Read the field."""
        return cls(name, options.field(options.take("words"), ("text",), ("item",)))

    @property
    def texts(self) -> tuple[Ref, ...]:
        """The text."""
        return (self.field,)

    def step(self, numbers: Numbers) -> Step:
        """Copy the numbers of words."""
        return Step("length", self.field.side, numbers.field(self.field))


@dataclass(frozen=True)
class Size(CoreKind):
    """The number of categories in a list, as in `n_genres = { size = "item.genres" }`.

    size : the field

    Cost: one read an item.
    """

    field: Ref

    keyword: ClassVar[str] = "size"

    @classmethod
    def read(cls, name: str, options: Options) -> Size:
        """Read the field."""
        return cls(name, options.field(options.take("size"), ("categories",)))

    def step(self, numbers: Numbers) -> Step:
        """Copy the sizes."""
        return Step("length", self.field.side, numbers.field(self.field))
