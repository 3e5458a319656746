"""A running loop: the interface to its journal, its engine and its threads."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rankloop.exceptions import RankloopError
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.epochs import enter_epoch
from rankloop.serving.engine.snapshots import load_engine, take_snapshot
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import Compacted, Configured, Forgotten
from rankloop.serving.journal.base import CompactedError, JournalError, make_row
from rankloop.serving.journal.cache import EntryCache, make_fetch, retry_reads
from rankloop.serving.journal.entries import decode
from rankloop.serving.learning.failures import DivergedError
from rankloop.serving.security.audit import ActionLog
from rankloop.serving.security.hashes import load_hashes
from rankloop.serving.threads.follower import Follower
from rankloop.serving.threads.learning import LearningThread
from rankloop.serving.threads.live_joins import LiveJoins
from rankloop.serving.threads.loading import load_features
from rankloop.serving.threads.progress import LoopProgress
from rankloop.serving.threads.queue import Queue, Submission
from rankloop.serving.threads.writer import Writer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from rankloop.serving.engine.state import Published
    from rankloop.serving.journal.base import Journal, Record, StoredKey
    from rankloop.serving.journal.entries import Entry
    from rankloop.serving.live_features.fold import FeatureFold
    from rankloop.serving.security.vault import Vault
    from rankloop.serving.settings.loop import LoopSettings
    from rankloop.serving.threads.queue import Answer

_T = TypeVar("_T")
_NEWS = 5.0  # seconds; later, traffic may try again whether the store takes entries
_SCRUBS = 10  # attempts to erase destroyed keys, before the follower takes over
_log = logging.getLogger("rankloop.serving")


class Loop:
    """One loop of a service, with its journal.

    Parameters
    ----------
    name : the name of the loop
    settings : of the loop; if the journal has other ones, these are stored in it
    journal : opened only for this loop
    max_waiting : entries that may wait for the disk
    clock : seconds since 1970; a loop reads the time only here
    closes : whether it may close windows, if it gets the lease; False for a loop that only reads
    vault : encrypts personal fields; without it, they are not stored
    """

    def __init__(
        self,
        name: str,
        settings: LoopSettings,
        journal: Journal,
        max_waiting: int = 10_000,
        clock: Callable[[], float] = time.time,
        closes: bool = True,
        vault: Vault | None = None,
    ) -> None:
        self.name, self._journal, self.vault, self._clock = name, journal, vault, clock
        learns, follows, self._reads = (journal.another() for _ in range(3))
        self._journals = (journal, learns, follows, self._reads)
        self._reading = threading.Lock()
        self._started = False
        self.rejected = 0  # events since the start, of which most are not journaled
        recent = self._recent = EntryCache()
        try:
            self._engine = load_engine(learns, retry_reads(make_fetch(recent, learns), self._over))
            self._configure(settings, clock)
            self.actions = ActionLog(journal)
            if vault is not None:
                vault.check(journal)
            self.hashes = load_hashes(journal, vault) if settings.computes else None
            self._live = self._load_live(journal)
        except BaseException:
            self._close_journals()
            raise
        self._base = self._engine.base
        progress = LoopProgress(self._engine.position, self._engine.publish())
        self._progress = progress
        self._queue = Queue(name, max_waiting)
        self._writer = Writer(
            name, self._queue, journal, self._live, recent, progress, clock, closes, self._note
        )
        self._learning = LearningThread(
            name, self._engine, learns, recent, progress, self.submit, self._written, self._live
        )
        self._follower = Follower(name, follows, progress, recent, self._writer.others)
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=f"{name}-{what}", daemon=True)
            for what, work in (
                ("writer", self._writer.run),
                ("learning", self._learning.run),
                ("follower", self._follower.run),
            )
        ]
        self._started = True
        for thread in self._threads:
            thread.start()

    def now(self) -> int:
        """Return the time, in milliseconds since 1970."""
        return int(1000 * self._clock())

    def submit(self, entries: Sequence[Entry]) -> Future[list[Answer]]:
        """Append entries; the answers follow once they are durable."""
        future: Future[list[Answer]] = Future()
        self._queue.put(Submission(entries, future, None))
        return future

    def append(self, *entries: Entry, timeout: float = 60.0) -> list[Answer]:
        """Append entries, and wait until they are durable."""
        return self.submit(entries).result(timeout)

    def submit_from(
        self,
        loop: asyncio.AbstractEventLoop,
        entries: Sequence[Entry],
        keys: Sequence[StoredKey] = (),
    ) -> asyncio.Future[list[Answer]]:
        """Append entries and keys; the answers are the result of a future of this event loop."""
        future: asyncio.Future[list[Answer]] = loop.create_future()
        self._queue.put(Submission(entries, future, loop, keys))
        return future

    def find_ranking(self, ranking_id: str) -> Record | None:
        """Return a ranking with its position; None if there is none. Not for the event loop.

        Raises
        ------
        CompactedError
            if it was compacted, so that nothing can refer to it any more.
        """
        position = self._live.joins.position(ranking_id)
        if position is not None and position <= self._base:
            raise CompactedError(
                f"the ranking {ranking_id!r:.80} was compacted, and is only in the archive"
            )
        if position is not None:
            known = self._recent.get(position)
            if known is not None:
                return known
        return self.read(lambda journal: journal.find(f"ranking:{ranking_id}"))

    def knows(self, ranking_id: str) -> bool:
        """Return whether a ranking is open or was recently closed."""
        return self._live.joins.position(ranking_id) is not None

    def recent(self, position: int, decode: Callable[[bytes], Entry] = decode) -> Record | None:
        """Return an entry if it is still in memory, otherwise None."""
        return self._recent.get(position, decode)

    def reader(self) -> Journal:
        """Open the journal again, for one thread to read."""
        return self._journal.another()

    def read(self, look: Callable[[Journal], _T]) -> _T:
        """Return the result of a function of the journal. Not for the event loop."""
        with self._reading:
            return look(self._reads)

    @property
    def live(self) -> LiveJoins:
        """Joins and features after the last durable entry."""
        return self._live

    def scrub(self) -> bool:
        """Erase destroyed keys from all files; if others read, that is tried again until it works.

        Returns whether they are erased. Not for the event loop.
        """
        for _ in range(_SCRUBS):  # our own threads read for some milliseconds at a time
            if self.read(lambda journal: journal.scrub()):
                return True
            time.sleep(0.05)
        self._follower.unscrubbed.set()
        return False

    def settle(self, timeout: float = 60.0) -> None:
        """Wait until all that is durable now has been applied and published."""
        if not self.wait_for_entry(self.head, timeout):
            raise RankloopError(f"loop {self.name}: rankers are still behind after {timeout} s")

    def wait_for_entry(self, position: int, timeout: float) -> bool:
        """Wait until an entry was applied and published; return whether it was in time."""
        return self._progress.wait_for_entry(position, timeout)

    def inspect(self, look: Callable[[Engine], _T]) -> _T:
        """Return the result of a function of the engine, between two entries."""
        with self._learning.lock:
            return look(self._engine)

    @property
    def published(self) -> Published:
        """The models for ranking; they never change, but are replaced by new ones."""
        return self._progress.published

    @property
    def ready(self) -> bool:
        """Whether it can answer."""
        return self.fault is None and not self._progress.stopping

    @property
    def unwritten(self) -> str:
        """Why nothing could be stored in the last seconds; empty if it could, or nobody tried."""
        failed = self._progress.unwritten
        return "" if failed is None or time.monotonic() - failed[0] > _NEWS else failed[1]

    @property
    def fault(self) -> Exception | None:
        """The error that ended one of its threads, or None."""
        return self._progress.fault

    @property
    def head(self) -> int:
        """The position of the last entry that this process knows to be durable."""
        return self._progress.head

    @property
    def lag(self) -> int:
        """Number of entries that are durable, but not yet learnt from."""
        return self.head - self.published.position

    @property
    def waiting(self) -> int:
        """Number of entries that wait for the disk."""
        return len(self._queue)

    @property
    def commits(self) -> int:
        """Number of transactions so far."""
        return self._writer.commits

    @property
    def open_rankings(self) -> int:
        """Number of rankings that wait for feedback."""
        return len(self._live.joins.open)

    @property
    def leads(self) -> bool:
        """Whether this process closes windows."""
        return self._progress.leads

    def stop(self, save: bool = True) -> None:
        """Commit and apply all waiting entries, save the state, and stop."""
        self._progress.stopping = True
        self._queue.close()
        for thread in self._threads:
            thread.join()
        if save and self.fault is None and self._engine.position:
            self._save()
        self._close_journals()

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _configure(self, settings: LoopSettings, clock: Callable[[], float]) -> None:
        """Store the settings in the journal if they are new, before anything else happens."""
        if self._engine.settings is None:
            _log.warning(
                "loop %s: %s is a new, empty journal; if there should be one, check the path of "
                "the journal in the settings",
                self.name,
                self._journal.where,
            )
        if settings.change(self._engine.settings, f"loop {self.name}"):
            entry = Configured(settings.to_bytes(), ENGINE)
            self._journal.append([make_row(entry, int(1000 * clock()))])
        for record in self._journal.scan(self._engine.position):
            self._engine.apply(record)
        enter_epoch(self._journal, self._engine, int(1000 * clock()))

    def _load_live(self, journal: Journal) -> LiveJoins:
        """Return the joins after the last entry, and the features if the loop computes them."""
        settings = self._engine.settings
        if settings is None or not settings.computes:
            return LiveJoins.of(self._engine, self.now())

        def load(settings: LoopSettings, columns: int) -> LiveJoins:
            report = partial(_log.info, "loop %s: features after entry %d", self.name)
            return load_features(journal, settings, columns, self.now(), None, self._recent, report)

        def reload(settings: LoopSettings, position: int) -> FeatureFold:
            until = load_features(journal, settings, position, self.now(), position, self._recent)
            assert until.features is not None
            return until.features

        live = load(settings, max(self._engine.columns))
        live.reload = reload
        return live

    def _note(self, record: Record) -> None:
        self.actions.note(record)
        if isinstance(record.entry, Compacted):
            self._base = max(self._base, record.entry.until)
        if self.vault is not None and isinstance(record.entry, Forgotten):
            self.vault.forget(record.entry.keys)

    def _save(self) -> None:
        """Save the state; if that fails, only the next start takes longer."""
        try:
            newest = self._journal.states()
            if not newest or newest[0].position < self._engine.position:
                self._journal.save(take_snapshot(self._engine))
            self._live.save(self._journal)
        except JournalError as error:
            _log.warning("loop %s: its state was not saved: %s", self.name, error)

    def _over(self) -> bool:
        """Whether reads that fail are not tried again: before the start, and at the end."""
        return not self._started or self._progress.stopping

    def _written(self) -> bool:
        """Whether no more entries will become durable."""
        return self._progress.stopping and not self._threads[0].is_alive()

    def _close_journals(self) -> None:
        for journal in self._journals:
            journal.close()

    def _run(self, work: Callable[[], None]) -> None:
        """Run a thread; an error that ends it stops the loop, and is raised for all who wait."""
        try:
            work()
        except Exception as error:
            level = logging.ERROR if isinstance(error, DivergedError) else logging.CRITICAL
            _log.log(level, "loop %s stops: %s", self.name, error, exc_info=True)
            self._progress.fail(error)
            self._queue.fail(error)
