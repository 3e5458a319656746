"""RankNet: the logistic loss of every pair, of a linear function or of a small network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.learners.batch.lbfgs import descend
from rankloop.learners.batch.linear import ConvexRanker
from rankloop.learners.parameters import check_whole
from rankloop.learners.search import Range
from rankloop.losses.pairwise import PairwiseLogistic
from rankloop.losses.whole import WholeLoss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.search import Search
    from rankloop.losses.base import Floats, QueryLoss
    from rankloop.metrics.measures import Measure

_ROWS = 8192


class RankNet(ConvexRanker):
    """The ranker of the least logistic loss over pairs.

    |w|^2 / 2 + C sum over pairs R_i > R_j of log(1 + exp(-(s_i - s_j))),   s = X w;

    with `hidden` units s = tanh(X V + b) w, and |V|^2 / 2 is added.

    Where we depart: the paper's network is always hidden and goes down by gradient steps, a pair
    or a query at a time, stopping early. Ours is linear unless asked, and goes down on all data,
    with a small ridge: by Newton steps to the optimum, or with hidden units by L-BFGS, to an
    optimum near the random start. With `patience` and a validation set it stops early too.

    Parameters
    ----------
    C : what pairs weigh against the ridge, above 0; as there are many pairs, it is small
    hidden : hidden units; 0: linear
    rounds : at most so many, with hidden units
    tolerance : stop where a round promises to lower the objective, or lowers it with hidden units,
        by less than this part of it
    random_state : seed of the start, with hidden units
    metric, patience, warm_start : see :class:`BatchRanker`; None as patience: go on to the optimum

    Attributes
    ----------
    weights_ : (d,) or (hidden,) the weights w
    hidden_weights_, hidden_bias_ : (d, hidden) and (hidden,) V and b

    Notes
    -----
    Cost: O(n d + n m) a product, m documents a query; linear it takes about 10, and O(n d^2) once
    (where d is at most 500). With hidden units: O(n d hidden + n m) a round and O(n hidden) memory.
    Scale raw counts first.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(50, np.random.default_rng(0), n_features=3).data
    >>> RankNet().fit(data).explain()[0]["feature"]
    '3'
    >>> RankNet(hidden=2).fit(data).hidden_weights_.shape
    (3, 2)

    References
    ----------
    Burges et al., Learning to rank using gradient descent (2005).
    """

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-5, 1, points=11, log=True)}

    _arrays: ClassVar[tuple[str, ...]] = ("weights_", "hidden_weights_", "hidden_bias_")

    hidden_weights_: NDArray[np.float64]
    hidden_bias_: NDArray[np.float64]

    def __init__(
        self,
        C: float = 1e-2,
        hidden: int = 0,
        rounds: int = 200,
        tolerance: float = 1e-8,
        random_state: int = 0,
        metric: str | Measure = "nDCG@10",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.hidden = hidden
        self.rounds = rounds
        self.tolerance = tolerance
        self.random_state = random_state
        self.metric = metric
        self.patience = patience
        self.warm_start = warm_start

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        check_whole("hidden", self.hidden, 0)
        check_whole("rounds", self.rounds)
        check_whole("random_state", self.random_state, 0)

    def _loss(self) -> QueryLoss:
        return PairwiseLogistic()

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        rng = np.random.default_rng(self.random_state)
        self.hidden_weights_ = rng.normal(size=(n_features, self.hidden))
        self.hidden_weights_ /= np.sqrt(max(n_features, 1))
        self.hidden_bias_ = np.zeros(self.hidden)
        if self.hidden:
            self.weights_ = rng.normal(size=self.hidden) / np.sqrt(self.hidden)

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        if not self.hidden:
            yield from super()._rounds(data)
            return
        whole = WholeLoss(self._loss(), data)

        def objective(packed: Floats) -> tuple[float, Floats]:
            w, b, V = self._unpacked(packed)
            units = _units(data.X, V, b)
            value, slope = whole.at(units @ w)
            ridge = (w @ w + (V * V).sum()) / 2
            pull = slope[:, None] * w * (1 - units**2)
            gradient = [w + self.C * (slope @ units), self.C * pull.sum(axis=0)]
            gradient.append((V + self.C * _transposed_times(data.X, pull)).ravel())
            return float(ridge + self.C * value), np.concatenate(gradient)

        start = np.concatenate([self.weights_, self.hidden_bias_, self.hidden_weights_.ravel()])
        steps = descend(objective, start, self.tolerance)
        for _, (packed, value) in zip(range(self.rounds), steps, strict=False):
            self.weights_, self.hidden_bias_, self.hidden_weights_ = self._unpacked(packed)
            yield value

    def _unpacked(self, packed: Floats) -> tuple[Floats, Floats, Floats]:
        h = self.hidden
        return packed[:h].copy(), packed[h : 2 * h].copy(), packed[2 * h :].reshape(-1, h).copy()

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        if not self.hidden:
            return super()._score_rows(X, offsets)
        return np.asarray(_units(X, self.hidden_weights_, self.hidden_bias_) @ self.weights_)

    def explain(self) -> list[dict[str, Any]]:
        """Return the weight of each feature, or each hidden unit with its own, largest first."""
        if not self.hidden:
            return super().explain()
        self._check_learnt()
        parts = []
        for k in np.argsort(-np.abs(self.weights_), kind="stable"):
            inner = self.hidden_weights_[:, k]
            order = np.argsort(-np.abs(inner), kind="stable")
            features = {self.feature_name(int(j)): float(inner[j]) for j in order}
            weight, bias = float(self.weights_[k]), float(self.hidden_bias_[k])
            parts.append({"weight": weight, "bias": bias, "features": features})
        return parts


def _units(X: Rows, V: Floats, b: Floats) -> Floats:
    """Return tanh(X V + b), added up in float64."""
    units = np.empty((len(X), V.shape[1]))
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        units[rows] = np.tanh(X[rows].astype(np.float64) @ V + b)
    return units


def _transposed_times(X: Rows, pull: Floats) -> Floats:
    """Return X' pull, added up in float64."""
    total = np.zeros((X.shape[1], pull.shape[1]))
    for first in range(0, len(X), _ROWS):
        rows = slice(first, first + _ROWS)
        total += X[rows].astype(np.float64).T @ pull[rows]
    return total
