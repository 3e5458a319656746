"""`count`: how many events of a type there were, by key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.counters import Counter
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options


@dataclass(frozen=True)
class Count(CoreKind):
    """A decayed number of events, as in `sold = { count = "purchase", half_life = "30d" }`.

    Every event adds 1. A key without events has 0; without a part of the key, it is missing.

    count : the events, such as `purchase`; `impression` for items that were shown
    per : the parts of the key
    half_life, window : how old events lose weight; without both, they never do

    Cost: one key an item and event; one exp2 for a half-life.
    """

    counter: Counter

    keyword: ClassVar[str] = "count"

    @classmethod
    def read(cls, name: str, options: Options) -> Count:
        """Read the events, the key and the memory."""
        event = options.event(options.take("count"))
        return cls(name, Counter(event, "", options.key(), "each", *options.memory()))

    @property
    def counters(self) -> tuple[Counter, ...]:
        """The sum."""
        return (self.counter,)

    def step(self, numbers: Numbers) -> Step:
        """Copy the sums."""
        return Step("count", "item", numbers.counter(self.counter))
