"""What the dashboard knows about loops: running totals over time, and their health."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from rankloop.exceptions import RankloopError
from rankloop.serving.dashboard.journal_summary import JournalSummary
from rankloop.serving.dashboard.marks import change_mark
from rankloop.serving.dashboard.series import Series
from rankloop.serving.dashboard.traffic import TrafficTotals, measure_traffic
from rankloop.serving.learning.changes import adaptive_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.base import Ranker
    from rankloop.serving.engine.state import Totals
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.loop import Loop
    from rankloop.serving.metrics import Metrics

_log = logging.getLogger("rankloop.serving")
_EVERY = 1.0  # seconds
_HOUR = 360  # points of traffic, which in the end are ten seconds apart
_NEWS = 10_000  # entries after which a failure is no longer shown as news
_POINTS = 480
_PATIENCE = 10.0  # seconds that learning may be behind
_MAX_READ = 5_000  # entries a second
_MAX_MARKED = 1_000  # changes that have their marks


class Total(NamedTuple):
    """Rankings measured, and the sum of their nDCG@10."""

    n: int
    sum: float


class LoopSample(NamedTuple):
    """A loop at one moment, as running totals.

    shown, models : the quality of what people saw, and of what each model would have shown
    weights : by model, one per feature; models without weights are left out
    """

    position: int
    lag: int
    open_rankings: int
    champion: str
    totals: Totals
    shown: Total
    models: Mapping[str, Total]
    weights: Mapping[str, NDArray[np.float32]]


class Health(msgspec.Struct, frozen=True):
    """The health of a loop: a level, a word for it, and a sentence."""

    level: Literal["good", "warn", "bad"]
    word: str
    sentence: str


class Board:
    """One loop, examined regularly by one thread; other threads read the results.

    samples : over the whole time since this process started
    summary : what the journal shows besides the models
    health : at the last examination
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.samples: Series[LoopSample] = Series(_POINTS, spacing=1.0)
        self.summary = JournalSummary(_categorical(loop))
        self.health = Health("warn", "Starting", "The service has just started.")
        self._heads: deque[tuple[float, int]] = deque()
        self._journal: Journal | None = None
        self._marked: deque[tuple[str, int]] = deque(maxlen=_MAX_MARKED)

    def look(self, at: float, monotonic: float) -> None:
        """Examine the loop; `at` is the time, and `monotonic` a clock that is never set back."""
        unreachable = self._follow()
        self.health = self._judge(unreachable, monotonic)
        if self.samples.wants(at):
            self.samples.add(at, take_sample(self.loop))

    def close(self) -> None:
        """Close the journal; only for the thread that examines the loop."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _follow(self) -> str | None:
        """Read new entries of the journal; return the error if that fails, otherwise None."""
        try:
            if self._journal is None:
                self._journal = self.loop.reader()
            self._journal.head()  # tells whether the journal answers at all
            self.summary.examine(_categorical(self.loop))
            self.summary.follow(self._journal, self.loop.recent, self.loop.head, _MAX_READ)
            self._mark_changes(self._journal)
        except RankloopError as error:
            self.close()
            return str(error)
        return None

    def _mark_changes(self, journal: Journal) -> None:
        """Mark the changes that models noticed since the last look."""
        now = self.loop.published
        for name, changes in now.changes.items():
            ranker = adaptive_part(now.models[name])
            if ranker is None:
                continue
            for position in changes.positions:
                if position < self.summary.since or (name, position) in self._marked:
                    continue
                record = self.loop.recent(position)
                records = [record] if record else journal.read(position - 1, position, 1)
                labels = self.loop.live.labels()
                self.summary.marks.extend(change_mark(one, name, ranker, labels) for one in records)
                self._marked.append((name, position))

    def _judge(self, unreachable: str | None, now: float) -> Health:
        loop = self.loop
        if loop.fault is not None:
            return Health(
                "bad", "Fault", f"The loop has stopped: {loop.fault}. Restart the service."
            )
        if not loop.ready:
            return Health("bad", "Stopping", "The service is stopping.")
        if unreachable is not None:
            return Health("bad", "Journal unreachable", f"Nothing can be stored: {unreachable}")
        self._heads.append((now, loop.head))
        while len(self._heads) > 1 and now - self._heads[1][0] >= _PATIENCE:
            self._heads.popleft()
        then, head = self._heads[0]
        if now - then >= _PATIENCE and loop.published.position < head:
            return Health(
                "warn",
                "Behind",
                f"Rankers are {loop.lag:,} entries and more than {_PATIENCE:.0f} seconds "
                "behind. Nothing is lost, but the models are not up to date.",
            )
        published = loop.published
        latest = published.failures[-1] if published.failures else None
        if latest is not None and latest.position > published.position - _NEWS:
            return Health(
                "warn",
                "Left out",
                f"{published.totals.failed:,} failures were left out. The last: entry "
                f"{latest.position:,}, {latest.what}: {latest.error}",
            )
        return Health("good", "Ready", "Ranks, stores and learns.")


class Boards:
    """All loops of a process, examined every second by a thread for which requests never wait.

    Parameters
    ----------
    loops : by name
    metrics : of this process
    clock : seconds since 1970, as the loops count them
    """

    def __init__(
        self,
        loops: Mapping[str, Loop],
        metrics: Metrics,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._metrics, self._clock = metrics, clock
        self.loops = {name: Board(loop) for name, loop in loops.items()}
        self.traffic: Series[TrafficTotals] = Series(_HOUR, spacing=1.0, coarsest=10.0)
        self.started = time.time()
        self._ending = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="dashboard", daemon=True)

    def start(self) -> None:
        """Start to examine the loops every second."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; the loops continue."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self.look()
            except Exception:
                _log.warning("the dashboard could not read its loops", exc_info=True)
            self._ending.wait(_EVERY)
        for board in self.loops.values():
            board.close()

    def look(self) -> None:
        """Examine all loops once."""
        with self._looking:
            at, monotonic = self._clock(), time.monotonic()
            if self.traffic.wants(time.time()):
                self.traffic.add(time.time(), measure_traffic(self._metrics))
            for board in self.loops.values():
                board.look(at, monotonic)


def take_sample(loop: Loop) -> LoopSample:
    """Return the present state of a loop."""
    now = loop.published
    return LoopSample(
        loop.head,
        loop.lag,
        loop.open_rankings,
        now.champion,
        now.totals,
        Total(now.shown.n, now.shown.total),
        {name: Total(curve.n, curve.total) for name, curve in now.curves.items()},
        {
            name: weights
            for name, model in now.models.items()
            if (weights := weights_of(model, now.settings.names)) is not None
        },
    )


def weights_of(model: Ranker, names: tuple[str, ...]) -> NDArray[np.float32] | None:
    """Return one weight per feature; None for a model that is not a sum of weighted features."""
    parts = model.explain()
    if not parts or not all({"feature", "weight"} == part.keys() for part in parts):
        return None
    known = {part["feature"]: part["weight"] for part in parts}
    if not known.keys() <= set(names):
        return None
    return np.array([known.get(name, 0.0) for name in names], np.float32)


def _categorical(loop: Loop) -> list[bool]:
    """Return which columns of a loop's rankings hold categories."""
    settings = loop.published.settings
    if settings.columns is None:
        return [False] * len(settings.names)
    return [column.kind == "category" for column in settings.columns]
