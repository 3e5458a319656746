"""Losses over all pairs: hinge and logistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from rankloop.losses.base import QueryLoss

if TYPE_CHECKING:
    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class PairwiseHinge(QueryLoss):
    """The sum over pairs R_i > R_j of max(0, 1 - (s_i - s_j)), or of its square.

    Parameters
    ----------
    squared : whether to square the hinge, as in SOLAR's bounds; the square is smooth

    Notes
    -----
    Cost: O(m^2), in time and memory.

    Examples
    --------
    >>> s, R = np.array([0.0, 0.5]), np.array([1.0, 0.0])
    >>> PairwiseHinge().value(s, R), PairwiseHinge(squared=True).value(s, R)
    (1.5, 2.25)

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015): eq. 4, Lemma 4.1.
    """

    squared: bool = False

    @property
    def smooth(self) -> bool:
        """Return whether the hinge is squared, because only the square is smooth."""
        return self.squared

    @property
    def convex(self) -> bool:
        """Return True: the loss is a sum of convex functions."""
        return True

    def _value(self, s: Floats, R: Floats) -> float:
        hinge = self._hinges(s, R)
        return float((hinge**2 if self.squared else hinge).sum())

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        hinge = self._hinges(s, R)
        slope = 2 * hinge if self.squared else (hinge > 0).astype(np.float64)
        return np.asarray(slope.sum(axis=0) - slope.sum(axis=1))

    def _hinges(self, s: Floats, R: Floats) -> Floats:
        """Return the hinge of each pair (i, j), 0 unless R_i > R_j."""
        hinge = np.maximum(0, 1 - (s[:, None] - s[None, :]))
        return np.where(R[:, None] > R[None, :], hinge, 0)


@dataclass(frozen=True)
class PairwiseLogistic(QueryLoss):
    """The sum over pairs R_i > R_j of log(1 + exp(-(s_i - s_j))): RankNet's loss.

    Where we depart: pairs of equal grade are left out; the paper can also train on them, to bring
    their scores together.

    Notes
    -----
    Cost: O(m^2), in time and memory.

    Examples
    --------
    >>> loss = PairwiseLogistic().value(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    >>> bool(np.isclose(loss, np.log(1 + np.exp(-1))))
    True

    References
    ----------
    Burges et al., Learning to rank using gradient descent (2005): eq. 3, all targets 1.
    """

    @property
    def smooth(self) -> bool:
        """Return True: the gradient is the derivative everywhere."""
        return True

    @property
    def convex(self) -> bool:
        """Return True: the loss is a sum of convex functions."""
        return True

    def _value(self, s: Floats, R: Floats) -> float:
        return float(np.logaddexp(0, s[None, :] - s[:, None])[R[:, None] > R[None, :]].sum())

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        wrong = np.where(R[:, None] > R[None, :], expit(s[None, :] - s[:, None]), 0)
        return np.asarray(wrong.sum(axis=0) - wrong.sum(axis=1))
