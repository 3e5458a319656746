"""`given`: a number that the caller sends with each item."""

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
class Given(PythonKind):
    """A number that comes with the request, as in `bm25 = { given = "number" }`.

    given : its type; only `number`
    default : the value if an item has none; without it, the value is missing

    Cost: a copy.
    """

    default: float | None = None

    keyword: ClassVar[str] = "given"

    @classmethod
    def read(cls, name: str, options: Options) -> Given:
        """Read `given` and `default`."""
        found = options.take("given")
        if found != "number":
            raise options.error(f"given must be 'number'; found {found!r}")
        default = options.take("default")
        if default is None:
            return cls(name)
        if isinstance(default, bool) or not isinstance(default, int | float):
            raise options.error(f"default must be a number; found {default!r}")
        return cls(name, float(default))

    @property
    def columns(self) -> tuple[Feature, ...]:
        """One number; with a default, none of them is missing."""
        if self.default is None:
            return (Feature(self.name, "number", missing="indicator"),)
        return (Feature(self.name, "number", default=self.default),)

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Copy what the caller sent."""
        out[:, 0] = view.given(self.name)
