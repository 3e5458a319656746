"""How many impressions an interleaving experiment needs, before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from rankloop.clicks.confidence_sequences import check_sequence
from rankloop.clicks.sign_bets import lead_to_win
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 1e10
_STEPS = 2000


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

    n = variance (z(power) - z(alpha / 2))^2 / mean^2, with z the normal quantiles.

    >>> impressions_of_test(Effect(0.1, 0.5))
    1562
    """
    check_sequence(alpha, -1, 1)
    _check_power(power)
    z = float(ndtri(power) - ndtri(alpha / 2))
    return math.ceil(effect.variance * (z / effect.mean) ** 2)


def impressions_of_sequence(
    effect: Effect,
    alpha: float = 0.05,
    power: float = 0.8,
    lead: Callable[[float, float], float] = lead_to_win,
) -> int:
    """Return within how many impressions a confidence sequence finds the effect, with this power.

    It is looked at after every impression, and ends the experiment once 0 is outside. Its outcomes
    are taken for a Brownian motion with their mean and variance, which is followed on a lattice
    until it has crossed the boundary of the sequence with probability `power`.

    Parameters
    ----------
    lead : (decided, alpha) -> how many more wins than losses exclude 0 after so many outcomes that
        are not 0: the boundary, by default that of :class:`SignBets`

    Notes
    -----
    Cost: about 0.1 seconds.

    >>> impressions_of_sequence(Effect(0.1, 0.5))
    2740
    """
    check_sequence(alpha, -1, 1)
    _check_power(power)
    horizon = max(4 * impressions_of_test(effect, alpha, power), 64)
    while horizon < _MOST:
        found = _cross(effect, alpha, power, lead, horizon)
        if found is not None:
            return found
        horizon *= 2
    raise DataError("this effect is too small to be found by any number of impressions")


def _cross(
    effect: Effect, alpha: float, power: float, lead: Callable[[float, float], float], horizon: int
) -> int | None:
    """Return when this share of random walks has crossed the boundary; None: not by the horizon."""
    steps = min(_STEPS, horizon)
    length = horizon / steps  # impressions of each step
    height = math.sqrt(effect.decided * length)
    up = (1 + effect.mean * length / height) / 2
    # Boundaries are smooth, so a few hundred points are enough. No lead exceeds what is decided.
    points = np.geomspace(1, horizon, 300)
    bounds = [min(lead(n * effect.decided, alpha), n + 1) for n in points]
    boundary = np.interp(length * np.arange(1, steps + 1), points, bounds) / height
    chances = np.zeros(2 * steps + 1)  # of each place of the walks that did not cross; 0 is central
    chances[steps] = 1.0
    for step in range(steps):
        rising, falling = up * chances, (1 - up) * chances
        chances = np.zeros(2 * steps + 1)
        chances[1:] += rising[:-1]
        chances[:-1] += falling[1:]
        chances[steps + math.ceil(boundary[step]) :] = 0
        if chances.sum() <= 1 - power:
            return math.ceil((step + 1) * length)
    return None


@dataclass(frozen=True)
class ExperimentSize:
    """How many impressions one way to decide an experiment needs.

    impressions : those after which it finds the difference, with the wanted probability
    half : those after which half of such experiments have ended; None if all end together
    """

    method: str
    impressions: int
    half: int | None = None


def plan(effect: Effect, alpha: float = 0.05, power: float = 0.8) -> list[ExperimentSize]:
    """Return what a test at the end needs, and the sequence of the service, which may be watched.

    >>> for row in plan(Effect(0.1, 0.5)):
    ...     print(row.method, row.impressions, row.half)
    test, once at the end 1562 None
    sequence of the live service 2740 1578
    """
    return [
        ExperimentSize("test, once at the end", impressions_of_test(effect, alpha, power)),
        ExperimentSize(
            "sequence of the live service",
            impressions_of_sequence(effect, alpha, power),
            impressions_of_sequence(effect, alpha, 0.5),
        ),
    ]


def _check_power(power: float) -> None:
    if not 0 < power < 1:
        raise DataError(f"power must be between 0 and 1; found {power!r}")
