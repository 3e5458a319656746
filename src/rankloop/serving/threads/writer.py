"""The writer: it stores waiting requests in one transaction, and answers once it is durable."""

from __future__ import annotations

import logging
import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError, RankloopError
from rankloop.serving.journal.base import (
    BusyError,
    JournalError,
    Record,
    UnreachableError,
    make_rows,
)
from rankloop.serving.journal.entries import TRAFFIC, Entry
from rankloop.serving.journal.ranking_entries import Closed, Observed, Ranked
from rankloop.serving.threads.queue import Answer, finish
from rankloop.serving.threads.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankloop.serving.journal.base import Journal, StoredKey
    from rankloop.serving.journal.cache import EntryCache
    from rankloop.serving.threads.live_joins import EntryStatus, LiveJoins
    from rankloop.serving.threads.progress import LoopProgress
    from rankloop.serving.threads.queue import Queue, Submission

_log = logging.getLogger("rankloop.serving")

_LEASE = 0.5  # seconds between two attempts to take or keep the lease
_TICK = 0.05  # seconds between two checks for windows that are over, and for other processes


class Writer:
    """Appends the entries of the queue, and closes windows; only this thread changes `live`.

    Parameters
    ----------
    name : the name of the loop
    queue : the waiting requests
    journal : only for this thread
    live : knows which feedback belongs to which ranking
    recent : keeps what was appended in memory
    progress : records what is durable
    clock : seconds since 1970
    closes : whether it may close windows, if it gets the lease
    note : called with every entry that is not traffic, in order
    """

    def __init__(
        self,
        name: str,
        queue: Queue,
        journal: Journal,
        live: LiveJoins,
        recent: EntryCache,
        progress: LoopProgress,
        clock: Callable[[], float],
        closes: bool,
        note: Callable[[Record], None],
    ) -> None:
        self._name, self._queue, self._journal = name, queue, journal
        self._live, self._recent, self._progress = live, recent, progress
        self._clock, self._closes, self._note = clock, closes, note
        self._lease_until = 0.0
        self._refusals = Refusals(live, recent, journal)
        self.others = threading.Event()
        self.commits = 0

    def run(self) -> None:
        """Work until the queue is closed and empty, or until a fault; then others may lead."""
        try:
            self._work()
        finally:
            self._progress.leads = False
            self._journal.release()

    def _work(self) -> None:
        while (requests := self._queue.take(_TICK)) is not None:
            closings = self._closings()
            if requests or closings:
                self._commit(requests, closings)
            elif self.others.is_set():  # after a commit, `_follow` has read them already
                self.others.clear()
                self.catch_up()

    def _commit(self, requests: list[Submission], closings: list[Closed]) -> None:
        """Append the entries of requests, and closings, in one transaction; answer the requests."""
        results: list[list[Answer] | Exception]
        try:
            wanted: list[Entry] = [entry for request in requests for entry in request.entries]
            keys = [key for request in requests for key in request.keys]
            answers = iter(self.append([*wanted, *closings], keys))
            results = [list(islice(answers, len(request.entries))) for request in requests]
        except UnreachableError as error:
            # Callers may send the entries again: those that were stored are then duplicates.
            _log.error("loop %s: nothing was appended: %s", self._name, error)
            self._progress.unwritten = time.monotonic(), str(error)
            results = [error] * len(requests)
        except MemoryError:  # the thread ends, so nobody else would answer these requests
            stopped = BusyError(f"loop {self._name} stopped: there is too little memory")
            finish(requests, [stopped] * len(requests))
            raise
        except Exception:
            # One of them cannot be stored. One by one, only that one fails.
            results = [self._append_alone(request.entries, request.keys) for request in requests]
            for closing in closings:
                if isinstance(self._append_alone([closing]), Exception):
                    self._live.give_up(closing.ranking_id)
        finish(requests, results)

    def _append_alone(
        self, entries: Sequence[Entry], keys: Sequence[StoredKey] = ()
    ) -> list[Answer] | Exception:
        """Append the entries of one request; return the error if they cannot be stored."""
        try:
            return self.append(entries, keys)
        except UnreachableError as error:
            return error
        except Exception as error:
            _log.error("loop %s: a request cannot be stored: %s", self._name, error)
            return DataError(f"this request cannot be stored: {type(error).__name__}: {error}")

    def append(self, entries: Sequence[Entry], keys: Sequence[StoredKey] = ()) -> list[Answer]:
        """Append entries in one transaction, update the joins, and return the answer to each."""
        # Refusals come before the transaction: feedback that cannot be used never costs a write.
        answers = self._refuse(entries)
        at = int(1000 * self._clock())
        new = [e for e, answer in zip(entries, answers, strict=True) if answer is None]
        if not new:
            return [answer for answer in answers if answer]
        # Each entry is encoded once: the same bytes go to the store and into memory.
        rows = make_rows(new, at)
        results = self._journal.append(rows, keys)
        self.commits += 1
        self._progress.unwritten = None
        stored = [
            (result.position, entry, row)
            for entry, row, result in zip(new, rows, results, strict=True)
            if result.status == "new"
        ]
        self._recent.add([(position, at, row.body) for position, _, row in stored])
        statuses = self._follow([Record(position, at, entry) for position, entry, _ in stored])
        finished = iter(
            [
                Answer(statuses[r.position] if r.status == "new" else r.status, r.position)
                for r in results
            ]
        )
        return [answer or next(finished) for answer in answers]

    def _refuse(self, entries: Sequence[Entry]) -> list[Answer | None]:
        """Return the answer to each entry that is refused; None for all others."""
        answers = self._judge(entries)
        if any(answers) or self._has_early(entries):
            # Another process may have shown the ranking, or its page, a moment ago.
            self.catch_up()
            answers = self._judge(entries)
        return answers

    def _has_early(self, entries: Sequence[Entry]) -> bool:
        """Return whether an event is about a ranking that is not known here."""
        find = self._live.joins.find
        return any(isinstance(e, Observed) and find(e.ranking_id) is None for e in entries)

    def _judge(self, entries: Sequence[Entry]) -> list[Answer | None]:
        new: dict[str, Ranked] = {}
        answers: list[Answer | None] = []
        for entry in entries:
            if isinstance(entry, Ranked):
                new[entry.id] = entry
            answers.append(
                self._refusals.refuse(entry, new.get(entry.ranking_id))
                if isinstance(entry, Observed)
                else None
            )
        return answers

    def catch_up(self) -> None:
        """Process the entries that other processes have appended."""
        try:
            scan = self._recent.follow(self._journal, self._live.position)
            while records := list(islice(scan, 1000)):
                self._follow(records)
        except JournalError as error:
            _log.warning("loop %s: cannot follow the journal: %s", self._name, error)

    def _follow(self, records: Sequence[Record]) -> dict[int, EntryStatus]:
        """Process entries that are durable, and return the status of each, by position."""
        live = self._live
        # Other processes may have appended between the last entry here and these. The joins depend
        # on the order of entries, so those come first.
        if records and records[0].position > live.position + 1:
            before = self._recent.follow(self._journal, live.position, records[0].position - 1)
            records = [*before, *records]
        for record in records:
            if not isinstance(record.entry, TRAFFIC):
                self._note(record)
        # The joins are updated before anybody gets an answer: feedback that a client sends right
        # after its ranking was answered finds the ranking.
        statuses = live.follow(records, int(1000 * self._clock()))
        self._progress.add_durable(live.position, records)
        return statuses

    def _closings(self) -> list[Closed]:
        """Return the closing of windows that are over, if this process has the lease."""
        now = time.monotonic()
        progress = self._progress
        # If two processes believe that they have the lease, that does no harm: the second closing
        # of a ranking has the same key, and is a duplicate.
        if self._closes and now >= self._lease_until:
            self._lease_until = now + _LEASE
            try:
                progress.leads = self._journal.lead()
            except RankloopError as error:
                progress.leads = False
                _log.warning("loop %s: windows stay open for now: %s", self._name, error)
        if not progress.leads:
            return []
        return [Closed(ranking_id) for ranking_id in self._live.due(int(1000 * self._clock()))]
