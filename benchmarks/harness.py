"""Timing of several contenders, interleaved in one process, and what a benchmark reports."""

from __future__ import annotations

import importlib
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


@dataclass(frozen=True)
class Settings:
    """How to run: rounds after the warm-up, and whether on small data, as a smoke test."""

    repeat: int = 5
    quick: bool = False


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    name, run : what it is called, and the timed call; all data is prepared before
    against : the contender of ours that it is compared with; None: it is ours
    share : the part of the work that `run` does; times are divided by it
    note : what a reader must know to judge the number
    """

    name: str
    run: Callable[[], Any]
    against: str | None = None
    share: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Timing:
    """Seconds of a contender: wall-clock best and median, best processor time of all threads."""

    name: str
    best: float
    median: float
    cpu: float
    against: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Target:
    """A number to hold: `value` at least, or at most, `bound`; a value of None was not measured."""

    what: str
    value: float | None
    bound: float
    at_least: bool = True

    @property
    def met(self) -> bool | None:
        """Whether it holds; None where it was not measured."""
        if self.value is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass
class Report:
    """What one benchmark found; `work` and `unit` turn seconds into a speed."""

    name: str
    title: str
    timings: list[Timing] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    work: float | None = None
    unit: str = ""

    def __getitem__(self, name: str) -> Timing | None:
        return next((t for t in self.timings if t.name == name), None)

    def ratio(self, name: str, ours: str, clock: str = "best") -> float | None:
        """How many times longer a contender takes than ours; None where one is missing."""
        theirs, mine = self[name], self[ours]
        return getattr(theirs, clock) / getattr(mine, clock) if theirs and mine else None

    def hold(self, what: str, value: float | None, bound: float, *, at_least: bool = True) -> None:
        """Add a target."""
        self.targets.append(Target(what, value, bound, at_least))


def interleave(contenders: Sequence[Contender], repeat: int) -> list[Timing]:
    """Run all once to warm up, then `repeat` rounds in which each takes its turn.

    A disturbance from outside then meets all of them, not one. Processor time is the process's,
    all threads together: on a busy machine it is the steadier of the two.
    """
    walls: list[list[float]] = [[] for _ in contenders]
    cpus: list[list[float]] = [[] for _ in contenders]
    for turn in range(repeat + 1):
        for contender, wall, cpu in zip(contenders, walls, cpus, strict=True):
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            result = contender.run()
            cpu_end, wall_end = time.process_time(), time.perf_counter()
            del result  # outside the timing: what a contender leaves behind is not its speed
            if turn:
                wall.append((wall_end - wall_start) / contender.share)
                cpu.append((cpu_end - cpu_start) / contender.share)
    return [
        Timing(c.name, min(wall), statistics.median(wall), min(cpu), c.against, c.note)
        for c, wall, cpu in zip(contenders, walls, cpus, strict=True)
    ]


def optional(name: str, report: Report) -> ModuleType | None:
    """Import a peer, or note that it is left out."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation must not stop the others
        report.notes.append(f"left out: {name} ({type(error).__name__}: {error})")
        return None


def attempt(contender: Contender, report: Report) -> list[Contender]:
    """Try a peer once; note that it is left out where it fails."""
    try:
        contender.run()
    except Exception as error:  # a peer's fault is a line in the report
        report.notes.append(f"left out: {contender.name} ({type(error).__name__}: {error})")
        return []
    return [contender]
