"""Entries that wait for the disk, and their answers."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from rankloop.serving.journal.base import BusyError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future

    from rankloop.serving.journal.base import StoredKey
    from rankloop.serving.journal.entries import Entry

    Waiting = Future[list["Answer"]] | asyncio.Future[list["Answer"]]
    Finished = tuple[Waiting, list["Answer"] | Exception]

_MAX_AT_ONCE = 2000  # entries in one transaction


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The status of an entry, its position or that of the stored entry with its key, and why."""

    status: Literal[
        "accepted",
        "applied",
        "pending",
        "late",
        "duplicate",
        "conflict",
        "unknown_ranking",
        "rejected",
    ]
    position: int | None
    detail: str = ""


class Submission(NamedTuple):
    """Entries to append together.

    future : gets their answers
    loop : the event loop of the future; None if a thread waits for it
    keys : new keys that encrypt some of the entries
    """

    entries: Sequence[Entry]
    future: Future[list[Answer]] | asyncio.Future[list[Answer]]
    loop: asyncio.AbstractEventLoop | None
    keys: Sequence[StoredKey] = ()


class Queue:
    """Submissions in order of arrival, up to a number of entries.

    Parameters
    ----------
    name : the name of the loop
    max_entries : number of entries that may wait
    """

    def __init__(self, name: str, max_entries: int) -> None:
        self._name, self._max_entries = name, max_entries
        self._waiting: deque[Submission] = deque()
        self._size = 0
        self._closed = False
        self._wake = threading.Condition()

    def __len__(self) -> int:
        return self._size

    def put(self, submission: Submission) -> None:
        """Add a submission; raise if there are too many."""
        with self._wake:
            if self._closed:
                raise BusyError(f"loop {self._name} is stopping; try another process, or later")
            if self._size + len(submission.entries) > self._max_entries and self._size:
                raise BusyError(
                    f"loop {self._name}: {self._size:,} entries wait for the disk, and at most "
                    f"{self._max_entries:,} may wait; try again in a second"
                )
            self._waiting.append(submission)
            self._size += len(submission.entries)
            self._wake.notify()

    def take(self, seconds: float) -> list[Submission] | None:
        """Wait, and return the submissions for one transaction; None after the end."""
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._closed, seconds)
            if self._closed and not self._waiting:
                return None
            submissions, size = [], 0
            while self._waiting:
                n = len(self._waiting[0].entries)
                if size and size + n > _MAX_AT_ONCE:
                    break
                submissions.append(self._waiting.popleft())
                size += n
            self._size -= size
            return submissions

    def close(self) -> None:
        """Accept no more submissions."""
        with self._wake:
            self._closed = True
            self._wake.notify_all()

    def fail(self, error: Exception) -> None:
        """Accept no more submissions, and answer all waiting ones with an error."""
        self.close()
        while submissions := self.take(0):
            finish(
                submissions, [BusyError(f"loop {self._name} stopped: {error}")] * len(submissions)
            )


def finish(submissions: Iterable[Submission], results: Iterable[list[Answer] | Exception]) -> None:
    """Answer submissions; each event loop is woken once for all of its submissions."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[Finished]] = {}
    for submission, result in zip(submissions, results, strict=True):
        by_loop.setdefault(submission.loop, []).append((submission.future, result))
    for loop, finished in by_loop.items():
        if loop is None:
            _resolve(finished)
        else:
            loop.call_soon_threadsafe(_resolve, finished)


def _resolve(finished: Iterable[Finished]) -> None:
    for future, result in finished:
        if future.done():  # the client has disconnected
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
