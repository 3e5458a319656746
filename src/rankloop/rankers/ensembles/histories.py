"""When rankers start and stop, so that some have seen all of the past and others only the latest.

Time is counted in queries. Nothing here depends on what was learnt, so every copy of a ranker that
saw as many queries has rankers of the same ages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EVERY = 20
"""A new ranker starts every so many queries."""
FORGET_EVERY = 5
"""What forgets does so every so many queries; the return to the prior costs O(d^3)."""
MOST = 5
"""So many started later than the first one, at most."""
KEEPS = (0.99, 0.96)
"""The shares of what they know that two forgetting rankers keep after each query."""


def steps(start: int, queries: int, every: int) -> Iterator[tuple[int, int]]:
    """Cut queries `start`, `start` + 1, ... where their number is a multiple of `every`.

    >>> list(steps(18, 25, 20))
    [(0, 2), (2, 22), (22, 25)]
    """
    first = 0
    while first < queries:
        end = min(queries, first + every - (start + first) % every)
        yield first, end
        first = end


def crowded(births: Sequence[int], now: int) -> int:
    """Return which of the rankers is missed least: the one whose neighbours' ages are closest.

    births : when each started, the oldest first; the first and the last one are never chosen

    With one that goes whenever there are too many, ages stay roughly in powers of a constant, so
    one of them is about as old as any change is long ago.

    >>> crowded([0, 400, 460, 480, 500], now=500)  # 40 and 20 ago, between 100 ago and now
    2
    """
    ages = [now - birth + 1 for birth in births]
    return min(range(1, len(ages) - 1), key=lambda k: ages[k - 1] / ages[k + 1])
