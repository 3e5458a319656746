"""Second-order online XE_NDCG: no learning rate to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.arithmetic import row_pairs
from rankloop.exceptions import DataError
from rankloop.learners.forms import Array
from rankloop.learners.online.clipped import CLIP, ClippedRanker
from rankloop.learners.parameters import check_number, check_whole
from rankloop.learners.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.learners.forms import Form
    from rankloop.learners.online.base import Queries
    from rankloop.learners.online.linear import Arrays, Call

_LARGEST_GRADE = 100.0


class NewtonXENDCG(ClippedRanker):
    """A Gaussian posterior over the weights, updated by Newton steps on XE_NDCG.

    With mean w and precision L, a query moves the mean to the minimum of

        1/2 (v - w)' L (v - w) + c loss(v),   c = (sum of gains)^power,

    found by `steps` Newton steps, and adds the curvature of c loss there to L. The loss is that of
    :class:`OnlineXENDCG`. Ours: the paper has neither an online nor a second-order form. The weight
    c lets queries with much to say count more than those with little; its gains are 2^R - 1,
    whatever gamma is. A step is halved until the objective falls. Queries of one grade are passed
    over.

    Parameters
    ----------
    prior : precision of the weights before any data, above 0; features of about unit size are
        expected (scale raw ones)
    steps : Newton steps a query, at least 1
    power : how the weight of a query grows with its gains; 0: all alike
    gamma : from 0 to 1; 1 makes targets proportional to the gains of nDCG
    clip : see :class:`ClippedRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    root_ : (d, d) the upper triangular U with which U'U is the precision L
    precision_ : (d, d) L, the inverse covariance of the weights

    Notes
    -----
    Cost: O(m d^2 + m^2 d + steps m^3) a query of m <= d documents, O(steps (m d^2 + d^3)) of a
    longer one, and O(d^2) memory. L is kept as its root, to which a query's curvature is added by
    reflections, so that no stream makes it indefinite. A weight of a document counts as so many
    copies of it; a weight of a query multiplies c.

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"prior": Range(0.1, 1000, 5, log=True)}

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "root_", "sizes_")
    _sizes: ClassVar[int] = 2
    root_: NDArray[np.float64]

    def __init__(
        self,
        prior: float = 10.0,
        steps: int = 3,
        power: float = 0.5,
        gamma: float = 1.0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.prior = prior
        self.steps = steps
        self.power = power
        self.gamma = gamma
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.root_ = np.sqrt(self.prior) * np.eye(n_features)

    @property
    def precision_(self) -> NDArray[np.float64]:
        """The inverse covariance of the weights."""
        self._check_learnt()
        return row_pairs(self.root_.T, self.root_.T)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "root_": Array((n_features, n_features))}

    def _loosen(self, hold: float) -> None:
        self.root_ = self.root_ * np.sqrt(hold)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("prior", self.prior, above=True)
        check_whole("steps", self.steps)
        check_number("power", self.power, 0, 2)
        check_number("gamma", self.gamma, 0, 1)

    def _check(self, queries: Queries) -> None:
        best = queries.y.max(initial=0.0)
        if best > _LARGEST_GRADE:
            raise DataError(
                f"the grade {best:g} has a gain of 2^{best:g}, too much for NewtonXENDCG; "
                f"bring grades below {_LARGEST_GRADE:g}"
            )

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_newton(
            *call,
            True,
            self.gamma,
            self.power,
            self.steps,
            arrays["root_"],
            arrays["sizes_"],
            self.clip,
        )
