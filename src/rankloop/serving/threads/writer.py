"""The writer: it stores waiting requests in one transaction, and answers once it is durable."""

from __future__ import annotations

import logging
import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

from rankloop.exceptions import RankloopError
from rankloop.serving.journal.base import Draft, JournalError, Record
from rankloop.serving.journal.entries import TRAFFIC, Closed, Entry, Observed, encode
from rankloop.serving.refusals import Refusals
from rankloop.serving.threads.queue import Answer, BusyError, finish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankloop.serving.desk import Desk, Outcome
    from rankloop.serving.journal.base import Journal, StoredKey
    from rankloop.serving.recent import Recent
    from rankloop.serving.threads.progress import Progress
    from rankloop.serving.threads.queue import Queue, Request

_log = logging.getLogger("rankloop.serving")

_LEASE = 0.5  # seconds between two looks at the lease
_TICK = 0.05  # seconds between looks at the clock and at other processes


class Writer:
    """Appends the entries of the queue, and closes windows; only this thread updates the desk.

    Parameters
    ----------
    name : the name of the loop
    queue : the waiting requests
    journal : only for this thread
    desk : knows which feedback belongs to which ranking
    recent : keeps what was appended in memory
    progress : records what is durable
    clock : seconds since 1970
    closes : whether it may close windows, if it gets the lease
    watch : called with every entry that is not traffic, in order
    """

    def __init__(
        self,
        name: str,
        queue: Queue,
        journal: Journal,
        desk: Desk,
        recent: Recent,
        progress: Progress,
        clock: Callable[[], float],
        closes: bool,
        watch: Callable[[Record], None],
    ) -> None:
        self._name, self._queue, self._journal = name, queue, journal
        self._desk, self._recent, self._progress = desk, recent, progress
        self._clock, self._closes, self._watch = clock, closes, watch
        self._lease_until = 0.0
        self._refusals = Refusals(desk, recent, journal)
        self.others = threading.Event()
        self.commits = 0

    def run(self) -> None:
        """Work until the queue is closed and empty."""
        while (requests := self._queue.take(_TICK)) is not None:
            closings = self._closings()
            if requests or closings:
                self._commit(requests, closings)
            elif self.others.is_set():
                self.others.clear()
                self.catch_up()

    def _commit(self, requests: list[Request], closings: list[Closed]) -> None:
        """Append what was asked for, and windows that are over, in one transaction; answer."""
        try:
            wanted: list[Entry] = [entry for one in requests for entry in one.entries]
            keys = [key for one in requests for key in one.keys]
            answers = iter(self.append([*wanted, *closings], keys))
            results: list[list[Answer] | Exception] = [
                list(islice(answers, len(one.entries))) for one in requests
            ]
        except RankloopError as error:
            _log.error("loop %s: nothing was appended: %s", self._name, error)
            results = [error] * len(requests)
        except Exception as error:  # the thread ends; nobody must wait for it
            stopped = BusyError(f"loop {self._name} stopped: {type(error).__name__}")
            finish(requests, [stopped] * len(requests))
            raise
        finish(requests, results)

    def append(self, entries: Sequence[Entry], keys: Sequence[StoredKey] = ()) -> list[Answer]:
        """Append entries in one transaction, update the desk, and return the status of each."""
        answers = [self._refused(entry) for entry in entries]
        at = int(1000 * self._clock())
        drafts = [
            Draft(entry, at, encode(entry))
            for entry, answer in zip(entries, answers, strict=True)
            if answer is None
        ]
        if not drafts:
            return [answer for answer in answers if answer]
        outcomes = self._journal.append(drafts, keys)
        self.commits += 1
        new = [
            (outcome.position, draft)
            for draft, outcome in zip(drafts, outcomes, strict=True)
            if outcome.status == "new"
        ]
        self._recent.add([(position, at, draft.body) for position, draft in new])
        statuses = self._follow([Record(position, at, draft.entry) for position, draft in new])
        finished = iter(
            [
                Answer(statuses[one.position] if one.status == "new" else one.status, one.position)
                for one in outcomes
            ]
        )
        return [answer or next(finished) for answer in answers]

    def _refused(self, entry: Entry) -> Answer | None:
        reason = self._refusals.reason(entry) if isinstance(entry, Observed) else None
        return None if reason is None else Answer(reason, None)

    def catch_up(self) -> None:
        """Process the entries that other processes have appended."""
        try:
            scan = self._recent.follow(self._journal, self._desk.position)
            while records := list(islice(scan, 1000)):
                self._follow(records)
        except JournalError as error:
            _log.warning("loop %s: cannot follow the journal: %s", self._name, error)

    def _follow(self, records: Sequence[Record]) -> dict[int, Outcome]:
        """Take in entries that are durable; return what became of each, by position."""
        desk = self._desk
        if records and records[0].position > desk.position + 1:  # others came between
            before = self._recent.follow(self._journal, desk.position, records[0].position - 1)
            records = [*before, *records]
        for record in records:
            if not isinstance(record.entry, TRAFFIC):
                self._watch(record)
        statuses = desk.follow(records)
        self._progress.durable(desk.position, records)
        return statuses

    def _closings(self) -> list[Closed]:
        """Return the closing of windows that are over, if this process has the lease."""
        now = time.monotonic()
        progress = self._progress
        if self._closes and now >= self._lease_until:  # two that close at once do no harm
            self._lease_until = now + _LEASE
            try:
                progress.leads = self._journal.lead()
            except RankloopError as error:
                progress.leads = False
                _log.warning("loop %s: windows stay open for now: %s", self._name, error)
        if not progress.leads:
            return []
        return [Closed(ranking_id) for ranking_id in self._desk.due(int(1000 * self._clock()))]
