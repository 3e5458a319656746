"""Several online rankers at once, weighted by how well they rank."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import measure_queries
from rankloop.measures.measure import parse
from rankloop.rankers.explaining import member_parts, with_feature_names
from rankloop.rankers.forms import Array, FittedRanker, ListOf
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.online.merging import sum_changes
from rankloop.rankers.parameters import check_rankers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.traits import Traits


class Mix(OnlineRanker):
    """A weighted sum of online rankers that learn from the same queries.

    The scores of each member are scaled to mean 0 and standard deviation 1 inside a query, and
    summed with weights. The weights are equal, or exponential in the cumulative loss 1 - measure of
    each member, measured on every query before learning from it (Hedge):

        weight_k ~ exp(-rate_t * loss_k),   rate_t = sqrt(8 ln K / t).

    Parameters
    ----------
    members : at least one; by default second-order XE_NDCG, SOLAR-II and SLAM
    weighting : `exponential` or `uniform`
    measure : the measure in the loss
    passes, random_state : see :class:`OnlineRanker`

    Attributes
    ----------
    members_ : the members
    losses_ : (K,) the cumulative loss of each member
    mix_ : (K,) the current weights of the members

    Notes
    -----
    Cost: the sum of the costs of its members, and O(m log m) per query and member to measure them.
    The weights follow all losses since the start, so it does not follow a change of taste better
    than its members (see :class:`Adaptive`).

    References
    ----------
    Freund and Schapire, A decision-theoretic generalization of on-line learning (1997).
    """

    traits: ClassVar[Traits] = replace(OnlineRanker.traits, scores_rows_alone=False)
    _learns: ClassVar[tuple[str, ...]] = ("members_", "losses_")

    def __init__(
        self,
        members: Sequence[OnlineRanker] | None = None,
        weighting: Literal["exponential", "uniform"] = "exponential",
        measure: str | Measure = "nDCG@10",
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.members = members
        self.weighting = weighting
        self.measure = measure
        self.passes = passes
        self.random_state = random_state

    members_: list[OnlineRanker]
    losses_: NDArray[np.float64]

    def _fresh_members(self) -> list[OnlineRanker]:
        """Return the members before training."""
        from rankloop.rankers.online.newton import NewtonXENDCG
        from rankloop.rankers.online.slam import Slam
        from rankloop.rankers.online.solar_ii import SolarII

        if self.members is None:
            return [NewtonXENDCG(), SolarII(), Slam("nDCG@10")]
        return [copy.deepcopy(ranker) for ranker in self.members]

    def with_indicators(self, indicators: int, wide: int) -> Self:
        """Return a copy whose members are for rows with so many indicators."""
        members = [member.with_indicators(indicators, wide) for member in self._fresh_members()]
        return copy.deepcopy(self).set_params(members=members)

    def _is_sparse_taken(self) -> bool:
        """Whether all members take sparse rows."""
        return all(member._is_sparse_taken() for member in self._fresh_members())

    @property
    def mix_(self) -> NDArray[np.float64]:
        """The current weights of the members."""
        self._check_fitted()
        return _core.mixing_weights(self.losses_, self.n_queries_seen_, uniform=self._uniform)

    def explain(self) -> Parts:
        """Return the members by weight, each with its most important features."""
        weights = self.mix_
        return member_parts(
            [with_feature_names(ranker, self.feature_names_in_) for ranker in self.members_],
            weights,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parse(self.measure)
        if self.weighting not in ("exponential", "uniform"):
            raise DataError(f"weighting must be exponential or uniform; found {self.weighting!r}")
        if self.members is not None:
            check_rankers("members", self.members, OnlineRanker)

    def _check_queries(self, queries: Queries) -> None:
        for ranker in self.members_ if self.is_fitted else self._fresh_members():
            ranker._check_all(queries)

    def _forms(self, n_features: int) -> dict[str, Form]:
        count = len(self._fresh_members())
        members = ListOf(FittedRanker(OnlineRanker, n_features), count)
        own = {"members_": members, "losses_": Array((count,), low=0)}
        return {**super()._forms(n_features), **own}

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        self.members_ = self._fresh_members()
        for ranker in self.members_:
            ranker._reset(n_features)
        self.losses_ = np.zeros(len(self.members_))

    @property
    def _looks_ahead(self) -> bool:
        """Whether a member does."""
        return any(ranker._looks_ahead for ranker in self._fresh_members())

    def _look_ahead(self, data: QueryDataset) -> None:
        """Let the members look ahead."""
        if not self.is_fitted:
            self.feature_names_in_ = data.feature_names or ()
            self._reset(data.n_features)
        self.members_ = [ranker.copy() for ranker in self.members_]
        for ranker in self.members_:
            ranker._look_ahead(data)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        members = [ranker.copy() for ranker in self.members_]
        before = np.empty((len(members), len(queries.y)), np.float32)
        for ranker, own in zip(members, before, strict=True):
            ranker._check_and_learn(queries, own)
        losses, so_far = self._losses(queries, before), self.losses_.copy()
        mixed = _core.mix_queries(
            before.astype(np.float64),
            queries.offsets,
            losses,
            so_far,
            self.n_queries_seen_,
            uniform=self._uniform,
        )
        if scores is not None:
            scores[:] = mixed
        self.members_, self.losses_ = members, so_far

    def _losses(self, queries: Queries, scores: Rows) -> NDArray[np.float64]:
        """Return 1 - measure for each query and member; 0 if the measure has no value."""
        members, documents = scores.shape
        starts = (documents * np.arange(members))[:, None] + queries.offsets[:-1]
        offsets = np.append(starts.ravel(), members * documents)  # all members, one after the other
        measure = (parse(self._loss_measure),)
        rules = as_convention("standard")
        grades = np.tile(queries.y, members)
        values = measure_queries(scores.ravel(), grades, offsets, measure, rules)[0]
        losses = np.where(np.isnan(values), 0.0, 1.0 - values).reshape(members, -1)
        if queries.query_weight is not None:
            losses = losses * queries.query_weight
        return np.ascontiguousarray(losses.T)

    def _discount_past(self, keep: float) -> None:
        self.losses_ = self.losses_ * keep
        self.members_ = [ranker.copy().discount_past(keep) for ranker in self.members_]

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        self.losses_ = sum_changes([ranker.losses_ for ranker in rankers], base.losses_)
        members = [ranker.copy() for ranker in self.members_]
        for k, member in enumerate(members):
            member._merge_copies([ranker.members_[k] for ranker in rankers], base.members_[k])
        self.members_ = members

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        scores = np.empty((len(self.members_), len(X)))
        for own, member in zip(scores, self.members_, strict=True):
            own[:] = member._score_rows(X, offsets)
        none = np.empty((0, len(scores)))
        return _core.mix_queries(
            scores,
            offsets,
            none,
            self.losses_.copy(),
            self.n_queries_seen_,
            uniform=self._uniform,
        )

    @property
    def _uniform(self) -> bool:
        return self.weighting == "uniform"

    @property
    def _loss_measure(self) -> str | Measure:
        return self.measure


def standardise(scores: NDArray[np.generic], offsets: Offsets) -> NDArray[np.float64]:
    """Scale scores to mean 0 and standard deviation 1 inside each query; equal scores become 0.

    >>> standardise(np.array([1.0, 3.0, 7.0]), np.array([0, 2, 3])).tolist()
    [-1.0, 1.0, 0.0]
    """
    return _core.standardise(np.ascontiguousarray(scores, np.float64), offsets)
