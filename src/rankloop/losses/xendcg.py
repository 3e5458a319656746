"""XE_NDCG: the cross entropy that bounds nDCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax, softmax

from rankloop.exceptions import DataError
from rankloop.losses.base import QueryLoss

if TYPE_CHECKING:
    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class XENDCGLoss(QueryLoss):
    """Cross entropy of scores and gains: -sum_i phi_i log softmax(s)_i.

    phi_i = (2^R_i - gamma) / sum_j (2^R_j - gamma).

    Where we depart: gamma is one number rather than one a document, and a query whose gains sum to
    0 (all grades 0, gamma 1) has loss 0.

    Parameters
    ----------
    gamma : from 0 to 1; 1 makes phi proportional to the gains of nDCG

    Notes
    -----
    Cost: O(m).

    Examples
    --------
    >>> loss = XENDCGLoss().value(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    >>> bool(np.isclose(loss, np.log(1 + np.exp(-1))))
    True

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise DataError(f"gamma must lie between 0 and 1; found {self.gamma}")

    @property
    def smooth(self) -> bool:
        """Yes."""
        return True

    @property
    def convex(self) -> bool:
        """Yes: a log-sum-exp less a linear function."""
        return True

    def _value(self, s: Floats, R: Floats) -> float:
        return float(-self._phi(R) @ log_softmax(s))

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        phi = self._phi(R)
        return np.asarray(phi.sum() * softmax(s) - phi)

    def _phi(self, R: Floats) -> Floats:
        """Return the target, which sums to 1, or to 0 where there is nothing to gain."""
        gains = np.exp2(R) - self.gamma
        total = gains.sum()
        return gains / total if total > 0 else gains
