"""Several learners at once, combined by how well they do."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.learners.forms import Array, Learner, ListOf
from rankloop.learners.online.base import OnlineRanker
from rankloop.learners.parameters import check_learners
from rankloop.metrics.evaluation import evaluate
from rankloop.metrics.measures import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.learners.base import Grades, Offsets, Rows
    from rankloop.learners.forms import Form
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
        return np.asarray(self._weights(self.losses_[None], np.array([self.queries_]))[0])

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before the first query."""
        if not self.is_learnt:
            return {}
        names = ("n_features_in_", "queries_", "learners_", "losses_")
        return {name: getattr(self, name) for name in names}

    def _check(self, y: Grades) -> None:
        parse(self.measure)
        if self.weighting not in ("exponential", "uniform"):
            raise DataError(f"weighting must be exponential or uniform; found {self.weighting!r}")
        if self.learners is not None:
            check_learners("learners", self.learners, OnlineRanker)
        for learner in self.learners_ if self.is_learnt else self.learners or ():
            learner._check(y)

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

    def _learn_rows(self, X: Rows, y: Grades, offsets: Offsets, scores: Rows | None) -> None:
        data = QueryDataset(X, y, offsets, np.arange(len(offsets) - 1))
        before = np.stack([learner.progress(data) for learner in self.learners_])
        measure = parse(self.measure)
        values = np.stack([evaluate(data, s, measure).results[0].values for s in before])
        losses = np.where(np.isnan(values), 0.0, 1.0 - values).T  # (queries, members)
        so_far = np.cumsum(np.vstack([self.losses_, losses]), axis=0)
        if scores is not None:
            weights = self._weights(so_far[:-1], self.queries_ + np.arange(len(data)))
            each = np.repeat(weights, data.sizes, axis=0).T
            scores[:] = (each * np.stack([standardised(s, offsets) for s in before])).sum(axis=0)
        self.losses_ = so_far[-1]

    def _loosen(self, hold: float) -> None:
        self.losses_ *= hold
        for learner in self.learners_:
            learner._loosen(hold)

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        members = [
            standardised(member._score_rows(X, offsets), offsets) for member in self.learners_
        ]
        return np.asarray(self.mix_ @ np.stack(members))

    def _weights(
        self, losses: NDArray[np.float64], queries: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if self.weighting == "uniform":
            return np.full(losses.shape, 1 / losses.shape[1])
        rates = np.sqrt(8 * np.log(losses.shape[1]) / np.maximum(queries, 1))
        exponents = -rates[:, None] * (losses - losses.min(axis=1, keepdims=True))
        weights = np.exp(exponents)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def standardised(scores: NDArray[Any], offsets: Offsets) -> NDArray[np.float64]:
    """Bring scores to mean 0 and deviation 1 inside each query; equal scores become 0.

    >>> standardised(np.array([1.0, 3.0, 7.0]), np.array([0, 2, 3])).tolist()
    [-1.0, 1.0, 0.0]
    """
    sizes = np.diff(offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.maximum(sizes, 1)
    values = scores.astype(np.float64)
    values = values - (np.bincount(query, values, len(sizes)) / counts)[query]
    spread = np.sqrt(np.bincount(query, values**2, len(sizes)) / counts)[query]
    return np.asarray(np.divide(values, spread, out=np.zeros_like(values), where=spread > 0))
