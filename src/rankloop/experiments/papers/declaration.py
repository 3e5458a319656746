"""What an experiment of a paper is: its data, what to run, and what was published."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankloop.experiments.papers.datasets import Source

NEAR = 3.0
"""A difference up to this many tolerances is near."""


class Verdict(StrEnum):
    """How a number compares with the published one."""

    OK = "OK"
    NEAR = "NEAR"
    FAR = "FAR"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Published:
    """A number of a paper; ours may differ from it by `tolerance`, or be better.

    lower_is_better : for errors

    >>> Published(0.45, 0.01).judge(0.47), Published(0.45, 0.01).judge(0.43)
    (<Verdict.OK: 'OK'>, <Verdict.NEAR: 'NEAR'>)
    """

    value: float
    tolerance: float
    better_is_fine: bool = True
    lower_is_better: bool = False

    def judge(self, ours: float) -> Verdict:
        """Say how near ours is."""
        difference = self.value - ours if self.lower_is_better else ours - self.value
        if abs(difference) <= self.tolerance or (difference > 0 and self.better_is_fine):
            return Verdict.OK
        return Verdict.NEAR if abs(difference) <= NEAR * self.tolerance else Verdict.FAR


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, turned into a number that is above 0 where it holds.

    slack : how far below 0 still counts as near
    """

    slack: float = 0.0

    def judge(self, ours: float) -> Verdict:
        """Say whether it holds."""
        if ours > 0:
            return Verdict.OK
        return Verdict.NEAR if ours >= -self.slack and self.slack > 0 else Verdict.FAR


@dataclass(frozen=True)
class Measured:
    """A number of ours, and its spread over permutations, folds or trials."""

    value: float
    spread: float = 0.0


@dataclass(frozen=True)
class Curve:
    """A line of a figure."""

    name: str
    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class Found:
    """What a part gave.

    values : by the names that the part's expectations have
    curves : by panel of the figure
    """

    values: Mapping[str, Measured]
    curves: Mapping[str, list[Curve]] = field(default_factory=dict)
    axes: tuple[str, str] = ("", "")
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """How to run: quickly for a look (and the tests), or as published."""

    quick: bool = False
    seed: int = 0

    def pick(self, full: int, quick: int) -> int:
        """Return one number for a full run and another for a quick one."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Part:
    """One data set of an experiment.

    data : its name, or None where the part makes its own
    expected : what was published, by name
    run : measures it
    stand_in : queries of simulated data that may take the place of data that is not at hand, 0:
        none may; claims are judged on it, published numbers are not
    seconds : how long a full run takes, about
    """

    name: str
    run: Callable[[Source, Setting], Found]
    expected: Mapping[str, Published | Claim]
    data: str | None = None
    convention: str = "standard"
    stand_in: int = 0
    seconds: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    reason : why our numbers are far from it where they are, as far as was found
    """

    id: str
    paper: str
    source: str
    shows: str
    parts: tuple[Part, ...]
    reason: str = ""

    @property
    def seconds(self) -> float:
        """How long a full run takes, about."""
        return sum(part.seconds for part in self.parts)


def row(
    prefix: str, names: str, values: str, tolerance: float | Any, **options: Any
) -> dict[str, Published]:
    """Read a row of a published table.

    >>> row("SOLAR-I", "nDCG@1 nDCG@5", ".5060 .4479", 0.01)["SOLAR-I, nDCG@5"].value
    0.4479
    """
    numbers = [float(text) for text in values.split()]
    tolerances = tolerance if isinstance(tolerance, tuple) else (tolerance,) * len(numbers)
    return {
        f"{prefix}, {name}": Published(number, allowed, **options)
        for name, number, allowed in zip(names.split(), numbers, tolerances, strict=True)
    }
