"""`relative` and `diversity`: a value beside those of the other items of the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.features.kinds.base import PythonKind, View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.features.options import Options, Ref

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Relative(PythonKind):
    """A feature's value relative to the list, as in `{ relative = "price", by = "rank" }`.

    - `rank`: the share of the list's known values that are smaller, from 0 to 1
    - `share`: the value divided by the largest absolute one of the list
    - `above_middle`: the value minus the median (of an even number, the lower one)

    It is missing where the feature is.

    relative : a feature of one column that is defined above this one
    by : `rank`, `share` or `above_middle`

    Cost: O(n log n) a list of n items.
    """

    of: str
    by: str

    keyword: ClassVar[str] = "relative"

    @classmethod
    def read(cls, name: str, options: Options) -> Relative:
        """Read the feature and `by`."""
        return cls(
            name, options.feature(options.take("relative")), options.choice("by", tuple(_RELATIVE))
        )

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Compare the values of the list."""
        values = view.above(self.of).astype(np.float64)
        known = np.sort(values[~np.isnan(values)])
        if len(known):
            out[:, 0] = _RELATIVE[self.by](values, known)
        else:
            out[:, 0] = np.nan


@dataclass(frozen=True)
class Diversity(PythonKind):
    """The share of the first candidates that have another category than the item.

    As in `{ diversity = "item.brand", top = 10 }`: 1 if none of the first `top` items of the
    request, in the order in which they were sent and without the item itself, has its brand.

    diversity : the category
    top : how many items to compare with

    Cost: O(n top) a list of n items.
    """

    field: Ref
    top: int

    keyword: ClassVar[str] = "diversity"

    @classmethod
    def read(cls, name: str, options: Options) -> Diversity:
        """Read the category and `top`."""
        field = options.field(options.take("diversity"), ("category",), ("item",))
        return cls(name, field, options.whole("top", 10, 1, 1000))

    def fill(self, view: View, out: NDArray[np.float32]) -> None:
        """Count the items of the same category."""
        codes = view.codes(self.field)
        first = codes[: self.top]
        same = np.count_nonzero(codes[:, None] == first[None, :], axis=1)
        others = np.full(len(codes), len(first))
        others[: self.top] -= 1
        same[: self.top] -= 1
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (others - same) / others
        out[:, 0] = np.where(np.isnan(codes), np.nan, share)


def _rank(values: Floats, known: Floats) -> Floats:
    places = np.searchsorted(known, values) / max(len(known) - 1, 1)
    return np.where(np.isnan(values), np.nan, places)


def _share(values: Floats, known: Floats) -> Floats:
    return values / (max(-float(known[0]), float(known[-1])) or 1.0)


def _above_middle(values: Floats, known: Floats) -> Floats:
    return values - float(known[(len(known) - 1) // 2])


_RELATIVE = {"rank": _rank, "share": _share, "above_middle": _above_middle}
