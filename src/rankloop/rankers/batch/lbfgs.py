"""L-BFGS: minimise a smooth function, convex or not, with its gradients."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankloop.losses.base import Floats

    Function = Callable[[Floats], tuple[float, Floats]]

_MEMORY, _HALVINGS = 10, 40


def descend(function: Function, x: Floats, tolerance: float) -> Iterator[tuple[Floats, float]]:
    """Yield the point and value after each step; every value is lower than the previous one.

    It stops after a step that lowers the value by less than `tolerance` times the value, or that
    finds no lower point.

    References
    ----------
    Liu and Nocedal, On the limited memory BFGS method for large scale optimization (1989).
    """
    value, gradient = function(x)
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=_MEMORY)
    while gradient.any():
        direction = -_inverse_times(pairs, gradient)
        slope = gradient @ direction
        t = 1.0 if pairs else 1 / max(1.0, float(np.linalg.norm(gradient)))
        for _ in range(_HALVINGS):
            further, steeper = function(x + t * direction)
            if further <= value + 1e-4 * t * slope:
                break
            t /= 2
        else:
            return
        moved, turned = t * direction, steeper - gradient
        if moved @ turned > 1e-10 * (turned @ turned):
            pairs.append((moved, turned))
        lowered = value - further
        x, value, gradient = x + moved, further, steeper
        yield x, value
        if lowered <= tolerance * abs(value):
            return


def _inverse_times(pairs: deque[tuple[Floats, Floats]], v: Floats) -> Floats:
    """Return v times the inverse Hessian that the pairs approximate."""
    shares = []
    for moved, turned in reversed(pairs):
        share = (moved @ v) / (moved @ turned)
        v = v - share * turned
        shares.append(share)
    if pairs:
        moved, turned = pairs[-1]
        v = v * ((moved @ turned) / (turned @ turned))
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        v = v + (share - (turned @ v) / (moved @ turned)) * moved
    return v
