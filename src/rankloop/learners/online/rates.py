"""Step sizes."""

from __future__ import annotations

from rankloop.exceptions import DataError


def check_rate(rate: float, decay: float = 0.0) -> None:
    """Raise unless rate / (1 + t)^decay is a step size."""
    if not 0 < rate < float("inf"):
        raise DataError(f"rate must be a number above 0; found {rate}")
    if not 0 <= decay <= 1:
        raise DataError(f"decay must lie between 0 and 1; found {decay}")
