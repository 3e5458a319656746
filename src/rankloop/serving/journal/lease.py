"""The lease: which of several processes closes windows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable

EXPIRES = 5.0
"""Seconds without a sign of the leader after which another process takes its place."""


class Holder(NamedTuple):
    """Who leads, and a number that grows while it does; without a name, nobody leads."""

    name: str = ""
    turn: int = 0


class Lease:
    """One process's view of the lease, which the store keeps.

    The leader raises a number again and again. Whoever sees the same number for too long takes the
    lease. So a process that is paused, or that ended without a word, does not keep it; and no two
    clocks are compared, only the time that passes here.

    Parameters
    ----------
    expires : seconds after which a lease that does not change is free
    clock : seconds; only differences count

    Examples
    --------
    >>> now = 0.0
    >>> ada, bob = Lease(clock=lambda: now), Lease(clock=lambda: now)
    >>> held = ada.turn(Holder())
    >>> bob.turn(held) is None
    True
    >>> now = 6.0
    >>> ada.turn(bob.turn(held)) is None  # Ada was paused, and notices that Bob leads now
    True
    """

    def __init__(
        self, expires: float = EXPIRES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = uuid4().hex
        self._expires, self._clock = expires, clock
        self._seen = Holder()
        self._since = clock()

    def turn(self, held: Holder) -> Holder | None:
        """Return what the store must keep, so that this process leads; None if another one does.

        Parameters
        ----------
        held : what the store keeps now; nobody may change it in between
        """
        now = self._clock()
        if held.name not in ("", self.name):
            if held != self._seen:
                self._seen, self._since = held, now
            if now - self._since < self._expires:
                return None
        return Holder(self.name, held.turn + 1)
