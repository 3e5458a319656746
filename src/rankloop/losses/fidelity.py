"""The fidelity loss of FRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from rankloop.losses.base import QueryLoss

if TYPE_CHECKING:
    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class Fidelity(QueryLoss):
    """The mean over pairs R_i > R_j of 1 - sqrt(p_ij), p_ij = 1 / (1 + exp(s_j - s_i)).

    It lies between 0 and 1, so that no pair and no query dominates the others.

    Notes
    -----
    Cost: O(m^2), in time and memory.

    Examples
    --------
    >>> loss = Fidelity().value(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    >>> bool(np.isclose(loss, 1 - np.sqrt(1 / 2)))
    True

    References
    ----------
    Tsai, Liu, Qin, Chen and Ma, FRank: a ranking method with fidelity loss (2007).
    """

    @property
    def smooth(self) -> bool:
        """Return True: the gradient is the derivative everywhere."""
        return True

    @property
    def convex(self) -> bool:
        """Return False: a bounded loss that is not constant cannot be convex."""
        return False

    def _value(self, s: Floats, R: Floats) -> float:
        i, j = np.nonzero(R[:, None] > R[None, :])
        return float((1 - np.sqrt(expit(s[i] - s[j]))).mean()) if len(i) else 0.0

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        i, j = np.nonzero(R[:, None] > R[None, :])
        p = expit(s[i] - s[j])
        slope = expit(s[j] - s[i]) * np.sqrt(p) / (2 * max(len(i), 1))
        return np.asarray(np.bincount(j, slope, len(s)) - np.bincount(i, slope, len(s)))
