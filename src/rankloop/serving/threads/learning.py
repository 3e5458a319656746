"""The learning thread: it applies durable entries to the engine, and publishes models."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from rankloop.serving.engine.snapshots import take_snapshot
from rankloop.serving.journal.action_entries import Checked, ExperimentEnded
from rankloop.serving.journal.base import BusyError, JournalError
from rankloop.serving.journal.cache import retry_reads
from rankloop.serving.journal.entries import Entry
from rankloop.serving.learning.failures import is_contained

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.cache import EntryCache
    from rankloop.serving.threads.live_joins import LiveJoins
    from rankloop.serving.threads.progress import LoopProgress

_log = logging.getLogger("rankloop.serving")

_AT_ONCE = 256  # entries between two publications
_TICK = 0.05  # seconds between two checks of whether the loop stops


class LearningThread:
    """Applies all durable entries to the engine.

    Parameters
    ----------
    name : the name of the loop
    engine : only this thread changes it, while it holds the `lock`
    journal : only for this thread
    recent : has the newest entries, if this thread is far behind
    progress : gives durable entries, and records what was learnt
    submit : appends an entry of its own: a digest, the end of an experiment
    over : whether no more entries will become durable
    live : joins and features after the last durable entry
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        journal: Journal,
        recent: EntryCache,
        progress: LoopProgress,
        submit: Callable[[list[Entry]], object],
        over: Callable[[], bool],
        live: LiveJoins,
    ) -> None:
        self._name, self._engine, self._journal = name, engine, journal
        self._recent, self._progress = recent, progress
        self._submit, self._over, self._live = submit, over, live
        self.lock = threading.Lock()

    def run(self) -> None:
        """Work until no more entries become durable."""
        engine, progress = self._engine, self._progress
        read = retry_reads(
            lambda after: self._recent.read(after, progress.head, _AT_ONCE, self._journal),
            lambda: progress.stopping,
        )
        while True:
            with progress.changed:
                progress.changed.wait_for(
                    lambda: progress.head > engine.position or self._over(), _TICK
                )
                if progress.head <= engine.position:
                    if self._over():
                        return
                    continue
                records = progress.take(engine.position, _AT_ONCE)
            for record in records or read(engine.position):
                with self.lock:  # for each entry, so that `Loop.inspect` waits for one at most
                    engine.apply(record)
            self._publish()

    def _publish(self) -> None:
        before = self._progress.published
        with self.lock:
            now = self._engine.publish()
        self._progress.publish(now)
        if self._progress.stopping:
            return
        settings = now.settings
        if before.position // settings.check_every < now.position // settings.check_every:
            self._check()
        if before.position // settings.snapshot_every < now.position // settings.snapshot_every:
            self._save()
        self._judge_experiment()

    def _save(self) -> None:
        """Save the state, which only makes the next start faster; so a failure does no harm."""
        try:
            self._journal.save(take_snapshot(self._engine))
        except JournalError as error:
            _log.warning("loop %s: its state was not saved: %s", self._name, error)

    def _check(self) -> None:
        """Append the newest digest, with which other processes compare theirs."""
        position, digest = next(reversed(self._engine.digests.items()))
        features = self._live.features
        computed = "" if features is None else features.digests.get(position, "")
        if self._progress.leads:
            self._try(Checked(position, digest, computed))

    def _judge_experiment(self) -> None:
        """End an experiment that clicks have decided."""
        experiment = self._engine.running
        if experiment is None or not self._progress.leads:
            return
        try:
            winner = experiment.winner()
        except Exception as error:  # the loop goes on; people can end the experiment
            if not is_contained(error):
                raise
            _log.error(
                "loop %s: experiment %s cannot be judged: %s", self._name, experiment.id, error
            )
            return
        if winner is not None:
            self._try(ExperimentEnded(experiment.id, f"{winner} is better", winner))

    def _try(self, entry: Entry) -> None:
        try:
            self._submit([entry])
        except BusyError as error:
            _log.warning("%s", error)  # it names the loop
