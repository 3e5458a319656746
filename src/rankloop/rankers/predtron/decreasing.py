"""Decreasing functions of the position, which represent a ranking as a vector."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.arithmetic import dot, log
from rankloop._utils.arithmetic import power as raised
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Decreasing = str | Callable[["Floats"], "Floats"]

_FORM = re.compile(r"(?P<sign>-|1/)(?P<log>log\()?i(?(log)\))(?:\^(?P<power>\d+\.?\d*|\.\d+))?")


def as_function(f: Decreasing) -> Callable[[Floats], Floats]:
    """Read `-i`, `-i^1.1`, `1/i`, `1/i^0.5` or `-log(i)`; a function is returned unchanged.

    It receives positions 1, 2, ... and must be strictly decreasing.

    >>> as_function("-i^2")(np.array([1.0, 2.0, 3.0]))
    array([-1., -4., -9.])
    >>> as_function("1/i")(np.array([1.0, 2.0, 4.0]))
    array([1.  , 0.5 , 0.25])
    """
    if callable(f):
        return f
    form = _FORM.fullmatch(f.replace(" ", "")) if isinstance(f, str) else None
    power = float(form["power"] or 1) if form else 0.0
    if form is None or power <= 0 or (form["log"] and form["sign"] == "1/"):
        raise DataError(
            f"f must be -i, -i^1.1, 1/i, 1/i^0.5, -log(i) or similar; found {f!r}. "
            "In Python it may be any decreasing function of an array of positions from 1"
        )
    of = log if form["log"] else np.asarray
    if form["sign"] == "-":
        return lambda i: -raised(of(i), power)
    return lambda i: 1 / raised(i, power)


class Positions:
    """Values of positions 1, ..., m, for any m; they are kept for the next time."""

    def __init__(self, values: Callable[[int], Floats]) -> None:
        self._values = values
        self._known: dict[int, Floats] = {}

    def __call__(self, m: int) -> Floats:
        """Return the m values, which must not be changed."""
        positions = self._known.get(m)
        if positions is None:
            if len(self._known) > 1000:
                self._known.clear()
            positions = self._known[m] = self._values(m)
            positions.flags.writeable = False
        return positions


def unit_positions(f: Decreasing) -> Positions:
    """Return f(1), ..., f(m) divided by their norm; f is anything :func:`as_function` takes.

    >>> unit_positions("-i")(2).round(3)
    array([-0.447, -0.894])
    """
    function = as_function(f)

    def values(m: int) -> Floats:
        positions = np.array(function(np.arange(1.0, m + 1)), np.float64)
        finite = positions.shape == (m,) and np.isfinite(positions).all()
        if not finite or (np.diff(positions) >= 0).any():
            raise DataError(f"f must be finite and strictly decreasing on 1 to {m}")
        norm = math.sqrt(dot(positions, positions))
        return positions / norm if norm > 0 else np.ones(m)

    return Positions(values)
