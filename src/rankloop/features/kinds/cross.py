"""`cross`: two categories together, as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.column import Feature
from rankloop.features.kinds.base import PythonKind, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankloop.features.options import Options


@dataclass(frozen=True)
class Cross(PythonKind):
    """A hash of several categories, as in `{ cross = ["request.device", "item.brand"] }`.

    A request's own category is the same for all items of a list, so that a linear ranker can use it
    only together with one of the item. It is missing if one of them is.

    cross : two to four categories, or `item`
    buckets : how many codes there are

    Cost: one hash an item.
    """

    keys: tuple[str, ...]
    buckets: int

    keyword: ClassVar[str] = "cross"

    @classmethod
    def read(cls, name: str, options: Options) -> Cross:
        """Read the categories and `buckets`."""
        found = options.take("cross")
        if not isinstance(found, list | tuple) or not 2 <= len(found) <= 4:
            raise options.error(f"cross needs two to four categories; found {found!r}")
        keys = tuple(options.part(part) for part in found)
        if {"user", "session", "request.query"}.intersection(keys):
            raise options.error(f"cross takes nothing personal; found {found!r}")
        if any(options.is_list(part) for part in keys):
            raise options.error(f"cross takes single categories, no lists; found {found!r}")
        return cls(name, keys, options.whole("buckets", 64, 2, 1_000_000))

    @property
    def columns(self) -> tuple[Feature, ...]:
        """One category of a fixed number of codes."""
        return (Feature(self.name, "category", buckets=self.buckets),)

    @property
    def parts(self) -> tuple[str, ...]:
        """The categories."""
        return self.keys

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Write the hashes."""
        out[:, 0] = view.cross(self.keys, self.buckets)
