"""Refuse what cannot be answered in time, so that what is accepted is answered soon.

Requests that wait hold memory and help nobody: whoever sent them gives up, and asks again. So a
request is refused when this process is late by more than a limit, or holds too many bytes.
"""

from __future__ import annotations

import asyncio

from rankloop.serving.problems import HTTPProblem

_TICK = 0.01  # seconds between two moments at which the event loop should wake up
_FEW = 10
"""Requests in one turn of the event loop that are always accepted. Something else makes a process
late that gets fewer, such as other programs, and refusing them would not help."""


class LoadShedder:
    """Refuses requests while the event loop is late, and bodies while too many bytes wait.

    A timer says when the event loop should run next. How long that moment has passed is the time
    that newer requests have waited already. One turn of the event loop handles all requests that
    arrived during the previous one; so nobody waits for much more than two limits.

    Parameters
    ----------
    max_delay : seconds that the event loop may be late
    max_bytes : of bodies that were received, but not yet answered

    Attributes
    ----------
    held : bytes of such bodies now
    """

    def __init__(self, max_delay: float, max_bytes: int) -> None:
        self._max_delay, self._max_bytes = max_delay, max_bytes
        self.held = 0
        self._due: float | None = None
        self._taken = 0

    def admit(self) -> None:
        """Raise if the event loop is late; the timer runs only while there are requests."""
        loop = asyncio.get_running_loop()
        self._taken += 1
        if self._due is None:
            self._wake(loop)
        elif self._taken > _FEW and (late := loop.time() - self._due) > self._max_delay:
            raise HTTPProblem(
                503,
                f"this process is {late:.1f} s late, and refuses requests until it is less than "
                f"{self._max_delay:g} s late; send fewer, or start more processes",
            )

    def hold(self, size: int) -> None:
        """Count bytes of a body; raise, and count nothing, if too many are held."""
        if self.held + size > self._max_bytes:
            raise HTTPProblem(
                503,
                f"{self.held:,} bytes of requests are being worked on, and at most "
                f"{self._max_bytes:,} may be; try again in a second",
            )
        self.held += size

    def release(self, size: int) -> None:
        """Count bytes no more, because their request is answered."""
        self.held -= size

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = None
        if self._taken:
            self._taken = 0
            self._due = loop.time() + _TICK
            loop.call_at(self._due, self._wake, loop)
