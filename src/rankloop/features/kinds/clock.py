"""`clock`: the hour or the weekday of the request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.kinds.base import PythonKind, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankloop.features.options import Options

_HOUR, _DAY = 3_600_000, 86_400_000


@dataclass(frozen=True)
class Clock(PythonKind):
    """The hour (0 to 24, with fractions) or the weekday (0 is Monday) of the request.

    As in `hour = { clock = "hour", offset = 2 }`. All items of a list have the same value, so that
    a linear ranker cannot use it alone: `cross` a category of the request with one of the item.

    clock : `hour` or `weekday`
    offset : hours that local time is ahead of UTC

    Cost: none worth counting.
    """

    unit: str
    offset: float

    keyword: ClassVar[str] = "clock"

    @classmethod
    def read(cls, name: str, options: Options) -> Clock:
        """Read the unit and the offset."""
        return cls(
            name, options.choice("clock", ("hour", "weekday")), options.number("offset", 0, -14, 14)
        )

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Write the time."""
        local = view.at + round(self.offset * _HOUR)
        if self.unit == "hour":
            out[:, 0] = local % _DAY / _HOUR
        else:
            out[:, 0] = (local // _DAY + 3) % 7  # 1 January 1970 was a Thursday
