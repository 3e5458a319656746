"""`rate`: how often one type of events follows another, by key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.counters import Counter
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options


@dataclass(frozen=True)
class Rate(CoreKind):
    """A rate such as clicks per impression, drawn towards the usual one.

        (n + prior r) / (m + prior)

    where n and m are the key's decayed sums of `rate` and `of`, and r is the same ratio over all
    keys. A ranking adds at most 1 for an item to either sum. A key with a list of categories has
    the mean of their rates. Before the first event, and without a part of the key, it is missing.

    rate : the events of n, such as `click`
    of : the events of m, such as `impression`: items that were shown. `examination` counts an
        impression by how likely its place is to be seen, which corrects the rate for position
    per : the parts of the key
    half_life, window : how old events lose weight; without both, they never do
    prior : how many events of m the usual rate weighs

    Cost: one key an item and event; two exp2 for a half-life.

    Clicks over expected clicks, which is what `examination` gives: V. Zhang and R. Jones, Comparing
    click logs and editorial labels for training query rewriting, WWW 2007.
    """

    counter: Counter
    prior: float

    keyword: ClassVar[str] = "rate"

    @classmethod
    def read(cls, name: str, options: Options) -> Rate:
        """Read the events, the key and the memory."""
        event = options.event(options.take("rate"))
        of = options.event(options.take("of", "impression"))
        if event == of:
            raise options.error(f"rate and of are both {event!r}; a rate needs two types of events")
        per, memory = options.key(), options.memory()
        return cls(name, Counter(event, of, per, "once", *memory), options.number("prior", 10, 0))

    @property
    def counters(self) -> tuple[Counter, ...]:
        """The two sums."""
        return (self.counter,)

    def step(self, numbers: Numbers) -> Step:
        """Shrink the ratios of the keys."""
        return Step("ratio", "item", numbers.counter(self.counter), prior=self.prior)
