"""Training several rankers at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from rankloop._utils.processors import divide_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

_interrupted: ContextVar[Event | None] = ContextVar("_interrupted", default=None)


def train_side_by_side(jobs: Sequence[Callable[[], T]], at_once: int) -> Iterator[T]:
    """Yield what jobs return, in their order; so many run at once, each on its share of threads.

    Whoever stops before the end, by an error, an interrupt or because enough has been seen, ends
    the jobs that run, after their current rounds (:func:`end_if_interrupted`).
    """
    if at_once <= 1:
        for job in jobs:
            yield job()
        return
    interrupted = Event()

    def run(job: Callable[[], T]) -> T:
        _interrupted.set(interrupted)
        with divide_threads(at_once):
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
