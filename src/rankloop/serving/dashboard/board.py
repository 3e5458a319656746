"""What the dashboard keeps of one loop: running totals over time, and its health."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from rankloop.exceptions import RankloopError
from rankloop.serving.dashboard.series import Series
from rankloop.serving.dashboard.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.base import Ranker
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.service import Loop
    from rankloop.serving.state import Counters

_POINTS = 480
_PATIENCE = 10.0  # seconds that rankers may be behind
_MAX_READ = 5_000  # entries a second


class Total(NamedTuple):
    """Rankings measured, and the sum of their nDCG@10."""

    n: int
    sum: float


class Look(NamedTuple):
    """A loop at one moment, as running totals.

    shown, models : the quality of what people saw, and of what each model would have shown
    weights : by model, one per feature; models without weights are left out
    """

    position: int
    lag: int
    open_rankings: int
    champion: str
    counters: Counters
    shown: Total
    models: Mapping[str, Total]
    weights: Mapping[str, NDArray[np.float32]]


class Health(msgspec.Struct, frozen=True):
    """One clear state: a level, one word for it, and a sentence."""

    level: Literal["good", "warn", "bad"]
    word: str
    sentence: str


class Board:
    """One loop, examined regularly by one thread; other threads read the results.

    looks : over the whole time since this process started
    watch : what was found in the journal
    health : as of the last look
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.looks: Series[Look] = Series(_POINTS, spacing=1.0)
        self.watch = Watch(len(loop.published.settings.names))
        self.health = Health("warn", "Starting", "The service has just started.")
        self._heads: deque[tuple[float, int]] = deque()
        self._journal: Journal | None = None

    def look(self, at: float, monotonic: float) -> None:
        """Record the state of the loop at this time; `monotonic` is a clock that never jumps."""
        unreachable = self._follow()
        self.health = self._judged(unreachable, monotonic)
        if self.looks.wants(at):
            self.looks.add(at, looked(self.loop))

    def close(self) -> None:
        """Close the journal; only for the thread that looks."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _follow(self) -> str | None:
        """Read new entries of the journal; return the error if that fails, otherwise None."""
        try:
            if self._journal is None:
                self._journal = self.loop.reader()
            self._journal.head()  # tells whether the journal answers at all
            self.watch.follow(self._journal, self.loop.recent, self.loop.head, _MAX_READ)
        except RankloopError as error:
            self.close()
            return str(error)
        return None

    def _judged(self, unreachable: str | None, now: float) -> Health:
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
        return Health("good", "Ready", "Ranks, stores and learns.")


def looked(loop: Loop) -> Look:
    """Return the present state of a loop."""
    now = loop.published
    return Look(
        loop.head,
        loop.lag,
        loop.open_rankings,
        now.champion,
        now.counters,
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
