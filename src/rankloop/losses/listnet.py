"""ListNet's loss: the cross entropy of top-one probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax, softmax

from rankloop.losses.base import QueryLoss

if TYPE_CHECKING:
    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class ListNetLoss(QueryLoss):
    """Cross entropy of scores and grades: -sum_i softmax(R)_i log softmax(s)_i.

    Its minimum is the entropy of softmax(R); it is reached where the scores equal the grades up to
    a constant.

    Notes
    -----
    Cost: O(m).

    Examples
    --------
    >>> loss = ListNetLoss().value(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    >>> bool(np.isclose(loss, np.log(2)))
    True

    References
    ----------
    Cao et al., Learning to rank: from pairwise approach to listwise approach (2007).
    """

    @property
    def smooth(self) -> bool:
        """Return True: the gradient is the derivative everywhere."""
        return True

    @property
    def convex(self) -> bool:
        """Return True: the loss is a log-sum-exp minus a linear function."""
        return True

    def _value(self, s: Floats, R: Floats) -> float:
        return float(-softmax(R) @ log_softmax(s))

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        return np.asarray(softmax(s) - softmax(R))
