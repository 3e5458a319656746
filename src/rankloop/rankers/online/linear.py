"""Linear online rankers, which score with their weights or with the mean of their weights."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop._utils.arithmetic import row_scores
from rankloop.data.sparse_rows import core_rows
from rankloop.rankers.explaining import weight_parts
from rankloop.rankers.forms import Anything, Array, Nothing, Whole
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.online.merging import mean_weights, sum_changes
from rankloop.rankers.parameters import check_number, check_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Grades, Offsets, Rows, Scores
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries

    Floats = NDArray[np.float64]
    Call = tuple[
        Rows,
        Grades,
        Offsets,
        Floats | None,  # weights of documents
        Floats | None,  # weights of queries
        Floats,  # the ranker's weights
        Floats | None,  # their sum over queries
        int,  # queries learnt so far
        Rows | None,  # where to put the scores before learning
    ]
    Arrays = dict[str, NDArray[Any]]
    from rankloop.rankers.explaining import Parts


CLIP = 10.0
"""How far a query may move the weights, in means of the moves before it."""


class LinearRanker(OnlineRanker):
    """A linear ranker: scores are X @ weights_.

    A subclass defines how it learns (:meth:`_learn`) and, if it learns more than weights, how it
    starts (:meth:`_start`). In addition to the parameters of :class:`OnlineRanker` it has:

    average : whether to rank by the mean of the weights after each query, instead of the last ones

    Most of them also limit the effect of one query, so that an outlier does not undo what was
    learnt from all others. One that does not has `_sizes = 0` and no array `sizes_`; the rest have:

    clip : the largest update of a query, as a multiple of the mean update before it; 0 means no
        limit. The size of an update is how far the weights move; for second-order rankers it is
        how far the documents of the query are apart relative to what is known, times its weight.
        The first query is not limited. On features with one scale, 10 is hardly ever reached.

    Attributes
    ----------
    weights_ : (d,) the weights that rank
    updates_ : number of queries on which it took a step
    """

    average: bool

    clip: float

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "sizes_")
    """Names of the arrays that, with the counters, are all that has been learnt."""

    _sizes: ClassVar[int] = 1
    """How many sizes of an update are limited; 0 for a ranker without the parameter `clip`."""

    last_weights_: NDArray[np.float64]
    sizes_: NDArray[np.float64]  # the sums of the sizes, each with how many there were
    sum_: NDArray[np.float64] | None
    updates_: int

    @abstractmethod
    def _learn(self, call: Call, arrays: Arrays) -> int:
        """Learn from queries in order; return the number of queries on which it took a step.

        `call` holds the first arguments of every function of the core. `arrays` are copies of those
        that `_arrays` names, and may be changed in place.
        """

    def _start(self, n_features: int) -> None:
        """Set the arrays of a ranker that has seen no data."""
        self.last_weights_ = np.zeros(n_features)
        if self._sizes:
            self.sizes_ = np.zeros(2 * self._sizes)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._sizes:
            check_number("clip", self.clip)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weights that rank: the last ones, or their mean."""
        self._check_fitted()
        return self._ranking_weights().copy()

    def _ranking_weights(self) -> NDArray[np.float64]:
        """Return the weights that rank; do not change them."""
        if self.sum_ is None or self.n_queries_seen_ == 0:
            return self.last_weights_
        return self.sum_ / self.n_queries_seen_

    def explain(self) -> Parts:
        """Return the weights, largest first."""
        return weight_parts(self, self.weights_)

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        return (*known, "updates_", "sum_", *self._arrays) if known else ()

    def _forms(self, n_features: int) -> dict[str, Form]:
        weights = Array((n_features,))
        return {
            **super()._forms(n_features),
            "updates_": Whole(),
            "sum_": weights if self.average else Nothing(),
            **dict.fromkeys(self._arrays, Anything()),
            "last_weights_": weights,
            **({"sizes_": Array((2 * self._sizes,), low=0)} if self._sizes else {}),
        }

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = self.updates_ = 0
        self.sum_ = np.zeros(n_features) if self.average else None
        self._start(n_features)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        known = self.__dict__
        arrays = {name: known[name].copy() for name in self._arrays}
        total = None if self.sum_ is None else self.sum_.copy()
        rows = core_rows(queries.X)
        call = (rows, *queries[1:], arrays["last_weights_"], total, self.n_queries_seen_, scores)
        updates = self.updates_ + self._learn(call, arrays)
        known.update(arrays, sum_=total, updates_=updates)

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        if not set(self._arrays) <= {"last_weights_", "sizes_"}:
            super()._merge(rankers, base)
        self._merge_counters(rankers, base)
        counts = [ranker.n_queries_seen_ - base.n_queries_seen_ for ranker in rankers]
        self.last_weights_ = mean_weights([ranker.last_weights_ for ranker in rankers], counts)

    def _merge_counters(self, rankers: Sequence[Self], base: Self) -> None:
        """Add up the attributes that are sums over queries."""
        sums = {"sizes_", "sum_"} & {*self._arrays, *(() if self.sum_ is None else ("sum_",))}
        for name in ("updates_", *sorted(sums)):
            arrays = [getattr(ranker, name) for ranker in rankers]
            setattr(self, name, sum_changes(arrays, getattr(base, name)))

    def _discount_past(self, keep: float) -> None:
        self.last_weights_ = self.last_weights_ * keep
        self.sum_ = None if self.sum_ is None else self.sum_ * keep

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:  # noqa: ARG002
        """Score checked rows."""
        return row_scores(X, self._ranking_weights())


class SteppingRanker(LinearRanker):
    """A linear ranker with a step size: round t uses rate / (1 + t)^decay."""

    def __init__(
        self,
        rate: float = 1.0,
        decay: float = 0.0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.decay = decay
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_rate(self.rate, self.decay)


def share(sizes: NDArray[np.float64], size: float, clip: float) -> float:
    """Return the share of an update of this size that is allowed, and count it."""
    allowed = 1.0
    if clip == 0 or not size > 0:
        return allowed
    if sizes[1] > 0 and size * sizes[1] > clip * sizes[0]:
        allowed = clip * sizes[0] / sizes[1] / size
    sizes += allowed * size, 1
    return float(allowed)
