"""The values of a parameter that are worth trying, in a grid or in a search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class OneOf:
    """One of several values.

    >>> OneOf(("nDCG@10", "AP")).grid()
    ['nDCG@10', 'AP']
    """

    values: tuple[object, ...]

    def grid(self) -> list[object]:
        """Return all values."""
        return list(self.values)


@dataclass(frozen=True)
class Range:
    """Any number between two bounds, evenly spaced or (`log`) in equal ratios; a grid has `points`.

    >>> Range(0.01, 1, points=3, log=True).grid()
    [0.01, 0.1, 1.0]
    >>> Range(1, 5, points=3, whole=True).grid()
    [1, 3, 5]
    """

    low: float
    high: float
    points: int = 5
    log: bool = False
    whole: bool = False

    def grid(self) -> list[float]:
        """Return values from `low` to `high`."""
        shares = [k / max(self.points - 1, 1) for k in range(self.points)]
        if self.log:
            ratio = math.log(self.high / self.low)
            values = [float(f"{self.low * math.exp(share * ratio):.4g}") for share in shares]
        else:
            values = [self.low + share * (self.high - self.low) for share in shares]
        return [round(value) for value in values] if self.whole else values


Search = OneOf | Range


def grid(space: Mapping[str, Search]) -> Iterator[dict[str, object]]:
    """Yield every setting of a grid; the last parameter changes fastest.

    >>> list(grid({"C": OneOf((1, 10)), "measure": OneOf(("AP",))}))
    [{'C': 1, 'measure': 'AP'}, {'C': 10, 'measure': 'AP'}]
    """
    for values in product(*(search.grid() for search in space.values())):
        yield dict(zip(space, values, strict=True))
