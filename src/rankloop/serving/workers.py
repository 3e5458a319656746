"""Worker processes: started, replaced when they end, and stopped together."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from rankloop.exceptions import RankloopError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.context import SpawnProcess

_log = logging.getLogger("rankloop.serving")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds before a worker that ended is replaced
_STEADY = 60.0  # seconds after which a worker counts as healthy
_DRAIN = 60.0  # seconds that workers have to commit and save
_TICK = 0.5


class Workers:
    """Some equal processes; SIGTERM and SIGINT end all of them.

    Parameters
    ----------
    start : starts one process
    n : their number
    ready : whether one of them has been ready; one that ends before is a fault of the settings
    """

    def __init__(
        self, start: Callable[[], SpawnProcess], n: int, ready: Callable[[], bool]
    ) -> None:
        self._start, self._ready = start, ready
        self._stopping = False
        self._pause = _FIRST_PAUSE
        self._running = {start(): time.monotonic() for _ in range(n)}

    def run(self) -> None:
        """Replace processes that end, until a signal; then end all of them."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        try:
            while not self._stopping:
                wait([process.sentinel for process in self._running], _TICK)
                for process in [p for p in self._running if not p.is_alive()]:
                    self._replace(process)
        finally:
            self._end_all()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _replace(self, ended: SpawnProcess) -> None:
        """Start a process for one that ended; wait longer if they end again and again."""
        if self._stopping:
            return
        if not self._ready():
            raise RankloopError(
                f"a worker ended with {ended.exitcode} before it was ready; the log says why"
            )
        lived = time.monotonic() - self._running.pop(ended)
        self._pause = _FIRST_PAUSE if lived > _STEADY else self._pause
        _log.error(
            "worker %d ended with %s; another one starts in %.1f s",
            ended.pid,
            ended.exitcode,
            self._pause,
        )
        end = time.monotonic() + self._pause
        while not self._stopping and time.monotonic() < end:
            time.sleep(0.05)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if not self._stopping:
            self._running[self._start()] = time.monotonic()

    def _end_all(self) -> None:
        for process in self._running:
            process.terminate()
        end = time.monotonic() + _DRAIN
        for process in self._running:
            process.join(max(end - time.monotonic(), 0.0))
            if process.is_alive():
                process.kill()
                process.join()


def end_with_parent(parent: int) -> None:
    """Let the system end this process when its parent ends, however that ends (on Linux).

    parent : the process id of the parent
    """
    if sys.platform != "linux":
        return
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended before this call
        os.kill(os.getpid(), signal.SIGTERM)
