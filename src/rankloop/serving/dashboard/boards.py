"""All loops of a process, examined every second by a separate thread."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from rankloop.serving.dashboard.board import Board
from rankloop.serving.dashboard.series import Series
from rankloop.serving.dashboard.traffic import Served, served

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankloop.serving.metrics import Metrics
    from rankloop.serving.service import Loop

_log = logging.getLogger("rankloop.serving")
_EVERY = 1.0  # seconds
_HOUR = 360  # points of traffic, which in the end are ten seconds apart


class Boards:
    """What the dashboard shows; requests never wait for it.

    Parameters
    ----------
    loops : by name
    metrics : of this process
    clock : seconds since 1970, as the loops count them
    """

    def __init__(
        self,
        loops: Mapping[str, Loop],
        metrics: Metrics,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._metrics, self._clock = metrics, clock
        self.loops = {name: Board(loop) for name, loop in loops.items()}
        self.traffic: Series[Served] = Series(_HOUR, spacing=1.0, coarsest=10.0)
        self.started = time.time()
        self._ending = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="dashboard", daemon=True)

    def start(self) -> None:
        """Start to look every second."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; the loops continue."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self.look()
            except Exception:
                _log.warning("the dashboard could not read its loops", exc_info=True)
            self._ending.wait(_EVERY)
        for board in self.loops.values():
            board.close()

    def look(self) -> None:
        """Look once."""
        with self._looking:
            at, monotonic = self._clock(), time.monotonic()
            if self.traffic.wants(time.time()):
                self.traffic.add(time.time(), served(self._metrics))
            for board in self.loops.values():
                board.look(at, monotonic)
