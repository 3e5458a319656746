"""SOLAR-II: second-order learning on pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankloop import _core
from rankloop.arithmetic import row_pairs
from rankloop.exceptions import DataError
from rankloop.learners.forms import Array
from rankloop.learners.online.clipped import CLIP, ClippedRanker
from rankloop.learners.parameters import check_number
from rankloop.learners.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.learners.forms import Form
    from rankloop.learners.online.linear import Arrays, Call


class SolarII(ClippedRanker):
    """Second-order SOLAR: weights with a covariance S that shrinks where pairs were seen.

    For every pair with R_i > R_j, delta = x_i - x_j and loss l = max(0, 1 - w.delta), where l > 0:

        beta = delta' S delta + gamma,   w += (l / beta) S delta,   S -= (S delta)(S delta)' / beta.

    S starts as the identity. Updates with l > 0 are recursive least squares with target 1, so we
    keep the inverse L = S^-1, which is a sum over pairs, L += delta delta' / gamma, as its root.
    The result is the paper's, at a fraction of the cost.

    Parameters
    ----------
    gamma : how little a pair counts, above 0; the paper's online tables have 1e4
    covariance : `full`, or `diagonal` for many features
    clip : see :class:`ClippedRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    root_ : (d, d) the upper triangular U with which U'U is the precision L = S^-1
    variances_ : (d,) of the weights, where the covariance is diagonal
    precision_ : (d, d) L, or (d,) its diagonal where there is no more

    Notes
    -----
    Cost a query, full: O(d^3 + m d^2 + m^2 d) and O(m^2) a violated pair (O(d^2) for lists longer
    than 1.6 d); memory O(d^2 + m^2). Diagonal: O(d) a pair and O(d) memory.

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), eq. 7-9.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"gamma": Range(1, 1e6, 7, log=True)}

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "root_", "variances_", "sizes_")
    root_: NDArray[np.float64]
    variances_: NDArray[np.float64]

    def __init__(
        self,
        gamma: float = 1e4,
        covariance: Literal["full", "diagonal"] = "full",
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.covariance = covariance
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        full = self.covariance == "full"
        self.root_ = np.eye(n_features if full else 0)
        self.variances_ = np.ones(0 if full else n_features)

    @property
    def precision_(self) -> NDArray[np.float64]:
        """The inverse covariance of the weights; its diagonal where there is no more."""
        self._check_learnt()
        if self.covariance == "diagonal":
            return 1 / self.variances_
        return row_pairs(self.root_.T, self.root_.T)

    def _forms(self, n_features: int) -> dict[str, Form]:
        full = n_features if self.covariance == "full" else 0
        own = {"root_": Array((full, full)), "variances_": Array((n_features - full,), low=0)}
        return {**super()._forms(n_features), **own}

    def _loosen(self, hold: float) -> None:
        self.root_ = self.root_ * np.sqrt(hold)
        self.variances_ = self.variances_ / hold

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("gamma", self.gamma, above=True)
        if self.covariance not in ("full", "diagonal"):
            raise DataError(f"covariance must be full or diagonal; found {self.covariance!r}")

    def _learn(self, call: Call, arrays: Arrays) -> int:
        if len(self.root_) != (self.n_features_in_ if self.covariance == "full" else 0):
            raise DataError("covariance was changed after learning; fit again, or change it back")
        if self.covariance == "diagonal":
            return _core.learn_solar_diagonal(*call, self.gamma, arrays["variances_"])
        return _core.learn_solar_full(
            *call, self.gamma, arrays["root_"], arrays["sizes_"], self.clip
        )
