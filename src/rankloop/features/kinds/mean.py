"""`mean`: the mean value of events, by key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.counters import Counter
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options


@dataclass(frozen=True)
class Mean(CoreKind):
    """A mean of values such as ratings, drawn towards the usual one.

        (s + prior r) / (m + prior)

    where s is the key's decayed sum of values, m its decayed number of events, and r the same ratio
    over all keys. Before the first event, and without a part of the key, it is missing.

    mean : the events whose values are averaged, such as `rating`
    per : the parts of the key
    half_life, window : how old events lose weight; without both, they never do
    prior : how many events the usual mean weighs

    Cost: one key an item and event; two exp2 for a half-life.
    """

    counter: Counter
    prior: float

    keyword: ClassVar[str] = "mean"

    @classmethod
    def read(cls, name: str, options: Options) -> Mean:
        """Read the events, the key and the memory."""
        event = options.event(options.take("mean"))
        counter = Counter(event, event, options.key(), "value", *options.memory())
        return cls(name, counter, options.number("prior", 5, 0))

    @property
    def counters(self) -> tuple[Counter, ...]:
        """The sum and the number of values."""
        return (self.counter,)

    def step(self, numbers: Numbers) -> Step:
        """Shrink the means of the keys."""
        return Step("ratio", "item", numbers.counter(self.counter), prior=self.prior)
