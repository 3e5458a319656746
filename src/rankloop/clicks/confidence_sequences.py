"""Confidence sequences: intervals for a mean that hold at all times at once.

An ordinary confidence interval is valid if you look at it once. These are valid at all times
together, so you may watch an experiment while it runs, and stop it because of what you see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rankloop.clicks.sign_bets import SignBets


@dataclass(frozen=True)
class Interval:
    """An interval for a mean."""

    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 if the mean is above 0, -1 if it is below, 0 if that is not known yet."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class EmpiricalBernstein:
    """Intervals for the mean of bounded outcomes that arrive one by one; the mean may drift.

    After t outcomes the interval contains the average of their t expectations, each given the
    outcomes before it. With probability 1 - alpha it does so for all t together. The expectations
    may change over time, and outcomes need not be independent, so users and rankers may drift. With
    V the sum of squared distances of each outcome to the mean of those before it, the half
    width is u(V) / t, where u solves m(u, V) = 2 / alpha for the gamma-exponential mixture m:
    it falls nearly as fast as the law of the iterated logarithm allows, and is narrow if outcomes
    vary little.

    Parameters
    ----------
    alpha : the chance that the sequence is ever wrong, between 0 and 1
    lowest, highest : of any outcome
    tuned_for : the number V, in units of (highest - lowest)^2, at which the interval is the
        narrowest; any value is valid
    n, total, variance : outcomes so far, their sum, and V

    Notes
    -----
    Cost: O(1) per outcome, and finding a root per interval.

    Examples
    --------
    >>> sequence = EmpiricalBernstein(alpha=0.05, lowest=-1, highest=1)
    >>> for outcome in [1, 0, 1, 1, -1] * 40:
    ...     sequence = sequence.observe(outcome)
    >>> interval = sequence.interval()
    >>> round(interval.low, 2), round(interval.high, 2), interval.sign
    (0.19, 0.61, 1)

    References
    ----------
    Howard, Ramdas, McAuliffe and Sekhon, Time-uniform, nonparametric, nonasymptotic confidence
    sequences (2021), theorem 4 and proposition 9.
    """

    alpha: float = 0.05
    lowest: float = -1.0
    highest: float = 1.0
    tuned_for: float = 50.0
    n: int = 0
    total: float = 0.0
    variance: float = 0.0

    def __post_init__(self) -> None:
        check_sequence(self.alpha, self.lowest, self.highest)
        if not self.tuned_for > 0:
            raise DataError(f"tuned_for must be above 0; found {self.tuned_for!r}")

    def observe(self, outcome: float) -> Self:
        """Return the sequence with one more outcome."""
        check_outcome(outcome, self.lowest, self.highest)
        # The guess must not depend on this outcome: the proof needs a prediction made before it.
        guess = self.total / self.n if self.n else (self.lowest + self.highest) / 2
        return replace(
            self,
            n=self.n + 1,
            total=self.total + float(outcome),
            variance=self.variance + (float(outcome) - guess) ** 2,
        )

    def interval(self) -> Interval:
        """Return the interval now."""
        if self.n == 0:
            return Interval(self.lowest, self.highest)
        width = self.highest - self.lowest
        rho = best_rho(self.tuned_for, self.alpha)
        # Each side may be wrong with probability alpha / 2. The mixture is for outcomes of range 1.
        bound = width * mixture_bound(self.variance / width**2, rho, self.alpha / 2) / self.n
        mean = self.total / self.n
        return Interval(max(mean - bound, self.lowest), min(mean + bound, self.highest))


def best_rho(v: float, alpha: float) -> float:
    """Return the parameter of the mixture that makes the boundary about lowest at V = v."""
    wanted = 2 * math.log(1 / alpha)
    return v / (wanted + math.log1p(wanted))


def _log_mixture(s: float, v: float, rho: float) -> float:
    """Return the log of the gamma-exponential mixture of scale 1 (Howard et al., proposition 9).

    For a fair game the mixture is a nonnegative supermartingale in (s, v) that starts at 1. So by
    Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha: that is why
    the intervals hold at all times at once.
    """
    from scipy.special import gammainc, gammaln  # takes long to import

    top = s + v + rho
    return float(
        rho * math.log(rho)
        - gammaln(rho)
        - math.log(gammainc(rho, rho))
        + gammaln(v + rho)
        + float(np.log(np.maximum(gammainc(v + rho, top), 1e-300)))
        - (v + rho) * math.log(top)
        + s
        + v
    )


def mixture_bound(v: float, rho: float, alpha: float) -> float:
    """Return the s at which the mixture reaches 1 / alpha: the boundary at V = v."""
    from scipy.optimize import brentq

    wanted = math.log(1 / alpha)
    # The mixture grows with s, and is below 1 / alpha at 0: there is one root, below some `high`.
    high = 2 * (math.sqrt((v + rho) * wanted) + wanted)
    while _log_mixture(high, v, rho) < wanted:
        high *= 2
    return float(brentq(lambda s: _log_mixture(s, v, rho) - wanted, 0.0, high))


@dataclass(frozen=True, eq=False)
class Betting:
    """Intervals for a fixed mean of bounded outcomes, by betting; they are narrow from the start.

    For each candidate m, two gamblers bet on outcomes above and below m, with stakes that depend
    only on the past. If m is the mean, neither expects to gain, and the two together ever multiply
    their capital by 1 / alpha with a probability of at most alpha. So the interval contains all m
    against which they have not done so. For the first few
    hundred outcomes it is narrower than :class:`EmpiricalBernstein`, but it may be wrong if the
    mean drifts.

    Parameters
    ----------
    alpha : the chance that the sequence is ever wrong, between 0 and 1
    lowest, highest : of any outcome
    grid : how many candidates are kept, at least 2
    n, total, variance : outcomes so far, and their running sums on the scale from 0 to 1
    gains : (2, grid) log capital of the gamblers

    Notes
    -----
    Cost: O(grid) per outcome.

    Examples
    --------
    >>> sequence = Betting(alpha=0.05, lowest=-1, highest=1)
    >>> for outcome in [1, 0, 1, 1, -1] * 40:
    ...     sequence = sequence.observe(outcome)
    >>> interval = sequence.interval()
    >>> round(interval.low, 1), round(interval.high, 1)
    (0.2, 0.6)

    References
    ----------
    Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (2024),
    theorem 3 and equation 26.
    """

    alpha: float = 0.05
    lowest: float = -1.0
    highest: float = 1.0
    grid: int = 1001
    n: int = 0
    total: float = 0.0
    variance: float = 0.0
    gains: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 0)))

    def __post_init__(self) -> None:
        check_sequence(self.alpha, self.lowest, self.highest)
        if self.grid < 2:
            raise DataError(f"grid must be at least 2; found {self.grid}")

    @property
    def candidates(self) -> NDArray[np.float64]:
        """The candidates for the mean, on the scale from 0 to 1."""
        return np.linspace(0, 1, self.grid)

    def observe(self, outcome: float) -> Self:
        """Return the sequence with one more outcome."""
        check_outcome(outcome, self.lowest, self.highest)
        x = (float(outcome) - self.lowest) / (self.highest - self.lowest)
        t = self.n + 1
        # The variance of the outcomes before this one, shrunk towards its largest possible value.
        # The stake decreases like 1 / sqrt(t log t), which keeps the intervals narrow at all times.
        spread = (0.25 + self.variance) / t
        stake = math.sqrt(2 * math.log(2 / self.alpha) / (spread * t * math.log(1 + t)))
        m = self.candidates
        # At most half of the capital is at risk, whatever the outcome, so nobody goes bankrupt.
        with np.errstate(divide="ignore"):
            up = np.minimum(stake, 0.5 / m)
            down = np.minimum(stake, 0.5 / (1 - m))
        won = np.stack([np.log1p(up * (x - m)), np.log1p(-down * (x - m))])
        guess = (0.5 + self.total + x) / (t + 1)
        return replace(
            self,
            n=t,
            total=self.total + x,
            variance=self.variance + (x - guess) ** 2,
            gains=won if self.n == 0 else self.gains + won,
        )

    def interval(self) -> Interval:
        """Return the interval now."""
        if self.n == 0:
            return Interval(self.lowest, self.highest)
        # Half of the capital is with each gambler.
        capital = np.logaddexp(*self.gains) - math.log(2)
        plausible = np.flatnonzero(capital < math.log(1 / self.alpha))
        width, step = self.highest - self.lowest, 1 / (self.grid - 1)
        if len(plausible) == 0:  # the mean is between two candidates of the grid
            plausible = np.array([int(capital.argmin())])
        # One step further on each side, because the mean may lie between two candidates.
        low, high = plausible[0] * step - step, plausible[-1] * step + step
        return Interval(
            float(self.lowest + width * max(low, 0.0)), float(self.lowest + width * min(high, 1.0))
        )


def follow(
    sequence: EmpiricalBernstein | Betting | SignBets, outcomes: Iterable[float]
) -> list[Interval]:
    """Return the interval after each outcome.

    >>> [round(interval.high, 2) for interval in follow(EmpiricalBernstein(), [0.0, 0.0])]
    [1.0, 1.0]
    """
    intervals = []
    for outcome in outcomes:
        sequence = sequence.observe(outcome)
        intervals.append(sequence.interval())
    return intervals


def check_sequence(alpha: float, lowest: float, highest: float) -> None:
    """Raise unless these are a valid level and valid limits of outcomes."""
    if not 0 < alpha < 1:
        raise DataError(f"alpha must be between 0 and 1; found {alpha!r}")
    if not (math.isfinite(lowest) and math.isfinite(highest) and lowest < highest):
        raise DataError(
            "the lowest outcome must be below the highest one, and both must be "
            f"finite; found {lowest} and {highest}"
        )


def check_outcome(outcome: float, lowest: float, highest: float) -> None:
    """Raise unless an outcome is within its bounds."""
    if not lowest <= outcome <= highest:
        raise DataError(f"the outcome {outcome!r} is not between {lowest:g} and {highest:g}")
