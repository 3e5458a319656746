"""`categories`: a list of categories, one column for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.column import Feature
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Categories(CoreKind):
    """One column for each category of a list: 1 if the item has it, else 0.

    The first `limit` categories, in the order in which they appeared in the catalogue, have a
    column of their own; later ones share `buckets` columns by a hash. Without a list, all columns
    are missing. As in `genres = { categories = "item.genres" }`, whose columns are `genres[0]`,
    `genres[1]` and so on.

    categories : the field
    limit : how many categories have a column of their own
    buckets : how many columns the others share

    Cost: limit + buckets numbers an item, which are also stored with every ranking.
    """

    field: Ref
    limit: int = 32
    buckets: int = 8

    keyword: ClassVar[str] = "categories"

    @classmethod
    def read(cls, name: str, options: Options) -> Categories:
        """Read the field, `limit` and `buckets`."""
        return cls(
            name,
            options.field(options.take("categories"), ("categories",)),
            options.whole("limit", 32, 1, 1000),
            options.whole("buckets", 8, 1, 1000),
        )

    @property
    def columns(self) -> tuple[Feature, ...]:
        """A boolean for each category."""
        return tuple(
            Feature(f"{self.name}[{k}]", "boolean") for k in range(self.limit + self.buckets)
        )

    def labels(self, categories: Callable[[str], list[str]]) -> dict[str, str]:
        """Name the columns after the categories."""
        words = categories(str(self.field))[: self.limit]
        return {f"{self.name}[{k}]": f"{self.name} has {word}" for k, word in enumerate(words)}

    def step(self, numbers: Numbers) -> Step:
        """Write 1 for the categories of each item."""
        return Step(
            "flags", self.field.side, numbers.field(self.field), 0, self.limit, self.buckets
        )
