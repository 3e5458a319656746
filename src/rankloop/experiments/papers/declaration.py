"""What an experiment of a paper is: its data, what to run, and what was published."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rankloop.experiments.papers.datasets import Source

NEAR = 3.0
"""A difference up to this many tolerances is near."""

CONFIDENCE = 0.95
"""A claim is settled where this interval around a number does not reach its threshold."""


class ReproductionVerdict(StrEnum):
    """How a number compares with the published one."""

    OK = "OK"
    NEAR = "NEAR"
    ABOVE = "ABOVE"
    FAR = "FAR"
    NOT_JUDGED = "not judged"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class PublishedScore:
    """A number of a paper: ours is OK within `tolerance`, ABOVE where it is better than that.

    lower_is_better : for errors

    >>> published = PublishedScore(0.45, 0.01)
    >>> published.judge(Estimate(0.47)), published.judge(Estimate(0.43))
    (<ReproductionVerdict.ABOVE: 'ABOVE'>, <ReproductionVerdict.NEAR: 'NEAR'>)
    """

    value: float
    tolerance: float
    lower_is_better: bool = False

    def judge(self, ours: Estimate) -> ReproductionVerdict:
        """Say how near ours is."""
        better = self.value - ours.value if self.lower_is_better else ours.value - self.value
        if abs(better) <= self.tolerance:
            return ReproductionVerdict.OK
        if better > 0:
            return ReproductionVerdict.ABOVE
        return (
            ReproductionVerdict.NEAR
            if -better <= NEAR * self.tolerance
            else ReproductionVerdict.FAR
        )

    def __str__(self) -> str:
        return f"{self.value:.4f}"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper about a number: that it is above one threshold, or below another.

    A number over several trials settles it where its 95% interval (Student's t) does not reach the
    threshold: OK on the right side, FAR on the wrong one, and NEAR in between.

    slack : how far on the wrong side still counts as near

    >>> Claim(above=0).judge(Estimate.over([0.02, -0.01, 0.05]))
    <ReproductionVerdict.NEAR: 'NEAR'>
    >>> Claim(below=0.1).judge(Estimate(0.05))
    <ReproductionVerdict.OK: 'OK'>
    """

    above: float | None = None
    below: float | None = None
    slack: float = 0.0

    def __post_init__(self) -> None:
        if (self.above is None) == (self.below is None):
            raise DataError(
                "a claim needs either above or below: the value that a number must exceed, or "
                "stay below"
            )

    def judge(self, ours: Estimate) -> ReproductionVerdict:
        """Say whether it holds."""
        right = ours.value - self.above if self.above is not None else self._below - ours.value
        if right > ours.interval:
            return ReproductionVerdict.OK
        near = max(ours.interval, self.slack)
        return ReproductionVerdict.NEAR if right >= -near and near > 0 else ReproductionVerdict.FAR

    @property
    def _below(self) -> float:
        assert self.below is not None
        return self.below

    def __str__(self) -> str:
        return f"> {self.above:g}" if self.above is not None else f"< {self.below:g}"


@dataclass(frozen=True)
class Estimate:
    """A number of ours, with its uncertainty.

    spread : its standard deviation over permutations, folds or trials
    error : the standard error of the mean over them
    trials : the number of each
    overlap : test queries per training query, if the trials split the same queries at random
    """

    value: float
    spread: float = 0.0
    error: float = 0.0
    trials: tuple[float, ...] = ()
    overlap: float = 0.0

    @classmethod
    def over(cls, trials: Iterable[float], overlap: float = 0.0) -> Estimate:
        """Return the mean over trials, with its spread and error.

        Random splits of the same queries share most of their training data, so they are not
        independent, and more of them do not make the mean exact. The variance of the mean over n
        is then spread^2 (1/n + overlap) instead of spread^2 / n (Nadeau and Bengio, Inference for
        the generalization error, 2003).

        >>> Estimate.over([1.0, 3.0]).error
        1.0
        >>> round(Estimate.over([1.0, 3.0], overlap=1 / 3).error, 3)
        1.291
        """
        values = np.array(list(trials), np.float64)
        spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        error = spread * math.sqrt(1 / len(values) + overlap)
        return cls(float(values.mean()), spread, error, tuple(values.tolist()), overlap)

    @property
    def interval(self) -> float:
        """Half of its 95% interval, by Student's t over the trials; 0 for a single number.

        >>> round(Estimate.over([1.0, 2.0, 3.0]).interval, 3)
        2.484
        """
        freedom = len(self.trials) - 1
        if freedom < 1:
            return 0.0
        return float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * self.error

    def minus(self, other: Estimate) -> Estimate:
        """Return the difference, trial by trial."""
        if len(self.trials) != len(other.trials) or not self.trials:
            return Estimate(self.value - other.value)
        differences = (a - b for a, b in zip(self.trials, other.trials, strict=True))
        return Estimate.over(differences, self.overlap)


@dataclass(frozen=True)
class FigureCurve:
    """A line of a figure."""

    name: str
    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class PartResult:
    """The result of a part.

    values : by the names that the part's expectations have
    curves : by panel of the figure
    """

    values: Mapping[str, Estimate]
    curves: Mapping[str, list[FigureCurve]] = field(default_factory=dict)
    axes: tuple[str, str] = ("", "")
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """How to run: quickly for a look (and the tests), or as published.

    max_trials : the largest number of permutations, draws or splits; if more are declared, the
        page says that fewer were run
    """

    quick: bool = False
    seed: int = 0
    max_trials: int | None = None

    def pick(self, full: int, quick: int) -> int:
        """Return one number for a full run and another for a quick one."""
        return quick if self.quick else full

    def trials(self, full: int) -> int:
        """Return how many permutations, draws or splits to run: two in a quick run."""
        return 2 if self.quick else min(full, self.max_trials or full)


@dataclass(frozen=True)
class ExperimentPart:
    """One data set of an experiment.

    data : its name, or None where the part makes its own
    expected : what was published, by name
    run : measures it
    stand_in : queries of simulated data that may take the place of data that was not available, 0:
        none may; claims are judged on it, published numbers are not
    seconds : how long a full run takes, about
    """

    name: str
    run: Callable[[Source, Setting], PartResult]
    expected: Mapping[str, PublishedScore | Claim]
    data: str | None = None
    convention: str = "standard"
    stand_in: int = 0
    seconds: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    reason : why our numbers are far from the published ones, if they are and the reason is known
    """

    id: str
    paper: str
    source: str
    shows: str
    parts: tuple[ExperimentPart, ...]
    reason: str = ""

    @property
    def seconds(self) -> float:
        """How long a full run takes, about."""
        return sum(part.seconds for part in self.parts)


def row(
    prefix: str, names: str, values: str, tolerance: float | tuple[float, ...], **options: Any
) -> dict[str, PublishedScore]:
    """Read a row of a published table.

    >>> row("SOLAR-I", "nDCG@1 nDCG@5", ".5060 .4479", 0.01)["SOLAR-I, nDCG@5"].value
    0.4479
    """
    numbers = [float(text) for text in values.split()]
    tolerances = tolerance if isinstance(tolerance, tuple) else (tolerance,) * len(numbers)
    return {
        f"{prefix}, {name}": PublishedScore(number, allowed, **options)
        for name, number, allowed in zip(names.split(), numbers, tolerances, strict=True)
    }
