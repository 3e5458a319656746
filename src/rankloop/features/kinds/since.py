"""`since`: how long ago the last event of a type was, by key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rankloop.features.counters import Counter
from rankloop.features.kinds.base import CoreKind, Numbers, Step

if TYPE_CHECKING:
    from rankloop.features.options import Options


@dataclass(frozen=True)
class Since(CoreKind):
    """The time since the last event, as in `{ since = "impression", per = ["user", "item"] }`.

        log(1 + seconds)

    It is missing if there was none.

    since : the events; `impression` for items that were shown
    per : the parts of the key; of several keys of an item, the mean

    Cost: one key an item and event; one logarithm.
    """

    counter: Counter

    keyword: ClassVar[str] = "since"

    @classmethod
    def read(cls, name: str, options: Options) -> Since:
        """Read the events and the key."""
        event = options.event(options.take("since"))
        return cls(name, Counter(event, "", options.key(), "last"))

    @property
    def counters(self) -> tuple[Counter, ...]:
        """The time of the last event."""
        return (self.counter,)

    def step(self, numbers: Numbers) -> Step:
        """Take logarithms."""
        return Step("since", "item", numbers.counter(self.counter))
