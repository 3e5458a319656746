"""Checking parameters: numbers in their range, or an error that says which is not."""

from __future__ import annotations

import math
from typing import Any

from rankloop.exceptions import DataError


def check_number(
    name: str, value: Any, low: float = 0.0, high: float = math.inf, *, above: bool = False
) -> None:
    """Raise unless a parameter is a finite number from `low` (or above it) to `high`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (
        not number
        or not math.isfinite(value)
        or not low <= value <= high
        or (above and value == low)
    ):
        least = f"above {low:g}" if above else f"from {low:g}"
        most = "" if high == math.inf else f" to {high:g}"
        raise DataError(f"{name} must be a number {least}{most}; found {value!r}")


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Raise unless a parameter is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} must be a whole number of at least {least}; found {value!r}")


def check_rate(rate: Any, decay: Any) -> None:
    """Raise unless rate / (1 + t)^decay is a step size."""
    check_number("rate", rate, above=True)
    check_number("decay", decay, 0, 1)
