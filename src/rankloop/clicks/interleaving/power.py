"""How many impressions an interleaving experiment needs, before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy.special import ndtri

from rankloop.clicks.confidence_sequences import (
    EmpiricalBernstein,
    best_rho,
    check_sequence,
    mixture_bound,
)
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 1e12


@dataclass(frozen=True)
class Effect:
    """What is expected of an experiment whose outcomes are 1, -1 or 0.

    preference : among impressions that prefer one ranker, the share of the better one less that of
        the other, above 0 and at most 1; .05 is 52.5% against 47.5%
    decided : the share of impressions that prefer one of the two, above 0 and at most 1; those
        without a click, or with a draw, prefer none

    >>> round(Effect(0.1, 0.5).mean, 3), round(Effect(0.1, 0.5).variance, 4)
    (0.05, 0.4975)
    """

    preference: float
    decided: float = 0.5

    def __post_init__(self) -> None:
        for name in ("preference", "decided"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise DataError(f"{name} must be above 0 and at most 1; found {value!r}")

    @property
    def mean(self) -> float:
        """The mean outcome."""
        return self.preference * self.decided

    @property
    def variance(self) -> float:
        """The variance of an outcome."""
        return self.decided - self.mean**2


def impressions_of_test(effect: Effect, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return how many impressions a test needs that is made once, at the end.

    n = variance (z(1 - alpha / 2) + z(power))^2 / mean^2, with z the normal quantiles.

    >>> impressions_of_test(Effect(0.1, 0.5))
    1562
    """
    check_sequence(alpha, -1, 1)
    _check_power(power)
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return math.ceil(effect.variance * (z / effect.mean) ** 2)


def impressions_of_sequence(
    effect: Effect, sequence: EmpiricalBernstein | None = None, power: float = 0.8
) -> int:
    """Return after how many impressions a confidence sequence finds the effect, with this power.

    It is the n at which n mean - u(n variance) = z(power) sqrt(n variance), where u is the boundary
    of the sequence: then the interval excludes 0 with probability `power`, by the normal
    approximation. A sequence that is looked at all the time may find the effect a little earlier.

    Parameters
    ----------
    sequence : None: one that is tuned for this effect, by :func:`tune_sequence`

    >>> impressions_of_sequence(Effect(0.1, 0.5), EmpiricalBernstein(alpha=0.05))
    3633
    >>> impressions_of_sequence(Effect(0.1, 0.5))
    3233
    """
    _check_power(power)
    chosen = tune_sequence(effect, power=power) if sequence is None else sequence
    width = chosen.highest - chosen.lowest
    rho, z = best_rho(chosen.tuned_for, chosen.alpha), float(ndtri(power))

    def excess(n: float) -> float:
        v = n * effect.variance
        bound = width * mixture_bound(v / width**2, rho, chosen.alpha / 2)
        return n * effect.mean - bound - z * math.sqrt(v)

    return math.ceil(_root(excess))


def tune_sequence(effect: Effect, alpha: float = 0.05, power: float = 0.8) -> EmpiricalBernstein:
    """Return the sequence that finds an effect soonest: narrowest when the effect should show.

    Any tuning is valid, so a wrong expectation costs impressions, and never an error. It must be
    chosen before the experiment starts.
    """
    sequence = EmpiricalBernstein(alpha=alpha)
    width = sequence.highest - sequence.lowest
    for _ in range(8):  # the tuning depends on when it stops, which depends on the tuning
        n = impressions_of_sequence(effect, sequence, power)
        sequence = replace(sequence, tuned_for=n * effect.variance / width**2)
    return sequence


@dataclass(frozen=True)
class ExperimentSize:
    """How many impressions one way to decide an experiment needs."""

    method: str
    impressions: int


def plan(effect: Effect, alpha: float = 0.05, power: float = 0.8) -> list[ExperimentSize]:
    """Return what a test at the end needs, and confidence sequences that may be watched.

    The live service has a sequence that is tuned for 200 decided impressions.

    >>> [(row.method, row.impressions) for row in plan(Effect(0.1, 0.5))]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('test, once at the end', 1562), ('sequence of the live service', 3633),
     ('sequence tuned for this effect', 3233)]
    """
    return [
        ExperimentSize("test, once at the end", impressions_of_test(effect, alpha, power)),
        ExperimentSize(
            "sequence of the live service",
            impressions_of_sequence(effect, EmpiricalBernstein(alpha=alpha), power),
        ),
        ExperimentSize(
            "sequence tuned for this effect",
            impressions_of_sequence(effect, tune_sequence(effect, alpha, power), power),
        ),
    ]


def _root(excess: Callable[[float], float]) -> float:
    from scipy.optimize import brentq

    high = 16.0
    while excess(high) < 0:
        high *= 2
        if high > _MOST:
            raise DataError("this effect is too small to be found by any number of impressions")
    low = 1.0
    return float(brentq(excess, low, high, xtol=0.5)) if excess(low) < 0 else low


def _check_power(power: float) -> None:
    if not 0 < power < 1:
        raise DataError(f"power must be between 0 and 1; found {power!r}")
