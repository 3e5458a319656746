"""The ranker: it applies durable entries to the engine, and publishes models for ranking."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.entries import Checked, Entry, ExperimentEnded
from rankloop.serving.recent import patient
from rankloop.serving.snapshots import saved_state
from rankloop.serving.threads.queue import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.engine import Engine
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.recent import Recent
    from rankloop.serving.threads.progress import Progress

_log = logging.getLogger("rankloop.serving")

_AT_ONCE = 256  # entries between two publications
_TICK = 0.05  # seconds between looks at whether all is over


class Ranker:
    """Applies all durable entries to the engine.

    Parameters
    ----------
    name : the name of the loop
    engine : only this thread changes it, while it holds the `lock`
    journal : only for this thread
    recent : has the newest entries, for a ranker that is far behind
    progress : gives durable entries, and records what was learnt
    submit : appends an entry of its own: a digest, the end of an experiment
    over : whether no more entries will become durable
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        journal: Journal,
        recent: Recent,
        progress: Progress,
        submit: Callable[[list[Entry]], object],
        over: Callable[[], bool],
    ) -> None:
        self._name, self._engine, self._journal = name, engine, journal
        self._recent, self._progress = recent, progress
        self._submit, self._over = submit, over
        self.lock = threading.Lock()

    def run(self) -> None:
        """Work until no more entries become durable."""
        engine, progress = self._engine, self._progress
        read = patient(
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
                with self.lock:
                    engine.apply(record)
            self._publish()

    def _publish(self) -> None:
        before = self._progress.published
        with self.lock:
            now = self._engine.published()
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
        """Keep the state; it is a shortcut, so that a store that cannot now does no harm."""
        try:
            self._journal.save(saved_state(self._engine))
        except JournalError as error:
            _log.warning("loop %s: its state was not saved: %s", self._name, error)

    def _check(self) -> None:
        """Journal the digest, for all replicas to compare theirs with."""
        position, digest = next(reversed(self._engine.digests.items()))
        if self._progress.leads:
            self._try(Checked(position, digest))

    def _judge_experiment(self) -> None:
        """End an experiment that clicks have decided."""
        trial = self._engine.trial
        if trial is None or not self._progress.leads:
            return
        winner = trial.winner()
        if winner is not None:
            self._try(ExperimentEnded(trial.id, f"{winner} is better", winner))

    def _try(self, entry: Entry) -> None:
        try:
            self._submit([entry])
        except BusyError as error:
            _log.warning("%s", error)  # it names the loop
