"""What shortened steps do to a mistake bound: our own.

Most online rankers shorten an update that is longer than `clip` times the mean length of those
before it. The proofs of the ranking perceptrons bound Lambda, the sum over mistakes of the share
of the step that was taken: a step of share s moves w by s times as much, so in

    u.w >= rate sum s (1 - f_t(u))   and   |w|^2 <= 4 rate^2 R^2 sum s^2

every mistake counts s, and s^2 <= s. Without a clip all s are 1, and Lambda counts mistakes. With
one, let T steps have lengths of at most D, let sigma be the length of the first, c the whole part
of the clip, at least 2, and K the number of shortened steps.

*Few steps are shortened.* The sum S of the lengths taken begins at sigma. If step t is shortened,
it is multiplied by 1 + clip / (t - 1), and otherwise it does not fall. At the end it is at most
D T. The factors fall with t, so their product is least if the last K steps are the shortened ones:

    D T / sigma >= prod_{n = T-K}^{T-1} (n + c) / n = prod_{j = 0}^{c-1} (T + j) / (T - K + j)
                >= ((T + c - 1) / (T - K + c - 1))^c.

*So mistakes are bounded.* T - K steps have the share 1, so T - K <= Lambda, and with T + c - 1 >= T

    T <= (Lambda + c - 1)^(c / (c - 1)) (D / sigma)^(1 / (c - 1)).

For the usual clip of 10 the exponents are 10/9 and 1/9. For SLAM a step counts as the weight v_i of
its hinges, at least v_min, so Lambda / v_min takes the place of Lambda.

A mistake between equal documents has no step; there u loses at least 1, which Lambda counts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])

LEAST_CLIP = 2
"""With a smaller one, nearly all steps may be shortened."""


def bound_clipped_mistakes(
    whole: Number, clip: float, ratio: Number | float, v_min: float = 1.0
) -> Number:
    """Return the bound on mistakes of a ranker with a clip, given that of one without.

    (whole / v_min + c - 1)^(c / (c - 1)) ratio^(1 / (c - 1)),   c the whole part of the clip.

    Parameters
    ----------
    whole : the bound without a clip, F + b sqrt(F) + b^2
    clip : the ranker's, at least 2
    ratio : the longest step without a clip over the first one, at least 1
    v_min : the least weight v_i > 0 of a document; 1 for the minimax perceptron

    Examples
    --------
    >>> round(bound_clipped_mistakes(1035.0, 10.0, 1.0))  # it made 1,074 on a stream of the tests
    2260
    """
    if not clip >= LEAST_CLIP:
        raise DataError(f"clip must be at least {LEAST_CLIP} to have a bound; found {clip:g}")
    c = math.floor(clip)
    bound: Number = (whole / v_min + c - 1) ** (c / (c - 1)) * ratio ** (1 / (c - 1))
    return bound
