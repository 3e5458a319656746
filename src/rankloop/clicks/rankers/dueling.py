"""Dueling bandits: a ranker that moves towards random neighbours that win comparisons with it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import row_scores
from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.interleaving.team_draft import draft
from rankloop.clicks.rankers.base import ClickRanker, features_of
from rankloop.data.validation import check_length
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import best_first
from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import measure_queries
from rankloop.measures.measure import parse
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.parameters import check_number, check_seed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits

    Floats = NDArray[np.float64]

TEAM_DRAFT = "team-draft"
"""The policy that lets rankers pick documents in turns."""

_COMPARED_BY = (parse("nDCG@10"),)


class DuelingRanker(LinearRanker, ClickRanker):
    """A linear ranker compared with neighbours in random directions by team draft.

    The first ranker of a list is the ranker itself, team 0. It moves by `rate` along the mean of
    the directions u whose rankers, with weights w + step u, won more clicks than it did. In a
    judged query, the neighbours with a higher nDCG@10 win; weights of documents make no difference
    there. A subclass defines the number of neighbours.
    """

    traits: ClassVar[Traits] = replace(LinearRanker.traits, is_baseline=True)
    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_",)
    _sizes: ClassVar[int] = 0  # it has no parameter clip

    rate: float
    step: float
    seed: int

    @property
    @abstractmethod
    def _neighbours(self) -> int:
        """How many rankers it is compared with."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("rate", self.rate, above=True)
        check_number("step", self.step, above=True)
        check_seed("seed", self.seed)

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self.copy()
        w, version = np.zeros(X.shape[1]), 0
        if now.is_fitted:
            now._check_width(X)
            w, version = now.weights_, now.version_
        directions = self._directions(rng, X.shape[1])
        scores = [row_scores(X, w), *(row_scores(X, w + self.step * u) for u in directions)]
        rankings = [best_first(values, id="").order.tolist() for values in scores]
        order, teams = draft(rankings, rng, k, only_top=True)  # as in published experiments
        return {
            "order": np.array(order, np.int64),
            "scores": scores[0].astype(np.float64),
            "version": version,
            "teams": np.array(teams, np.int64),
            "policy": TEAM_DRAFT,
        }

    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn which rankers won a list; see :meth:`ClickRanker.learn_ranking`."""
        X = features_of(ranking)
        if ranking.policy != TEAM_DRAFT or ranking.teams is None:
            raise DataError(
                f"ranking {ranking.id!r} was made {ranking.policy}, but {type(self).__name__} "
                f"learns only from those made {TEAM_DRAFT}: show rankings with its method show"
            )
        worth = np.asarray(grades, np.float64)
        check_length("grades", worth, len(X), "candidates")
        chosen = ranking.teams[worth[ranking.order] > 0]
        won = np.bincount(chosen[chosen >= 0], minlength=self._neighbours + 1)
        directions = self._directions(make_rng(ranking.id), X.shape[1])
        with self._writing:
            new = self.copy()
            new._check_parameters()
            if not new.is_fitted:
                new._reset(X.shape[1])
            new._check_width(X)
            weights = new.last_weights_.copy()
            moved = self._move(weights, directions[won[1:] > won[0]], 1.0)
            total = None if new.sum_ is None else new.sum_ + weights
            vars(new).update(
                last_weights_=weights,
                sum_=total,
                n_queries_seen_=new.n_queries_seen_ + 1,
                updates_=new.updates_ + moved,
            )
            self._become(new)
        return self

    def _learn(self, call: Call, arrays: Arrays) -> int:  # noqa: ARG002
        X, y, offsets, document_weights, query_weight, w, total, queries, scores = call
        grades = y if document_weights is None else np.where(document_weights == 0, -1.0, y)
        updates = 0
        for q, (first, end) in enumerate(pairwise(offsets.tolist())):
            known = total / (queries + q) if total is not None and queries + q else w
            if scores is not None:
                scores[first:end] = row_scores(X[first:end], known)
            weight = 1.0 if query_weight is None else float(query_weight[q])
            rng = np.random.default_rng([self.seed, queries + q])
            directions = self._directions(rng, len(w))
            candidates = [w, *(w + self.step * u for u in directions)]
            reached = [_quality(X[first:end], weights, grades[first:end]) for weights in candidates]
            winners = directions[np.array(reached[1:]) > reached[0]]
            updates += self._move(w, winners, weight)
            if total is not None:
                total += w
        return updates

    def _directions(self, rng: np.random.Generator, d: int) -> Floats:
        n = self._neighbours
        return _core.unit_directions(rng.random(n * (d + d % 2)), n, d)

    def _move(self, w: Floats, winners: Floats, weight: float) -> bool:
        """Move the weights along the mean of directions, in place; return whether it did."""
        for u in winners:
            w += weight * self.rate / len(winners) * u
        return len(winners) > 0 and weight > 0


def _quality(X: NDArray[np.float32], w: Floats, grades: Floats) -> float:
    scores = row_scores(X, w)
    offsets = np.array([0, len(X)])
    values = measure_queries(scores, grades, offsets, _COMPARED_BY, as_convention("lightgbm"))
    return float(values[0, 0])
