"""Checks of parameters: an error names the parameter that is out of range."""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real
from typing import Any

from rankloop.exceptions import DataError

_LARGEST = sys.float_info.max


def check_number(
    name: str, value: Any, low: float = 0.0, high: float = math.inf, *, above: bool = False
) -> None:
    """Raise unless a parameter is a finite number from `low` (or above it) to `high`."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    finite = number and -_LARGEST <= value <= _LARGEST
    if not finite or not low <= value <= high or (above and value == low):
        least = f"above {low:g}" if above else f"from {low:g}"
        most = "" if high == math.inf else f" to {high:g}"
        raise DataError(f"{name} must be a number {least}{most}; found {value!r}")


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise unless a parameter is a whole number of at least `least` that the core can count."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} must be a whole number of at least {least}; found {value!r}")
    if int(value) >= 2**63:
        raise DataError(f"{name} must be a whole number below 2^63; found {value!r}")


def check_rate(rate: object, decay: object) -> None:
    """Raise unless rate / (1 + t)^decay is a valid step size."""
    check_number("rate", rate, above=True)
    check_number("decay", decay, 0, 1)


def check_seed(name: str, value: object) -> None:
    """Raise unless a parameter is a random seed: a whole number of at least 0, or None."""
    if value is not None:
        check_whole(name, value, 0)


def check_rankers(name: str, value: Any, kind: type) -> None:
    """Raise unless a parameter is a list of at least one ranker, all of one kind."""
    listed = isinstance(value, list | tuple) and len(value) > 0
    strangers = [item for item in value if not isinstance(item, kind)] if listed else [value]
    if strangers:
        raise DataError(
            f"{name} must be at least one ranker of the kind {kind.__name__}; found "
            f"{strangers[0]!r}"
        )
