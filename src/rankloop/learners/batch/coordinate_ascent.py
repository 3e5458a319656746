"""Coordinate ascent: a measure climbed one weight at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.learners.batch.base import BatchRanker, refuse_document_weights
from rankloop.learners.batch.measured import Objective, explain_weights, linear_scores
from rankloop.learners.batch.ties import NOISE, first_largest
from rankloop.learners.forms import Array
from rankloop.learners.parameters import check_number, check_whole
from rankloop.learners.search import Choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.batch.measured import Floats
    from rankloop.learners.forms import Form
    from rankloop.learners.search import Search
    from rankloop.metrics.measures import Measure

_FIRST_STEP, _SMALL_STEP = 0.001, 0.05


class CoordinateAscent(BatchRanker):
    """A linear ranker whose weights climb a measure, one at a time, from several starts.

    A round passes over all features in a random order. The weight w of each is tried at
    w + t, t = a, 3a, 7a, 15a, ... (`steps` points), if none is better at w - t, and if none is, at
    0; the best is taken if it raises the mean of the measure over queries, and weights are divided
    by the sum of their sizes. The first start has equal weights, the others random ones. Each start
    goes on until a round raises its measure by no more than `tolerance`; the best start ranks.

    a is 0.001; where that is more than half of |w|, and w is not 0, it is |w| / 20. These are
    RankLib's steps and defaults.

    Where we depart: RankLib starts anew from equal weights; the paper, and we, from random ones.
    All starts take their rounds side by side, so that a validation set can stop them together.

    Parameters
    ----------
    measure : any
    rounds : passes over the features in all
    restarts : number of starts
    steps : points a line search, in one direction
    tolerance : least rise of the measure a round, from 0
    random_state : seed of the starts and of the orders, at least 0
    metric, patience, warm_start : see :class:`BatchRanker`

    Attributes
    ----------
    weights_ : (d,) the weights that rank; their sizes sum to 1
    starts_ : (restarts, d) the weights of each start
    finished_ : (restarts,) whether it rises no more
    best_ : (1,) the start that ranks

    Notes
    -----
    Bring features to one scale first (:class:`QueryMinMax`, say).
    Cost: up to 2 steps + 1 evaluations of O(n log m) for each feature, start and round, n documents
    of which m a query: small data only. Memory: a copy of the data.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.metrics.evaluation import evaluate
    >>> data = separable(30, np.random.default_rng(0), n_features=5).data
    >>> ranker = CoordinateAscent("AP", restarts=1).fit(data)
    >>> evaluate(data, ranker.predict(data), "AP")["AP"] > 0.95
    True

    References
    ----------
    Metzler and Croft, Linear feature-based models for information retrieval (2007): section 3.2.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"measure": Choice(("nDCG@10", "AP"))}
    _arrays: ClassVar[tuple[str, ...]] = ("starts_", "finished_", "best_")
    starts_: Floats
    finished_: NDArray[np.bool_]
    best_: NDArray[np.int64]

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        rounds: int = 25,
        restarts: int = 5,
        steps: int = 25,
        tolerance: float = 0.001,
        random_state: int = 0,
        metric: str | Measure = "nDCG@10",
        patience: int | None = 5,
        warm_start: bool = False,
    ) -> None:
        self.measure = measure
        self.rounds = rounds
        self.restarts = restarts
        self.steps = steps
        self.tolerance = tolerance
        self.random_state = random_state
        self.metric = metric
        self.patience = patience
        self.warm_start = warm_start

    @property
    def weights_(self) -> Floats:
        """The weights that rank."""
        self._check_learnt()
        return np.array(self.starts_[self.best_[0]])

    def explain(self) -> list[dict[str, Any]]:
        """Return features with their weights, largest first."""
        return explain_weights(self, self.weights_)

    def _check(self, data: QueryDataset) -> None:
        check_whole("rounds", self.rounds)
        check_whole("restarts", self.restarts)
        check_whole("steps", self.steps)
        check_whole("random_state", self.random_state, 0)
        check_number("tolerance", self.tolerance)
        refuse_document_weights(self, data)
        Objective.check(self.measure, data)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.starts_ = np.random.default_rng(self.random_state).uniform(
            -1, 1, (self.restarts, n_features)
        )
        self.starts_[0] = 1.0
        self.starts_ /= np.maximum(np.abs(self.starts_).sum(axis=1, keepdims=True), 1e-300)
        self.finished_ = np.zeros(self.restarts, bool)
        self.best_ = np.zeros(1, np.int64)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "starts_": Array((None, n_features)),
            "finished_": Array((None,), np.bool_),
            "best_": Array((1,), np.int64, low=0),
        }

    def _check_state(self, state: Mapping[str, Any]) -> None:
        super()._check_state(state)
        if not state["best_"][0] < len(state["starts_"]) == len(state["finished_"]):
            raise ModelError("best_ is none of the starts_, or finished_ differs from them")

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        E = Objective(self.measure, data)
        if len(E.data) == 0 or data.n_features == 0:
            return
        while self.rounds_ < self.rounds and not self.finished_.all():
            starts = self.starts_.copy()
            reached = np.array([self._climb(E, starts, k) for k in range(len(starts))])
            before = np.array([E.mean(E.scores(w)) for w in self.starts_])
            self.finished_ = reached - before <= self.tolerance
            self.starts_, self.best_ = starts, np.array([first_largest(reached)])
            yield 1 - float(reached.max())

    def _climb(self, E: Objective, starts: Floats, start: int) -> float:
        """Take one start through one round; return what it reaches."""
        w = starts[start]
        scores = E.scores(w)
        reached = E.mean(scores)
        if self.finished_[start]:
            return reached
        rng = np.random.default_rng((self.random_state, start, self.rounds_))
        for feature in rng.permutation(len(w)):
            x = E.columns[feature]
            step, mean = self._search(E, scores, x, w[feature], reached)
            tried = w.copy()
            tried[feature] += step
            if mean <= reached or not tried.any():
                continue
            w[:] = tried / np.abs(tried).sum()
            reached, scores = mean, E.scores(w)
        return reached

    def _search(
        self, E: Objective, scores: Floats, x: Rows, weight: float, least: float
    ) -> tuple[float, float]:
        """Return the best step for one weight and what it reaches; (0, least) if none does."""
        first = _FIRST_STEP
        if weight != 0 and first > abs(weight) / 2:
            first = _SMALL_STEP * abs(weight)
        steps = first * (np.exp2(np.arange(1, self.steps + 1)) - 1)
        for line in (steps, -steps, np.array([-weight])):
            means = np.array([E.mean(scores + step * x) for step in line])
            best = first_largest(means)
            if means[best] > least + NOISE:
                return float(line[best]), float(means[best])
        return 0.0, least

    def _score_rows(self, X: Rows, offsets: Offsets) -> Floats:  # noqa: ARG002
        return linear_scores(X, self.weights_)
