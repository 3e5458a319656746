"""Linear online rankers: weights, and perhaps their mean."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.arithmetic import row_scores
from rankloop.learners.forms import Anything, Array, Nothing, Whole
from rankloop.learners.online.base import OnlineRanker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.learners.base import Grades, Offsets, Rows
    from rankloop.learners.forms import Form
    from rankloop.learners.online.base import Queries

    Floats = NDArray[np.float64]
    Call = tuple[
        Rows,
        Grades,
        Offsets,
        Floats | None,  # weights of documents
        Floats | None,  # weights of queries
        Floats,  # the learner's weights
        Floats | None,  # their sum over queries
        int,  # queries learnt so far
        Rows | None,  # where to put the scores before learning
    ]
    Arrays = dict[str, NDArray[Any]]


class LinearRanker(OnlineRanker):
    """A linear ranker: scores are X @ weights_.

    A subclass says how it learns (:meth:`_learn`) and, where it knows more than weights, how it
    starts (:meth:`_start`). Besides those of :class:`OnlineRanker` it has the parameter

    average : rank by the mean of the weights after each query rather than by the last ones

    Most have, besides, a bound on what one query can do, so that an outlier does not undo what all
    others taught:

    clip : no query moves the weights by more than so many times the mean of the moves before it;
        0 for no bound. On data of one scale, 10 is never reached.

    Attributes
    ----------
    weights_ : (d,) the weights that rank
    updates_ : on how many of the queries learnt from it took a step
    """

    average: bool

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_",)
    """Names of the arrays that, with the counters, are all that has been learnt."""

    last_weights_: NDArray[np.float64]
    sum_: NDArray[np.float64] | None
    updates_: int

    @abstractmethod
    def _learn(self, call: Call, arrays: Arrays) -> int:
        """Learn from queries in order; return on how many of them it took a step.

        Every function of the core begins with what `call` holds. `arrays` are copies of those that
        `_arrays` names, to be changed in place.
        """

    def _start(self, n_features: int) -> None:
        """Set the arrays of a learner that has seen nothing."""
        self.last_weights_ = np.zeros(n_features)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weights that rank: the last ones, or their mean."""
        self._check_learnt()
        if self.sum_ is None or self.queries_ == 0:
            return self.last_weights_.copy()
        return self.sum_ / self.queries_

    def explain(self) -> list[dict[str, Any]]:
        """Return the weights, largest first; features are numbered from 1, as in LETOR files."""
        weights = self.weights_
        order = np.argsort(-np.abs(weights), kind="stable").tolist()
        return [{"feature": str(i + 1), "weight": float(weights[i])} for i in order]

    def learnt(self) -> dict[str, Any]:
        """Return everything that was learnt, by attribute; nothing before the first query."""
        if not self.is_learnt:
            return {}
        names = ("n_features_in_", "queries_", "updates_", "sum_", *self._arrays)
        return {name: getattr(self, name) for name in names}

    def _forms(self, n_features: int) -> dict[str, Form]:
        weights = Array((n_features,))
        return {
            **super()._forms(n_features),
            "updates_": Whole(),
            "sum_": weights if self.average else Nothing(),
            **dict.fromkeys(self._arrays, Anything()),
            "last_weights_": weights,
        }

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.queries_ = self.updates_ = 0
        self.sum_ = np.zeros(n_features) if self.average else None
        self._start(n_features)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        known = vars(self)
        arrays = {name: known[name].copy() for name in self._arrays}
        total = None if self.sum_ is None else self.sum_.copy()
        call = (*queries, arrays["last_weights_"], total, self.queries_, scores)
        updates = self.updates_ + self._learn(call, arrays)
        known.update(arrays, sum_=total, updates_=updates)

    def _loosen(self, hold: float) -> None:
        self.last_weights_ = self.last_weights_ * hold

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:  # noqa: ARG002
        return row_scores(X, self.weights_)
