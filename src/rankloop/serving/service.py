"""A running loop: appends together, applies in order, publishes models, closes windows.

Three threads share the work. The *writer* gathers what waits into one transaction, so that many
share the cost of one sync to disk, and answers once it is durable. The *learner* applies entries to
the engine and publishes what readers rank by. The *follower* looks for entries of other processes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rankloop.exceptions import DataError, RankloopError
from rankloop.serving.desk import Desk
from rankloop.serving.engine import DivergedError, Engine
from rankloop.serving.entries import (
    Checked,
    Closed,
    Configured,
    Entry,
    ExperimentEnded,
    Observed,
    Promoted,
    Ranked,
)
from rankloop.serving.journal.base import Draft, JournalError, Record
from rankloop.serving.recent import Recent
from rankloop.serving.snapshots import brought_back, saved_state
from rankloop.serving.state import ENGINE

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from rankloop.serving.config import LoopSettings
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.state import Published

_log = logging.getLogger("rankloop.serving")

_MOST_AT_ONCE = 1000  # entries of one transaction
_SHOWN_KEPT = 10_000  # rankings whose items are at hand when feedback comes
_TEND_AFTER = 200  # entries between two looks after the store
_LEASE = 0.5  # seconds between two looks at the lease
_TICK = 0.05  # seconds between looks at the clock and at other processes


class BusyError(RankloopError):
    """Too much waits for the disk; try again in a moment."""


class Answer(NamedTuple):
    """What became of an entry, and where it, or the one of that key, stands."""

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


class _Request(NamedTuple):
    entries: Sequence[Entry]
    future: Future[list[Answer]] | asyncio.Future[list[Answer]]
    loop: asyncio.AbstractEventLoop | None


class Loop:
    """One loop of a service, with its journal.

    Parameters
    ----------
    name : how the loop is called
    settings : what it should be; where the journal says otherwise, they are journaled anew
    journal : opened for this loop alone
    most_waiting : entries that may wait for the disk
    clock : seconds since 1970; the one place where a loop asks for the time
    closes : whether it may close windows, if it gets the lease; False for one that only looks on
    """

    def __init__(
        self,
        name: str,
        settings: LoopSettings,
        journal: Journal,
        most_waiting: int = 10_000,
        clock: Callable[[], float] = time.time,
        closes: bool = True,
    ) -> None:
        self.name, self._journal, self._clock = name, journal, clock
        self._most_waiting, self._closes = most_waiting, closes
        self._recent = Recent()
        self._waiting: deque[_Request] = deque()
        self._n_waiting = 0
        self._wake = threading.Condition()
        self._applied = threading.Condition()
        self._engine_lock = threading.Lock()
        self._others = threading.Event()
        self._stopping = False
        self._leads = False
        self._lease_until = 0.0
        self._shown_at: dict[int, frozenset[str]] = {}
        self.fault: Exception | None = None
        self.commits = 0
        self._learner_journal = journal.another()
        self._follower_journal = journal.another()
        self._reader_journal = journal.another()
        self._reading = threading.Lock()
        try:
            self._engine = brought_back(self._learner_journal, self._fetch)
            self._desk = Desk(self._engine)
            self._head = self._desk.position
            self._configure(settings)
        except BaseException:
            self._close_journals()
            raise
        self.published: Published = self._engine.published()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), name=f"{name}-{what}", daemon=True)
            for what, work in (
                ("writer", self._write),
                ("learner", self._learn),
                ("follower", self._follow),
            )
        ]
        for thread in self._threads:
            thread.start()

    # What callers use, from any thread.

    def submit(self, entries: Sequence[Entry]) -> Future[list[Answer]]:
        """Append entries; the answers come once they are durable."""
        future: Future[list[Answer]] = Future()
        self._enqueue(_Request(entries, future, None))
        return future

    def append(self, *entries: Entry, timeout: float = 60.0) -> list[Answer]:
        """Append entries, and wait until they are durable."""
        return self.submit(entries).result(timeout)

    def submit_from(
        self, loop: asyncio.AbstractEventLoop, entries: Sequence[Entry]
    ) -> asyncio.Future[list[Answer]]:
        """Append entries; the answers come to a future of this event loop."""
        future: asyncio.Future[list[Answer]] = loop.create_future()
        self._enqueue(_Request(entries, future, loop))
        return future

    def find_ranking(self, ranking_id: str) -> Record | None:
        """Return a ranking with its position; None where there is none. Not for the event loop."""
        position = self._desk.joins.position(ranking_id)
        if position is not None:
            known = self._recent.get(position)
            if known is not None:
                return known
        with self._reading:
            return self._reader_journal.find(f"ranking:{ranking_id}")

    def knows(self, ranking_id: str) -> bool:
        """Tell whether a ranking is open, or was closed of late."""
        return self._desk.joins.position(ranking_id) is not None

    def reader(self) -> Journal:
        """Open the journal again, for one thread to read."""
        return self._journal.another()

    def settle(self, timeout: float = 60.0) -> None:
        """Wait until all that is durable now has been applied and published."""
        with self._applied:
            head = self._head
            done = self._applied.wait_for(
                lambda: self.published.position >= head or self.fault is not None, timeout
            )
        if self.fault is not None:
            raise self.fault
        if not done:
            raise RankloopError(f"loop {self.name}: learners are still behind after {timeout} s")

    def inspect(self, look: Callable[[Engine], Any]) -> Any:
        """Return what a function sees in the engine, between two entries."""
        with self._engine_lock:
            return look(self._engine)

    @property
    def ready(self) -> bool:
        """Whether it can answer."""
        return self.fault is None and not self._stopping

    @property
    def head(self) -> int:
        """The position of the last entry that this process knows to be durable."""
        return self._head

    @property
    def lag(self) -> int:
        """How many entries are durable, but not yet learnt from."""
        return self._head - self.published.position

    @property
    def waiting(self) -> int:
        """How many entries wait for the disk."""
        return self._n_waiting

    @property
    def open_rankings(self) -> int:
        """How many rankings wait for feedback."""
        return len(self._desk.joins.open)

    @property
    def leads(self) -> bool:
        """Whether this process closes windows."""
        return self._leads

    def stop(self, save: bool = True) -> None:
        """Commit what waits, apply it, keep the state, and end."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        self._others.set()
        for thread in self._threads:
            thread.join()
        if save and self.fault is None and self._engine.position:
            newest = self._journal.saved()
            if not newest or newest[0].position < self._engine.position:
                self._journal.save(saved_state(self._engine))
        self._close_journals()

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # The writer.

    def _enqueue(self, request: _Request) -> None:
        with self._wake:
            if self._stopping or self.fault is not None:
                raise BusyError(f"loop {self.name} is stopping; try another process, or later")
            if self._n_waiting + len(request.entries) > self._most_waiting and self._n_waiting:
                raise BusyError(
                    f"loop {self.name}: {self._n_waiting:,} entries wait for the disk, of at most "
                    f"{self._most_waiting:,}; try again in a second"
                )
            self._waiting.append(request)
            self._n_waiting += len(request.entries)
            self._wake.notify()

    def _write(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._stopping, _TICK)
                requests = self._gather()
                if not requests and self._stopping:
                    return
            closings = self._closings()
            if requests or closings:
                self._commit(requests, closings)
            elif self._others.is_set():
                self._others.clear()
                self._catch_up()

    def _gather(self) -> list[_Request]:
        requests, size = [], 0
        while self._waiting and (not size or size + len(self._waiting[0].entries) <= _MOST_AT_ONCE):
            request = self._waiting.popleft()
            size += len(request.entries)
            requests.append(request)
        self._n_waiting -= size
        return requests

    def _commit(self, requests: list[_Request], closings: list[Closed]) -> None:
        """Append what was asked for, and windows that are over, in one transaction; answer."""
        try:
            wanted: list[Entry] = [entry for one in requests for entry in one.entries]
            answers = iter(self._append([*wanted, *closings]))
            results: list[list[Answer] | Exception] = [
                [next(answers) for _ in one.entries] for one in requests
            ]
        except RankloopError as error:
            _log.error("loop %s: nothing was appended: %s", self.name, error)
            results = [error] * len(requests)
        by_loop: dict[Any, list[tuple[Any, list[Answer] | Exception]]] = {}
        for request, result in zip(requests, results, strict=True):
            by_loop.setdefault(request.loop, []).append((request.future, result))
        for loop, finished in by_loop.items():
            if loop is None:
                _finish(finished)
            else:
                loop.call_soon_threadsafe(_finish, finished)

    def _append(self, entries: Sequence[Entry]) -> list[Answer]:
        """Append what can be, in one transaction; follow it, and say what became of each."""
        answers: list[Answer | None] = [self._refusal(entry) for entry in entries]
        at = int(1000 * self._clock())
        drafts = [
            Draft(entry, at) for entry, answer in zip(entries, answers, strict=True) if not answer
        ]
        if not drafts:
            return [answer for answer in answers if answer]
        outcomes = self._journal.append(drafts)
        self.commits += 1
        statuses: dict[int, Any] = {}
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if outcome.status == "new":
                if outcome.position > self._desk.position + 1:  # others came between
                    self._read_up_to(outcome.position - 1)
                record = Record(outcome.position, draft.at, draft.entry)
                statuses[outcome.position] = self._follow_one(record)
        self._tell_learner()
        found = iter(outcomes)
        finished = []
        for answer in answers:
            if answer is not None:
                finished.append(answer)
                continue
            outcome = next(found)
            status = statuses[outcome.position] if outcome.status == "new" else outcome.status
            finished.append(Answer(status, outcome.position))
        return finished

    def _refusal(self, entry: Entry) -> Answer | None:
        """Return why an event is not even journaled; None where it may be."""
        if not isinstance(entry, Observed):
            return None
        position = self._desk.joins.position(entry.ranking_id)
        if position is not None:
            return None if entry.item in self._shown(position) else Answer("rejected", None)
        settings = self._desk.settings
        if settings is not None and settings.most_early == 0:
            return Answer("unknown_ranking", None)
        return None

    def _shown(self, position: int) -> frozenset[str]:
        """Return the items that a ranking showed."""
        known = self._shown_at.get(position)
        if known is None:
            ranked = self._entry(position, self._journal)
            rows = ranked.order if isinstance(ranked, Ranked) else []
            known = frozenset(ranked.items[row] for row in rows)  # type: ignore[union-attr]
            self._shown_at[position] = known
            if len(self._shown_at) > _SHOWN_KEPT:
                del self._shown_at[next(iter(self._shown_at))]
        return known

    def _follow_one(self, record: Record) -> str:
        self._recent.add(record)
        return self._desk.follow(record)

    def _read_up_to(self, position: int | None) -> None:
        for record in self._journal.scan(self._desk.position, position):
            self._follow_one(record)

    def _catch_up(self) -> None:
        try:
            self._read_up_to(None)
        except JournalError as error:
            _log.warning("loop %s: cannot follow the journal: %s", self.name, error)
        self._tell_learner()

    def _tell_learner(self) -> None:
        with self._applied:
            self._head = self._desk.position
            self._applied.notify_all()

    def _closings(self) -> list[Closed]:
        """Return the closing of windows that are over, if this process has the lease."""
        now = time.monotonic()
        if self._closes and now >= self._lease_until:  # two that close at once do no harm
            self._lease_until = now + _LEASE
            try:
                self._leads = self._journal.lead()
            except RankloopError as error:
                self._leads = False
                _log.warning("loop %s: windows stay open for now: %s", self.name, error)
        if not self._leads:
            return []
        return [Closed(ranking_id) for ranking_id in self._desk.due(int(1000 * self._clock()))]

    # The learner.

    def _learn(self) -> None:
        while True:
            with self._applied:
                self._applied.wait_for(
                    lambda: self._head > self._engine.position or self._writer_ended(), _TICK
                )
                if self._head <= self._engine.position:
                    if self._writer_ended():
                        return
                    continue
                until = min(self._head, self._engine.position + 256)
            for position in range(self._engine.position + 1, until + 1):
                record = self._record(position, self._learner_journal)
                with self._engine_lock:
                    self._engine.apply(record)
            self._publish()

    def _publish(self) -> None:
        before = self.published
        now = self._engine.published()
        with self._applied:
            self.published = now
            self._applied.notify_all()
        if self._stopping:
            return
        settings, after = self.published.settings, self.published.position
        if before.position // settings.check_every < after // settings.check_every:
            self._check()
        if before.position // settings.snapshot_every < after // settings.snapshot_every:
            self._learner_journal.save(saved_state(self._engine))
        self._judge_experiment()

    def _check(self) -> None:
        """Journal the digest, for all replicas to compare theirs with."""
        position, digest = next(reversed(self._engine.digests.items()))
        if self._leads:
            self._try(Checked(position, digest))

    def _judge_experiment(self) -> None:
        """End an experiment that clicks have decided; promote its winner where that is wanted."""
        trial = self._engine.trial
        if trial is None or not self._leads or trial.tally.wins == trial.tally.losses:
            return
        decided = trial.tally.interval(trial.alpha).sign
        if decided:
            winner = trial.names[decided > 0]
            self._try(ExperimentEnded(trial.id, f"{winner} is better"))
            if decided > 0 and trial.promote:
                self._try(Promoted(f"experiment {trial.id}", winner, f"won experiment {trial.id}"))

    def _try(self, entry: Entry) -> None:
        try:
            self.submit([entry])
        except BusyError as error:
            _log.warning("loop %s: %s", self.name, error)

    def _writer_ended(self) -> bool:
        return self._stopping and not self._threads[0].is_alive()

    # The follower.

    def _follow(self) -> None:
        tended = self._head
        while not self._stopping:
            try:
                if self._head - tended > _TEND_AFTER:
                    tended = self._head
                    self._follower_journal.tend()
                self._follower_journal.wait(10 * _TICK)
                if self._follower_journal.head() > self._head:
                    self._others.set()
            except JournalError as error:
                _log.warning("loop %s: cannot follow the journal: %s", self.name, error)
                time.sleep(1)

    # Shared.

    def _configure(self, settings: LoopSettings) -> None:
        """Journal the settings where they are new, before anything else happens."""
        wanted = settings.journaled()
        known = self._engine.settings
        if known is not None and known.names != settings.names:
            raise DataError(
                f"loop {self.name}: its journal is about {len(known.names)} features "
                f"({', '.join(known.names[:5])}, ...), but the settings name {len(settings.names)} "
                f"({', '.join(settings.names[:5])}, ...); the features of a loop cannot change: "
                "start another loop"
            )
        if known is None or known.journaled() != wanted:
            self._append([Configured(wanted, ENGINE)])
        for record in self._learner_journal.scan(self._engine.position, self._head):
            self._engine.apply(record)

    def _close_journals(self) -> None:
        for journal in (
            self._journal,
            self._learner_journal,
            self._follower_journal,
            self._reader_journal,
        ):
            journal.close()

    def _fetch(self, position: int) -> Entry:
        return self._entry(position, self._learner_journal)

    def _entry(self, position: int, journal: Journal) -> Entry:
        return self._record(position, journal).entry

    def _record(self, position: int, journal: Journal) -> Record:
        known = self._recent.get(position)
        if known is not None:
            return known
        found = journal.read(position - 1, position, 1)
        if not found:
            raise JournalError(f"{journal.where}: there is no entry {position}")
        return found[0]

    def _guarded(self, work: Callable[[], None]) -> None:
        """Run a thread; what ends it makes the loop not ready, and is told to whoever waits."""
        try:
            work()
        except Exception as error:
            level = logging.ERROR if isinstance(error, DivergedError) else logging.CRITICAL
            _log.log(level, "loop %s stops: %s", self.name, error, exc_info=True)
            self.fault = error
            with self._wake:
                waiting = list(self._waiting)
                self._waiting.clear()
                self._n_waiting = 0
                self._wake.notify_all()
            with self._applied:
                self._applied.notify_all()
            for request in waiting:
                finished = [(request.future, BusyError(f"loop {self.name} stopped: {error}"))]
                if request.loop is None:
                    _finish(finished)
                else:
                    request.loop.call_soon_threadsafe(_finish, finished)


def _finish(finished: Sequence[tuple[Any, Any]]) -> None:
    for future, result in finished:
        if future.done():  # who asked has gone
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
