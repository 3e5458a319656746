"""Rankings drawn by Plackett and Luce's model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop import _core
from rankloop.data.validation import check_counts, check_rng

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def sample_ranking(scores: ArrayLike, rng: np.random.Generator, k: int = 10) -> NDArray[np.int64]:
    """Draw the first k candidates, each with a chance proportional to exp(score) among those left.

    Parameters
    ----------
    scores : by candidate
    rng : random generator, with one draw per candidate;
        :func:`rankloop.clicks.interleaving.base.make_rng` makes one from a ranking's id
    k : how many to draw

    Notes
    -----
    The candidates with the largest sums of score and Gumbel noise have this distribution. Cost:
    O(m log k); the result has the same bits on every processor.

    Examples
    --------
    >>> sample_ranking([0.0, 100.0, 50.0], np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    check_rng(rng)
    check_counts(k=k)
    values = np.asarray(scores, np.float64)
    return _core.sample_plackett_luce(values, rng.random(len(values)), k)
