"""Output shown on a page against output printed now: floats may differ in their last digits.

Solvers and trees sum in an order that is the processor's choice, so what they print may differ by a
unit of the last digit. All else must be as shown, and so must whole numbers.
"""

from __future__ import annotations

import doctest
import os
import re
from decimal import Decimal

LOOKS = (
    "COLUMNS",
    "FORCE_COLOR",
    "LINES",
    "NO_COLOR",
    "PYTHONIOENCODING",
    "TERM",
    "TTY_COMPATIBLE",
)
FLOAT = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[-+]?\d+)?(?!\.?\w)")
IN_FULL = Decimal("1e-6")  # relative difference of floats that are printed with all their digits
FEW = 3  # so many digits may be a rounding apart; fewer are compared as text
MANY = 6  # so many digits, or more, may end in zeros that are not printed


def plain_environment() -> dict[str, str]:
    """Return the variables of this process, less those that change how output looks."""
    return {name: value for name, value in os.environ.items() if name not in LOOKS}


def agree(shown: str, printed: str) -> bool:
    """Whether two floats are the same but for a unit of the last digit, or a millionth.

    >>> agree("0.4312", "0.4313"), agree("0.4312", "0.4314")
    (True, False)
    >>> agree("0.06978475315", "0.0697847531"), agree("0.50", "0.5")
    (True, False)
    """
    one, other = Decimal(shown), Decimal(printed)
    places = [number.as_tuple().exponent for number in (one, other)]
    digits = max(len(number.as_tuple().digits) for number in (one, other))
    if digits < (FEW if places[0] == places[1] else MANY):
        return places[0] == places[1] and one == other
    unit = Decimal(10) ** min(places)
    return abs(one - other) <= max(unit, IN_FULL * max(abs(one), abs(other)))


def settled(shown: str, printed: str) -> str:
    """Return what was printed, with every float that agrees written as it is shown.

    >>> settled("2 trees, loss 0.6931", "2 trees, loss 0.6932")
    '2 trees, loss 0.6931'
    >>> settled("2 trees, loss 0.6931", "3 trees, loss 0.7931")
    '3 trees, loss 0.7931'
    """
    known = FLOAT.findall(shown)
    if len(known) != len(FLOAT.findall(printed)):
        return printed
    wanted = iter(known)

    def chosen(found: re.Match[str]) -> str:
        want = next(wanted)
        return want if agree(want, found[0]) else found[0]

    return FLOAT.sub(chosen, printed)


class ShownOutput(doctest.OutputChecker):
    """Compares what an example prints with what its docstring shows."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, settled(want, got), optionflags)
