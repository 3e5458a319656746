"""Durations as people write them: `30d`, `12h`, `90s`."""

from __future__ import annotations

import re

from rankloop.exceptions import DataError

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_TEXT = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def read_duration(text: object, where: str) -> int:
    """Return a duration in whole milliseconds.

    >>> read_duration("7d", "half_life"), read_duration("1.5h", "half_life")
    (604800000, 5400000)
    """
    match = _TEXT.fullmatch(text.strip()) if isinstance(text, str) else None
    duration = round(float(match[1]) * _UNITS[match[2]]) if match else 0
    if not 0 < duration < 2**53:
        raise DataError(
            f"{where} must be a duration such as '90s', '15m', '12h', '7d' or '4w'; found {text!r}"
        )
    return duration


def show_duration(milliseconds: int) -> str:
    """Return a duration in the largest unit of which it has whole ones.

    >>> show_duration(604_800_000), show_duration(5_400_000)
    ('7d', '90m')
    """
    for unit in "dhms":
        if milliseconds % _UNITS[unit] == 0:
            return f"{milliseconds // _UNITS[unit]}{unit}"
    return f"{milliseconds} ms"
