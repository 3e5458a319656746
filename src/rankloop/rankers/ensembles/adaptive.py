"""Rankers that started at different times, weighted by how well they rank now."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.ensembles import histories
from rankloop.rankers.ensembles.cohort import Cohort, merge
from rankloop.rankers.ensembles.experts import Experts
from rankloop.rankers.ensembles.moved_weights import compare_weights
from rankloop.rankers.ensembles.noticing import Memory
from rankloop.rankers.ensembles.shared_maps import SharedMaps
from rankloop.rankers.ensembles.weighing import mix
from rankloop.rankers.explaining import member_parts, with_feature_names
from rankloop.rankers.forms import Array, FiniteNumber, FittedRanker, ListOf, Values, Whole
from rankloop.rankers.online.base import OnlineRanker, Queries, are_shuffled
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.parameters import check_rankers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits

    Floats = NDArray[np.float64]


class Adaptive(OnlineRanker):
    """A ranker that notices when the past no longer holds: several copies with different pasts.

    The first copy learns from all queries; two keep only .99 and .96 of what they know at each
    query; and every 20 queries one more starts from nothing. When there are more than five of
    these, the one whose neighbours' ages are closest in ratio stops. Each copy k has a weight,
    which follows its loss on every query, measured before learning from it:

        w_k <- w_k exp(-loss_k) / sum,   loss_k = c (XE_NDCG(scores_k) - its least value),
        w_k <- .999 w_k + .001 / K,      c = sqrt(sum of gains),

    and a copy that starts gets a weight of .005. Scores are the weighted sum of the copies' scores,
    each with mean 0 and standard deviation 1 inside the query. So while nothing changes the first
    copy ranks, and after a change one that has seen little else than the new. The loss of rankers
    whose scores are no logits is that of standardised scores. So is the loss by which changes are
    noticed, for all: how sure a copy is must not look like a change.

    Parameters
    ----------
    ranker : any online ranker, by default second-order XE_NDCG; one that cannot forget
        (`discount_past`) has no forgetting copies
    passes, random_state : see :class:`OnlineRanker`. A `fit` that shuffles queries or passes over
        them more than once trains the first copy alone, because their order tells nothing

    Attributes
    ----------
    members_ : the copies, the first one first, then those that forget, then by age
    mix_ : (K,) their current weights
    memory_ : how many queries the current ranking rests on: the weighted mean of their ages, and of
        1 / (1 - keep) for those that forget
    changes_ : the numbers of the queries at which a change was noticed, the latest 16: `memory_`
        had been below half of its recent level for 20 queries. That a copy stops does not count

    Notes
    -----
    Cost: up to eight times the time and memory of the ranker. The weights are the posterior of a
    Bayesian mixture over how far back the past still holds, so over any stretch of n queries the
    mixture's loss is at most that of any copy that lived through it, plus log(K / .001) and about
    .005 a new copy (see `rankloop.theory.adaptive`). The list that is shown is ranked by a sum of
    scores, which this does not cover.

    Merging keeps the copies that all sides have; those that started later, and the ones that
    forget, start anew.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(400, np.random.default_rng(0), n_features=5).data
    >>> ranker = Adaptive(NewtonXENDCG())
    >>> for number, query in enumerate(data):  # people want the opposite from query 200 on
    ...     _ = ranker.learn(query.X if number < 200 else -query.X, query.y)
    >>> ranker.changes_, bool(ranker.memory_ < 250)
    ((219,), True)

    References
    ----------
    Hazan and Seshadhri, Efficient learning algorithms for changing environments (2009). Herbster
    and Warmuth, Tracking the best expert (1998).
    """

    traits: ClassVar[Traits] = replace(OnlineRanker.traits, scores_rows_alone=False)
    _learns: ClassVar[tuple[str, ...]] = ("members_", "experts_", "level_", "low_", "noticed_")

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.passes = passes
        self.random_state = random_state

    members_: list[OnlineRanker]
    experts_: dict[str, Any]  # of `Experts`
    level_: float  # of `Memory`, as are the next two
    low_: int
    noticed_: NDArray[np.int64]

    # What a subclass changes: who the experts are.

    def _first(self) -> list[OnlineRanker]:
        """Return the members of the expert that learns from all queries."""
        return [self._later(0)]

    def _later(self, n_features: int) -> OnlineRanker:  # noqa: ARG002 - a subclass looks at it
        """Return a ranker that forgets, or starts later."""
        return NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)

    def with_indicators(self, indicators: int, wide: int) -> Self:
        """Return a copy whose ranker is for rows with so many indicators."""
        ranker = self._later(0).with_indicators(indicators, wide)
        return copy.deepcopy(self).set_params(ranker=ranker)

    def _is_sparse_taken(self) -> bool:
        """Whether its ranker takes sparse rows."""
        return self._later(0)._is_sparse_taken()

    @property
    def _adapts(self) -> bool:
        """Whether there are other experts than the first."""
        return True

    # What is known

    @property
    def _experts(self) -> Experts:
        return Experts.from_dict(self.experts_)

    @property
    def mix_(self) -> Floats:
        """The current weights of the members; they sum to 1."""
        self._check_fitted()
        return self._experts.member_weights()

    @property
    def memory_(self) -> float:
        """How many queries the current ranking rests on."""
        self._check_fitted()
        experts = self._experts
        return experts.memory(experts.beliefs, self.n_queries_seen_)

    @property
    def changes_(self) -> tuple[int, ...]:
        """The numbers of the queries at which a change was noticed, the latest 16."""
        self._check_fitted()
        return tuple(self.noticed_.tolist())

    def explain(self) -> Parts:
        """Return the members by weight, each with its most important features."""
        self._check_fitted()
        named = [with_feature_names(member, self.feature_names_in_) for member in self.members_]
        return member_parts(named, self.mix_)

    def moved_weights(self) -> Parts:
        """Return what ranks now beside what all of the past says: features that differ most first.

        Both have weights whose squares sum to 1. While the expert that learnt from all queries is
        trusted most, or if the rankers have no weights for features, this is empty.
        """
        self._check_fitted()
        leader = self._experts.leader
        if leader is None:
            return []
        first, now = self.members_[0], self.members_[leader]
        return compare_weights(first, now, self.feature_names_in_)

    # Learning

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ranker is not None:
            check_rankers("ranker", [self.ranker], OnlineRanker)
            if self.ranker._looks_ahead:
                raise DataError(
                    f"{self.ranker!r} fits something to the first data, which its copies would do "
                    "at other times; put it outside, as in Prepared(Adaptive(ranker), scale='log')"
                )

    def _check_queries(self, queries: Queries) -> None:
        for member in self.members_[:2] if self.is_fitted else self._first():
            member._check_all(queries)

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        self.members_ = self._started(self._first())
        self.experts_ = Experts.first(len(self.members_)).to_dict()
        self.level_, self.low_, self.noticed_ = 0.0, 0, np.zeros(0, np.int64)

    def _started(self, members: list[OnlineRanker]) -> list[OnlineRanker]:
        """Return members that are ready to learn and to rank."""
        none = np.empty((0, self.n_features_in_), np.float32)
        for member in members:
            member._check_and_learn(Queries(none, np.empty(0), np.zeros(1, np.int64)))
        return members

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        cohort = self._cohort(copies=True)
        maps = SharedMaps(queries.X, queries.offsets)
        if not self._adapts or are_shuffled():
            before = maps.learn(cohort.members, queries, 0, 0)
            if scores is not None:
                scores[:] = mix(before.astype(np.float64), cohort.experts, queries.offsets)
            return self._keep(cohort)
        start = self.n_queries_seen_
        if start == 0 and len(cohort.experts) == 1:
            cohort.start_experts(0, self._later_started)
        for first, end in histories.steps(start, queries.n, histories.EVERY):
            mixed = cohort.learn(queries, (first, end), maps, start + first)
            if scores is not None:
                scores[slice(*queries.offsets[[first, end]].tolist())] = mixed
            if (start + end) % histories.EVERY == 0:  # after it: a ranking must not change before
                cohort.start_experts(start + end, self._later_started)
        return self._keep(cohort)

    def _later_started(self) -> OnlineRanker:
        return self._started([self._later(self.n_features_in_)])[0]

    def _cohort(self, copies: bool = False) -> Cohort:
        members = [member.copy() for member in self.members_] if copies else self.members_
        seen = tuple(self.noticed_.tolist())
        return Cohort(members, self._experts, Memory(self.level_, self.low_, seen))

    def _keep(self, cohort: Cohort) -> None:
        self.members_, self.experts_ = cohort.members, cohort.experts.to_dict()
        self.level_, self.low_ = cohort.memory.level, cohort.memory.low
        self.noticed_ = np.array(cohort.memory.changes, np.int64)

    def _discount_past(self, keep: float) -> None:
        self.members_ = [member.copy().discount_past(keep) for member in self.members_]

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        active = [side for side in rankers if side.n_queries_seen_ != base.n_queries_seen_]
        if len(active) <= 1:  # nobody else brought anything
            for name in self._learns:
                setattr(self, name, getattr(active[0] if active else base, name))
            return
        self._keep(merge([side._cohort() for side in rankers], base._cohort()))

    # Scoring

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        maps = SharedMaps(X, offsets)
        return mix(maps.score(self.members_), self._experts, offsets)

    # Files

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "members_": ListOf(FittedRanker(OnlineRanker, n_features)),
            "experts_": Values(),
            "level_": FiniteNumber(),
            "low_": Whole(),
            "noticed_": Array((None,), np.int64, low=0),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        Experts.check(state["experts_"], len(state["members_"]))
