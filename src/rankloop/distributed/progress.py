"""The progress of a job: finished parts, and the time that is left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    OnProgress = Callable[["PartsProgress"], None]


@dataclass(frozen=True)
class PartsProgress:
    """The state of a job.

    what : what is done with the parts, such as `loading`
    done, total : number of parts that are done, and of all
    seconds_left : an estimate from the time that the parts so far have taken; None at first
    """

    what: str
    done: int
    total: int
    seconds_left: float | None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {self.seconds_left:.0f} s left"
        return f"{self.what}: {self.done} of {self.total} parts{left}"


class PartsCounter:
    """Counts finished parts, and reports each to a function with the time that is left."""

    def __init__(self, what: str, total: int, tell: OnProgress | None) -> None:
        self._what, self._total, self._tell = what, total, tell
        self._start = time.monotonic()
        self._done = 0

    def tick(self) -> None:
        """Record that one more part is done."""
        self._done += 1
        if self._tell is not None:
            share = (time.monotonic() - self._start) / self._done
            left = share * (self._total - self._done)
            self._tell(PartsProgress(self._what, self._done, self._total, left))
