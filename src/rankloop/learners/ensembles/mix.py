"""Several learners at once, combined by how well they do."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.learners.forms import Array, Learner, ListOf
from rankloop.learners.online.base import OnlineRanker
from rankloop.learners.parameters import check_learners
from rankloop.metrics.conventions import as_convention
from rankloop.metrics.evaluation import measure_queries
from rankloop.metrics.measures import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.forms import Form
    from rankloop.learners.online.base import Queries
    from rankloop.metrics.measures import Measure


class Mix(OnlineRanker):
    """Learners that run side by side and rank together.

    Each member's scores are brought to mean 0 and deviation 1 inside a query and summed with
    weights: all alike, or exponential in the loss 1 - measure each had so far, measured on every
    query before learning from it (Hedge):

        weight_k ~ exp(-rate_t * loss_k),   rate_t = sqrt(8 ln K / t).

    Parameters
    ----------
    learners : at least one; default: second-order XE_NDCG, SOLAR-II and SLAM
    weighting : `exponential` or `uniform`
    measure : what the loss is made of
    passes, random_state : see :class:`OnlineRanker`

    Attributes
    ----------
    learners_ : the members
    losses_ : (K,) the cumulative loss of each
    mix_ : (K,) their weights now

    Notes
    -----
    Cost: the sum of its members', and O(m log m) a query and member to measure them.

    References
    ----------
    Freund and Schapire, A decision-theoretic generalization of on-line learning (1997).
    """

    scores_rows_alone: ClassVar[bool] = False

    def __init__(
        self,
        learners: Sequence[OnlineRanker] | None = None,
        weighting: Literal["exponential", "uniform"] = "exponential",
        measure: str | Measure = "nDCG@10",
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.learners = learners
        self.weighting = weighting
        self.measure = measure
        self.passes = passes
        self.random_state = random_state

    learners_: list[OnlineRanker]
    losses_: NDArray[np.float64]

    def members(self) -> list[OnlineRanker]:
        """Return the learners it starts with."""
        from rankloop.learners.online.newton import NewtonXENDCG
        from rankloop.learners.online.slam import Slam
        from rankloop.learners.online.solar_ii import SolarII

        if self.learners is None:
            return [NewtonXENDCG(), SolarII(), Slam("nDCG@10")]
        return [copy.deepcopy(learner) for learner in self.learners]

    @property
    def mix_(self) -> NDArray[np.float64]:
        """The weights of the members now."""
        self._check_learnt()
        return _core.mixing_weights(self.losses_, self.queries_, self._uniform)

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before the first query."""
        if not self.is_learnt:
            return {}
        names = ("n_features_in_", "queries_", "learners_", "losses_")
        return {name: getattr(self, name) for name in names}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parse(self.measure)
        if self.weighting not in ("exponential", "uniform"):
            raise DataError(f"weighting must be exponential or uniform; found {self.weighting!r}")
        if self.learners is not None:
            check_learners("learners", self.learners, OnlineRanker)

    def _check(self, queries: Queries) -> None:
        for learner in self.learners_ if self.is_learnt else self.learners or ():
            learner._check_all(queries)

    def _forms(self, n_features: int) -> dict[str, Form]:
        count = len(self.members() if self.learners is None else self.learners)
        members = ListOf(Learner(OnlineRanker, n_features), count)
        own = {"learners_": members, "losses_": Array((count,), low=0)}
        return {**super()._forms(n_features), **own}

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.queries_ = 0
        self.learners_ = self.members()
        self.losses_ = np.zeros(len(self.learners_))

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        members = [learner._twin() for learner in self.learners_]
        before = np.empty((len(members), len(queries.y)), np.float32)
        for learner, own in zip(members, before, strict=True):
            learner._learn_from(queries, own)
        losses, so_far = self._losses(queries, before), self.losses_.copy()
        mixed = _core.mix_queries(
            before.astype(np.float64), queries.offsets, losses, so_far, self.queries_, self._uniform
        )
        if scores is not None:
            scores[:] = mixed
        self.learners_, self.losses_ = members, so_far

    def _losses(self, queries: Queries, scores: Rows) -> NDArray[np.float64]:
        """Return 1 - measure of each query and member; 0 where the measure has no value."""
        members, documents = scores.shape
        starts = (documents * np.arange(members))[:, None] + queries.offsets[:-1]
        offsets = np.append(starts.ravel(), members * documents)  # all members, one after the other
        measure = (parse(self.measure),)
        rules = as_convention("standard")
        grades = np.tile(queries.y, members)
        values = measure_queries(scores.ravel(), grades, offsets, measure, rules)[0]
        losses = np.where(np.isnan(values), 0.0, 1.0 - values).reshape(members, -1)
        if queries.query_weight is not None:
            losses = losses * queries.query_weight
        return np.ascontiguousarray(losses.T)

    def _loosen(self, hold: float) -> None:
        self.losses_ = self.losses_ * hold
        self.learners_ = [learner._twin() for learner in self.learners_]
        for learner in self.learners_:
            learner._loosen(hold)

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        members = [member._score_rows(X, offsets) for member in self.learners_]
        none = np.empty((0, len(members)))
        return _core.mix_queries(
            np.stack(members, dtype=np.float64),
            offsets,
            none,
            self.losses_.copy(),
            self.queries_,
            self._uniform,
        )

    @property
    def _uniform(self) -> bool:
        return self.weighting == "uniform"


def standardised(scores: NDArray[Any], offsets: Offsets) -> NDArray[np.float64]:
    """Bring scores to mean 0 and deviation 1 inside each query; equal scores become 0.

    >>> standardised(np.array([1.0, 3.0, 7.0]), np.array([0, 2, 3])).tolist()
    [-1.0, 1.0, 0.0]
    """
    return _core.standardise(np.ascontiguousarray(scores, np.float64), offsets)
