"""The hinge loss of the pair of documents that is most in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.losses.base import QueryLoss, rivals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class MaxPairLoss(QueryLoss):
    """The hinge of the worst pair: max_{i,j: R_i > R_j} max(0, margin + s_j - s_i).

    With a margin of 1, it is at least 1 - nDCG and at least 1 - AP for every ranking with a
    mistake.

    Parameters
    ----------
    margin : at least 0

    Notes
    -----
    Cost: O(m log m). If several pairs are equally bad, the subgradient is that of the pair in the
    first rows.

    Examples
    --------
    >>> MaxPairLoss().value(np.array([0.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0]))
    3.0

    References
    ----------
    Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank: eq. 27, 29.
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.margin < float("inf"):
            raise DataError(f"margin must be a number of at least 0; found {self.margin}")

    @property
    def smooth(self) -> bool:
        """Return False: where the hinge bends, the gradient is only a subgradient."""
        return False

    @property
    def convex(self) -> bool:
        """Return True: the loss is a maximum of linear functions."""
        return True

    def _value(self, s: Floats, R: Floats) -> float:
        return float(self._hinges(s, R)[0].max())

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        c, j = self._hinges(s, R)
        i = int(c.argmax())
        e = np.eye(len(s))
        return e[j[i]] - e[i] if c[i] > 0 else np.zeros(len(s))

    def _hinges(self, s: Floats, R: Floats) -> tuple[Floats, NDArray[np.int64]]:
        j = rivals(s, R)
        return np.where(j >= 0, np.maximum(0, self.margin + s[j] - s), 0), j
