"""Notice that people or documents have changed: what is remembered becomes much shorter."""

from __future__ import annotations

from dataclasses import dataclass, replace

_RATE = 0.02
"""How fast the level follows: it is about the mean of the last 50 queries."""
_FALL = 0.5
_STAYS = 20
_LATEST = 16


@dataclass(frozen=True)
class Memory:
    """How many queries the current ranking rests on, and when that fell.

    level : the recent level of `memory`
    low : for how many queries in a row it has been below half of that
    changes : the numbers of the queries at which a change was noticed, the latest 16
    """

    level: float = 0.0
    low: int = 0
    changes: tuple[int, ...] = ()

    def after(self, memory: float, query: int) -> Memory:
        """Return what is known after a query.

        A change is noticed when the memory has been below half of its recent level for 20 queries.
        Until then the level waits; afterwards it starts from the new memory.

        >>> seen = Memory(level=1000.0)
        >>> for query in range(50):
        ...     seen = seen.after(30.0, query)
        >>> seen.changes, seen.level
        ((19,), 30.0)
        """
        if memory >= _FALL * self.level:
            return replace(self, level=self.level + _RATE * (memory - self.level), low=0)
        if self.low + 1 < _STAYS:
            return replace(self, low=self.low + 1)
        return Memory(memory, 0, (*self.changes, query)[-_LATEST:])

    def without(self, before: float, after: float) -> Memory:
        """Return what is known after an expert stopped, which changed the memory and says nothing.

        >>> Memory(level=1000.0).without(800.0, 200.0).level
        250.0
        """
        return replace(self, level=self.level * after / before) if before > 0 else self
