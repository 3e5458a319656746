"""XE_NDCG: a cross entropy that bounds nDCG."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax, logsumexp

from rankloop.exceptions import DataError
from rankloop.losses.base import QueryLoss

if TYPE_CHECKING:
    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class XENDCGLoss(QueryLoss):
    """Cross entropy of scores and gains: -sum_i phi_i log rho_i.

    phi_i = (2^R_i - gamma_i) / sum_j (2^R_j - gamma_j),   rho_i = e^s_i / (sum_j e^s_j + epsilon).

    Where we depart: a query whose gains sum to 0 (all grades 0, gamma 1) has loss 0.

    Parameters
    ----------
    gamma : from 0 to 1, one number for all documents or one for each; 1 makes phi proportional to
        the gains of nDCG
    epsilon : at least 0; if it is above 0, the Hessian is positive definite (eq. 14)

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

    gamma: float | tuple[float, ...] = 1.0
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= gamma <= 1 for gamma in np.ravel(self.gamma).tolist()):
            raise DataError(f"gamma must lie between 0 and 1; found {self.gamma}")
        if not 0 <= self.epsilon < np.inf:
            raise DataError(f"epsilon must be a number of at least 0; found {self.epsilon}")

    @property
    def smooth(self) -> bool:
        """Return True: the gradient is the derivative everywhere."""
        return True

    @property
    def convex(self) -> bool:
        """Return True: the loss is a log-sum-exp minus a linear function."""
        return True

    def value(self, scores: Floats, grades: Floats) -> float:
        """Return the loss, which is at least 0; it is 0 if no document is judged."""
        return super(XENDCGLoss, self._of(grades)).value(scores, grades)

    def gradient(self, scores: Floats, grades: Floats) -> Floats:
        """Return its gradient rho - phi, with one number per document."""
        return super(XENDCGLoss, self._of(grades)).gradient(scores, grades)

    def hessian(self, scores: Floats, grades: Floats) -> Floats:
        """Return the Hessian over judged documents, diag(rho) - rho rho' (section 4.4)."""
        of, judged = self._of(grades), grades >= 0
        rho = np.exp(of._log_rho(scores[judged]))
        return np.asarray(of._phi(grades[judged]).sum() * (np.diag(rho) - np.outer(rho, rho)))

    def _of(self, grades: Floats) -> XENDCGLoss:
        """Return the loss with the gammas of the judged documents only."""
        if not isinstance(self.gamma, tuple):
            return self
        if len(self.gamma) != len(grades):
            raise DataError(
                f"gamma has {len(self.gamma)} values for {len(grades)} documents; "
                "give one per document"
            )
        gammas = tuple(np.array(self.gamma)[np.asarray(grades) >= 0].tolist())
        return replace(self, gamma=gammas)

    def _value(self, s: Floats, R: Floats) -> float:
        return float(-self._phi(R) @ self._log_rho(s))

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        phi = self._phi(R)
        return np.asarray(phi.sum() * np.exp(self._log_rho(s)) - phi)

    def _log_rho(self, s: Floats) -> Floats:
        """Return log rho; in logarithms, large scores cannot overflow."""
        if self.epsilon == 0:
            return np.asarray(log_softmax(s))
        return np.asarray(s - np.logaddexp(logsumexp(s), np.log(self.epsilon)))

    def _phi(self, R: Floats) -> Floats:
        """Return the target, which sums to 1, or to 0 if all gains are 0."""
        gains = np.exp2(R) - np.asarray(self.gamma)
        total = gains.sum()
        return np.asarray(gains / total if total > 0 else gains)
