"""`category`: a category as a code, which rankers encode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.column import Feature
from rankloop.features.fields import SIDES
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.features.options import Options, Ref


@dataclass(frozen=True)
class Category(CoreKind):
    """A category as a whole number, as in `brand = { category = "item.brand" }`.

    The first `limit` categories have the codes 0, 1, ... in the order in which they appeared in the
    catalogue; later ones share `buckets` codes by a hash. So the number of codes follows from the
    definition alone. A missing category is NaN, and so is one of a request that no item or
    ranking before it had.

    category : the field
    limit : how many categories have a code of their own
    buckets : how many codes the others share

    Cost: one read an item.
    """

    field: Ref
    limit: int = 1000
    buckets: int = 64

    keyword: ClassVar[str] = "category"

    @classmethod
    def read(cls, name: str, options: Options) -> Category:
        """Read the field, `limit` and `buckets`."""
        return cls(
            name,
            options.field(options.take("category"), ("category",), SIDES),
            options.whole("limit", 1000, 1, 1_000_000),
            options.whole("buckets", 64, 1, 1_000_000),
        )

    @property
    def columns(self) -> tuple[Feature, ...]:
        """One category of a fixed number of codes."""
        return (Feature(self.name, "category", limit=self.limit, buckets=self.buckets),)

    def labels(self, categories: Callable[[str], list[str]]) -> dict[str, str]:
        """Name the columns of rankers after the categories."""
        words = categories(str(self.field))[: self.limit]
        named = [f"{self.name} = {word}" for word in words]
        return dict(zip(self.columns[0].code_names, named, strict=False))

    def step(self, numbers: Numbers) -> Step:
        """Write the codes."""
        return Step("code", self.field.side, numbers.field(self.field), 0, self.limit, self.buckets)
