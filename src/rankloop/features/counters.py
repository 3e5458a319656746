"""Counters: which events they count, by which key, and how they forget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rankloop.features.durations import show_duration

Part = str
"""A part of a key: `item`, `user`, `session`, `request.query`, or a category such as
`item.brand`."""
Weight = Literal["once", "each", "value", "last"]


@dataclass(frozen=True)
class Counter:
    """Decayed sums by key.

    A key holds `n`, of events of the type `event`, and `m`, of events of the type `of`. Before an
    addition, and when it is read, a sum is n 2^(-elapsed / half_life); or it is kept in buckets of
    the last `window` milliseconds; or, without either, for ever.

    event : the type of events that add to `n`
    of : the type of events that add to `m`; empty for none
    per : the parts of the key
    weight : what an event adds: `once`, 1, but an item at most once a ranking; `each`, 1;
        `value`, the value of the event to `n` and 1 to `m`; `last`: `n` is the time of the event
    half_life, window : in milliseconds; 0 for none
    """

    event: str
    of: str
    per: tuple[Part, ...]
    weight: Weight
    half_life: int = 0
    window: int = 0

    def __str__(self) -> str:
        """Return a short name for people.

        >>> str(Counter("click", "impression", ("user", "item"), "once", half_life=604_800_000))
        'click / impression by user, item; half-life 7d'
        """
        sums = f"{self.event} / {self.of}" if self.of and self.weight == "once" else self.event
        special = {"value": f"{self.event}: values", "last": f"last {self.event}"}
        memory = [
            f"; {name} {show_duration(span)}"
            for name, span in (("half-life", self.half_life), ("window", self.window))
            if span
        ]
        return f"{special.get(self.weight, sums)} by {', '.join(self.per)}{''.join(memory)}"
