"""Second-order online XE_NDCG, which needs no learning rate."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankloop import _core
from rankloop.data.sparse_rows import SparseRows, as_dense_type, core_rows, is_sparse
from rankloop.exceptions import DataError
from rankloop.rankers.online.linear import CLIP
from rankloop.rankers.online.second_order import SecondOrderRanker
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankloop.rankers.base import Rows
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.online.second_order import Covariance

_LARGEST_GRADE = 100.0


class NewtonXENDCG(SecondOrderRanker):
    """A Gaussian posterior over the weights, updated by Newton steps on XE_NDCG.

    With mean w and precision L, a query moves the mean to the minimum of

        1/2 (v - w)' L (v - w) + c loss(v),   c = (sum of gains)^power,

    found by `steps` Newton steps, and adds the curvature of c loss there to L. The loss is that of
    :class:`OnlineXENDCG`. This algorithm is our own: the paper has neither an online nor a
    second-order form. The weight c gives more influence to queries with larger gains; its gains are
    2^R - 1 for every gamma. A step is halved until the objective falls. Queries with only one grade
    are skipped.

    Parameters
    ----------
    prior : precision of the weights before any data, above 0, for features of about unit size
        (scale raw ones)
    steps : number of Newton steps per query, at least 1
    power : how the weight of a query grows with its gains; with 0, all queries have weight 1
    gamma : from 0 to 1; 1 makes targets proportional to the gains of nDCG
    wide : the number of last features that are wide: columns of 0 and 1 for the categories of
        features that have many, of which only variances are known. :class:`Described` sets it.
    covariance, directions : `full`, or for many features `low-rank` with this number of directions,
        or `diagonal`; see :class:`SecondOrderRanker`
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    precision_ : (d, d) L, the inverse covariance of the weights; (d,) if it is diagonal
    root_, variances_, directions_ : how L is stored; see :class:`SecondOrderRanker`

    Notes
    -----
    Cost, full: O(m d^2 + m^2 d + steps m^3) per query of m <= d documents, O(steps (m d^2 + d^3))
    of a longer one, and O(d^2) memory. L is kept as its root, to which a query's curvature is added
    by reflections, so that no stream makes it indefinite. Wide features cost as many features as a
    query's documents have of them, and 16 bytes each. Of r directions, or a diagonal (r = 0):
    O((m + r)^2 d + steps m^3) per query of m <= d documents, and O((m + r) d) memory. A weight of a
    document counts as so many copies of it; a weight of a query multiplies c. Every past query
    counts the same, so after a change of taste it needs as many new queries as it has seen old ones
    (see :class:`Adaptive`).

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"prior": Range(0.1, 1000, 5, log=True)}

    _sizes: ClassVar[int] = 2

    def __init__(
        self,
        prior: float = 10.0,
        steps: int = 3,
        power: float = 0.5,
        gamma: float = 1.0,
        covariance: Covariance = "full",
        directions: int = 20,
        wide: int = 0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.prior = prior
        self.steps = steps
        self.power = power
        self.gamma = gamma
        self.covariance = covariance
        self.directions = directions
        self.wide = wide
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _prior(self) -> float:
        return self.prior

    @property
    def _n_wide(self) -> int:
        return self.wide

    def _is_sparse_taken(self) -> bool:
        return self.wide > 0

    def with_indicators(self, indicators: int, wide: int) -> Self:  # noqa: ARG002
        """Return a copy for rows with so many wide columns, if it has a full covariance."""
        if self.covariance != "full" or not wide:
            return self
        return copy.deepcopy(self).set_params(wide=wide)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("wide", self.wide, 0)
        if self.wide and self.covariance != "full":
            raise DataError(
                f"wide columns go with covariance='full'; found {self.covariance!r}, which keeps "
                "no more than variances of most columns anyway: leave out wide"
            )
        check_number("prior", self.prior, above=True)
        check_whole("steps", self.steps)
        check_number("power", self.power, 0, 2)
        check_number("gamma", self.gamma, 0, 1)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        if self.wide:
            queries = queries._replace(X=sparse_rows(queries.X))
        super()._learn_queries(queries, scores)

    def _check_queries(self, queries: Queries) -> None:
        best = queries.y.max(initial=0.0)
        if best > _LARGEST_GRADE:
            raise DataError(
                f"the grade {best:g} has a gain of 2^{best:g}, which is too large for "
                f"NewtonXENDCG; use grades below {_LARGEST_GRADE:g}"
            )

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_newton(*call, *self._known(arrays), self.clip, **self._loss())

    def _loss(self) -> dict[str, Any]:
        """Return what the core must know of the loss and the steps."""
        return {"gains": True, "gamma": self.gamma, "power": self.power, "steps": self.steps}

    def settings(self) -> tuple[float, ...]:
        """Return what rankers must have in common to learn together."""
        return self.clip, self.gamma, self.power, self.steps


def sparse_rows(X: Rows) -> Rows:
    """Return rows in sparse form."""
    return X if is_sparse(X) else as_dense_type(SparseRows.from_dense(X))


def learn_together(team: Sequence[tuple[NewtonXENDCG, Rows, Rows]], queries: Queries) -> None:
    """Let rankers of the same settings learn the same queries, each from rows of its own.

    Each learns what it would learn alone; one call of the core costs less than a call for each.

    team : rankers, which are copies that nobody else uses; the rows of each; and where its scores
        before learning go
    """
    learnt, members = [], []
    for ranker, X, scores in team:
        known = ranker.__dict__
        arrays = {name: known[name].copy() for name in ranker._arrays}
        total = None if ranker.sum_ is None else ranker.sum_.copy()
        call = core_rows(X), arrays["last_weights_"], total, ranker.n_queries_seen_, scores
        members.append((*call, *ranker._known(arrays)))
        learnt.append({**arrays, "sum_": total})
    first = team[0][0]
    updates = _core.learn_newtons(members, *queries[1:], first.clip, **first._loss())
    for (ranker, _, _), new, count in zip(team, learnt, updates, strict=True):
        ranker.__dict__.update(new, updates_=ranker.updates_ + count)
        ranker.__dict__["n_queries_seen_"] += queries.n
