"""SOLAR-II: second-order learning on pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.learners.forms import Array
from rankloop.learners.online.linear import LinearRanker
from rankloop.learners.parameters import check_number
from rankloop.learners.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.learners.base import Grades
    from rankloop.learners.forms import Form
    from rankloop.learners.online.linear import Call


class SolarII(LinearRanker):
    """Second-order SOLAR: weights with a covariance S that shrinks where pairs were seen.

    For every pair with R_i > R_j, delta = x_i - x_j and loss l = max(0, 1 - w.delta), where l > 0:

        beta = delta' S delta + gamma,   w += (l / beta) S delta,   S -= (S delta)(S delta)' / beta.

    S starts as the identity. Updates with l > 0 are recursive least squares with target 1, so we
    keep the inverse L = S^-1 and h = L w, which are sums over pairs: L += delta delta' / gamma,
    h += delta / gamma. The result is the paper's, at a fraction of the cost.

    Parameters
    ----------
    gamma : how little a pair counts, above 0; the paper's online tables have 1e4
    covariance : `full`, or `diagonal` for many features
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    precision_ : (d, d) the inverse covariance L; (d,) the variances S where it is diagonal

    Notes
    -----
    Cost a query, full: O(d^3 + m d^2 + m^2 d) and O(m^2) a violated pair (O(d^2) for lists longer
    than 1.6 d); memory O(d^2 + m^2). Diagonal: O(d) a pair and O(d) memory.

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), eq. 7-9.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"gamma": Range(1, 1e6, 7, log=True)}

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "precision_", "h_")
    precision_: NDArray[np.float64]
    h_: NDArray[np.float64]

    def __init__(
        self,
        gamma: float = 1e4,
        covariance: Literal["full", "diagonal"] = "full",
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.covariance = covariance
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        full = self.covariance == "full"
        self.precision_ = np.eye(n_features) if full else np.ones(n_features)
        self.h_ = np.zeros(n_features if full else 0)

    def _forms(self, n_features: int) -> dict[str, Form]:
        full = self.covariance == "full"
        square, variances = Array((n_features, n_features)), Array((n_features,), low=0)
        own = {
            "precision_": square if full else variances,
            "h_": Array((n_features if full else 0,)),
        }
        return {**super()._forms(n_features), **own}

    def _loosen(self, hold: float) -> None:
        if self.covariance == "diagonal":
            self.precision_ /= hold  # these are variances
        else:
            self.precision_ *= hold
            self.h_ *= hold

    def _check(self, y: Grades) -> None:  # noqa: ARG002
        check_number("gamma", self.gamma, above=True)
        if self.covariance not in ("full", "diagonal"):
            raise DataError(f"covariance must be full or diagonal; found {self.covariance!r}")

    def _learn(self, call: Call) -> int:
        if self.precision_.ndim != (2 if self.covariance == "full" else 1):
            raise DataError("covariance was changed after learning; fit again, or change it back")
        if self.covariance == "diagonal":
            return _core.learn_solar_diagonal(*call, self.gamma, self.precision_)
        return _core.learn_solar_full(*call, self.gamma, self.precision_, self.h_)
