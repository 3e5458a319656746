"""Coordinate ascent: a linear ranker that optimises a measure one weight at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.exceptions import ModelError
from rankloop.rankers.batch.base import BatchRanker, refuse_document_weights
from rankloop.rankers.batch.measured import MeasureObjective, linear_scores, nonzero_parts
from rankloop.rankers.batch.near_equal import NOISE, first_largest
from rankloop.rankers.forms import Array
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.batch.measured import Floats
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.search import Search
    from rankloop.rankers.state import State

_FIRST_STEP, _SMALL_STEP = 0.001, 0.05


class CoordinateAscent(BatchRanker):
    """A linear ranker that optimises a measure, one weight at a time, from several starts.

    A round goes through all features in a random order. For the weight w of each feature it tries
    the values w + t with t = a, 3a, 7a, 15a, ... (`steps` points); if none of them is better, it
    tries w - t; and if none of those is better, it tries 0. The best value is taken if it raises
    the mean of the measure over queries. Then all weights are divided by the sum of their absolute
    values. The first start has equal weights, and the others have random weights. Each start
    continues until a round raises its measure by no more than `tolerance`; the best start is used
    for ranking. The step a is 0.001; if this is more than half of |w|, and w is not 0, a is |w| /
    20. These are RankLib's steps and defaults.

    Where we depart: RankLib starts again from equal weights; the paper and Rankloop start from
    random weights. All starts advance together, round by round, so that a validation set can stop
    them together.

    Parameters
    ----------
    measure : any
    rounds : maximum number of passes over the features
    restarts : number of starts
    steps : number of points per line search, in one direction
    tolerance : smallest rise of the measure per round, at least 0
    random_state : random seed of the starts and of the orders, at least 0
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Attributes
    ----------
    weights_ : (d,) the weights used for ranking; their absolute values sum to 1
    starts_ : (restarts, d) the weights of each start
    finished_ : (restarts,) whether the start has stopped improving
    best_ : (1,) the start used for ranking

    Notes
    -----
    Bring features to a common scale first (for example with :class:`QueryMinMax`). Cost: up to 2
    steps + 1 evaluations of O(n log m) for each feature, start and round, with n documents and m
    per query; use it for small data only. Memory: a copy of the data.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(30, np.random.default_rng(0), n_features=5).data
    >>> ranker = CoordinateAscent("AP", restarts=1).fit(data)
    >>> evaluate(data, ranker.predict(data), "AP")["AP"] > 0.95
    True

    References
    ----------
    Metzler and Croft, Linear feature-based models for information retrieval (2007): section 3.2.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"measure": OneOf(("nDCG@10", "AP"))}
    _learns: ClassVar[tuple[str, ...]] = ("starts_", "finished_", "best_")
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
        valid_measure: str | Measure = "nDCG@10",
        patience: int | None = 5,
        warm_start: bool = False,
        refit: bool = False,
    ) -> None:
        self.measure = measure
        self.rounds = rounds
        self.restarts = restarts
        self.steps = steps
        self.tolerance = tolerance
        self.random_state = random_state
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start
        self.refit = refit

    @property
    def weights_(self) -> Floats:
        """The weights used for ranking."""
        self._check_fitted()
        return np.array(self.starts_[self.best_[0]])

    def explain(self) -> Parts:
        """Return features with their weights, largest first."""
        return nonzero_parts(self, self.weights_)

    def _check(self, data: QueryDataset) -> None:
        check_whole("rounds", self.rounds)
        check_whole("restarts", self.restarts)
        check_whole("steps", self.steps)
        check_whole("random_state", self.random_state, 0)
        check_number("tolerance", self.tolerance)
        refuse_document_weights(self, data)
        MeasureObjective.check(self.measure, data)

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

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        if not state["best_"][0] < len(state["starts_"]) == len(state["finished_"]):
            raise ModelError(
                "best_ is not one of the starts_, or finished_ and starts_ differ in length"
            )

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        E = MeasureObjective(self.measure, data)
        if len(E.data) == 0 or data.n_features == 0:
            return
        while self.rounds_ < self.rounds and not self.finished_.all():
            starts = self.starts_.copy()
            reached = np.array([self._climb(E, starts, k) for k in range(len(starts))])
            before = np.array([E.mean(E.scores(w)) for w in self.starts_])
            self.finished_ = reached - before <= self.tolerance
            self.starts_, self.best_ = starts, np.array([first_largest(reached)])
            yield 1 - float(reached.max())

    def _climb(self, E: MeasureObjective, starts: Floats, start: int) -> float:
        """Run one round for one start; return the measure that it reaches."""
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
        self, E: MeasureObjective, scores: Floats, x: Rows, weight: float, least: float
    ) -> tuple[float, float]:
        """Return the best step for one weight and its measure; (0, least) if none is better."""
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
        """Score checked rows."""
        return linear_scores(X, self.weights_)
