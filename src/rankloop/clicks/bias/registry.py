"""Estimators of position bias by name, as on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.clicks.bias.harvesting import AdjacentChain, AllPairs
from rankloop.clicks.bias.randomised import RandomTraffic
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankloop.clicks.bias.result import BiasEstimator

BIAS_ESTIMATORS: Mapping[str, Callable[..., BiasEstimator]] = {
    "random": RandomTraffic,
    "all-pairs": AllPairs,
    "adjacent": AdjacentChain,
}
"""The estimators that need only a log; regression EM and dual learning also need features."""


def make_bias_estimator(name: str, ranks: int) -> BiasEstimator:
    """Make an estimator by name; `ranks` is the number of positions with their own value.

    >>> make_bias_estimator("random", 5)
    RandomTraffic(ranks=5)
    """
    if name not in BIAS_ESTIMATORS:
        raise DataError(
            f"unknown estimator of position bias {name!r}; known: {', '.join(BIAS_ESTIMATORS)}"
        )
    return BIAS_ESTIMATORS[name](ranks=ranks)
