"""Training several rankers at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from rankloop._utils.processors import share_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

T = TypeVar("T")

_interrupted: ContextVar[Event | None] = ContextVar("_interrupted", default=None)


def train_side_by_side(jobs: Sequence[Callable[[], T]], at_once: int, each: int) -> Generator[T]:
    """Yield what jobs return, in their order.

    Closing it, and an error or an interrupt in it, ends the jobs that run, after their current
    rounds (:func:`end_if_interrupted`). Whoever may stop before the end must close it: an error's
    traceback keeps it alive.

    Parameters
    ----------
    at_once : how many jobs run at the same time; with one, a job has all threads
    each : the threads of each job
    """
    if at_once <= 1:
        for job in jobs:
            yield job()
        return
    interrupted = Event()

    def run(job: Callable[[], T]) -> T:
        _interrupted.set(interrupted)
        with share_threads(each):
            return job()

    pool = ThreadPoolExecutor(at_once)
    try:
        for result in [pool.submit(copy_context().run, run, job) for job in jobs]:
            yield result.result()
    finally:
        interrupted.set()
        pool.shutdown(cancel_futures=True)


def end_if_interrupted() -> None:
    """End a job of :func:`train_side_by_side` whose result nobody waits for; else do nothing.

    Signals reach the main thread only, so jobs ask after each round.
    """
    event = _interrupted.get()
    if event is not None and event.is_set():
        raise KeyboardInterrupt
