"""Objectives of trees: gradients and Hessians of all queries, from the compiled core."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.losses.by_query import make_summed_loss
from rankloop.measures.conventions import CONVENTIONS
from rankloop.measures.evaluation import evaluate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.losses.base import Floats, Loss
    from rankloop.measures.conventions import ArrayFunction

    Singles = NDArray[np.float32]

_MAX_GRADES = 1000
GAMMAS = ("number", "random", "tight")


class Objective(Protocol):
    """An objective to minimise.

    native : LightGBM's name for it, if LightGBM computes the gradients; otherwise None
    labels : the labels passed to LightGBM
    params : further parameters passed to LightGBM
    gradient, hessian : one per document, float32, set by :meth:`at`; not used if native
    """

    native: str | None
    labels: NDArray[Any]
    params: dict[str, object]
    gradient: Singles
    hessian: Singles

    def at(self, scores: Floats, tree: int) -> float:
        """Return the mean value per query, and set gradient and hessian for tree number `tree`."""


@dataclass(frozen=True)
class Shape:
    """Grades, queries and weights of a data set; not its features."""

    y: Floats
    offsets: NDArray[np.int64]
    sample_weight: Floats | None
    query_weight: Floats | None

    @classmethod
    def of(cls, data: QueryDataset) -> Shape:
        """Take them from a data set; document weights that are all 1 become None."""
        alike = data.sample_weight is None or bool((data.sample_weight == 1).all())
        return cls(data.y, data.offsets, None if alike else data.sample_weight, data.query_weight)

    def bare(self) -> QueryDataset:
        """Return a data set without features."""
        queries = np.arange(len(self.offsets) - 1)
        none = np.empty((len(self.y), 0), np.float32)
        return QueryDataset(none, self.y, self.offsets, queries, None, None, *self.weights)

    @property
    def weights(self) -> tuple[Floats | None, Floats | None]:
        """The weights of documents and of queries."""
        return self.sample_weight, self.query_weight


@dataclass
class SoftmaxObjective:
    """The cross entropy of ListNet or XE_NDCG, summed over queries.

    shape : the shape of the data
    gains : whether the target is XE_NDCG's, 2^y - gamma, instead of ListNet's, e^y
    kind, gamma : `number` uses gamma; `random` draws new gammas for each tree, as LightGBM does;
        `tight` takes the gammas with the smallest loss
    seed : random seed
    terms : number of terms, beyond the diagonal, of the series for the inverse Hessian
    native : LightGBM's name, if LightGBM computes the same gradients
    """

    shape: Shape
    gains: bool
    kind: str = "number"
    gamma: float = 1.0
    seed: int = 0
    terms: int = 2
    native: str | None = None
    params: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.labels = self.shape.y
        n = 0 if self.native else len(self.labels)
        self.gradient, self.hessian = np.zeros(n, np.float32), np.zeros(n, np.float32)

    def at(self, scores: Floats, tree: int) -> float:
        """Return the mean value; random gammas count as 1/2."""
        total = _core.softmax_trees(
            scores,
            self.shape.y,
            self.shape.offsets,
            *self.shape.weights,
            gains=self.gains,
            gamma_kind=GAMMAS.index(self.kind),
            gamma=self.gamma,
            seed=self.seed % 2**32,
            draw=tree,
            terms=self.terms,
            gradient=self.gradient,
            hessian=self.hessian,
            threads=threads(),
        )
        return total / (len(self.shape.offsets) - 1)


class WholeObjective:
    """Any loss, with the diagonal of its Hessian."""

    native: str | None = None

    def __init__(self, loss: Loss, data: QueryDataset) -> None:
        self.labels = data.y
        self.params: dict[str, object] = {}
        self._whole, self._queries = make_summed_loss(loss, data), len(data)
        self.gradient, self.hessian = np.empty((2, data.n_documents), np.float32)

    def at(self, scores: Floats, tree: int) -> float:  # noqa: ARG002
        """Return the mean value."""
        value, gradient = self._whole.at(scores)
        self.gradient[:] = gradient
        self.hessian[:] = self._whole.diagonal()
        return value / self._queries


class MeasuredObjective:
    """LightGBM's gradients, which belong to no loss; the value is 1 - nDCG with these gains.

    native : LightGBM's name
    shape : the shape of the data
    gain : function from grades to finite gains
    """

    def __init__(self, native: str, shape: Shape, gain: ArrayFunction) -> None:
        self.native: str | None = native
        self.labels: NDArray[Any]
        self.labels, gains = ranks_and_gains(shape.y, gain)
        self.params: dict[str, object] = {"label_gain": gains.tolist()}
        self._data = dataclasses.replace(shape.bare(), y=self.labels.astype(np.float64))
        self._rules = CONVENTIONS["standard"].differing(
            "own gains", gain=lambda ranks: gains[ranks.astype(np.int64)]
        )
        self.gradient = self.hessian = np.empty(0, np.float32)

    def at(self, scores: Floats, tree: int) -> float:  # noqa: ARG002
        """Return 1 - nDCG."""
        return 1 - evaluate(self._data, scores, "nDCG", self._rules)["nDCG"]


def ranks_and_gains(y: Floats, gain: ArrayFunction) -> tuple[NDArray[np.int32], Floats]:
    """Return the rank of each grade among those that occur, and the gain of each rank, at most 1.

    With more than 1,000 different grades, gains are rounded to thousandths of the largest gain, and
    grades with the same rounded gain share a rank.

    >>> ranks, gains = ranks_and_gains(np.array([0.0, 2.0, 1.0]), lambda grades: grades)
    >>> ranks.tolist(), gains.tolist()
    ([0, 2, 1], [0.0, 0.5, 1.0])
    """
    grades, ranks = np.unique(y, return_inverse=True)
    gains = np.asarray(gain(grades), np.float64)
    if not np.isfinite(gains).all() or (gains < 0).any() or (np.diff(gains) < 0).any():
        raise DataError(
            "gains must be finite and at least 0, and must not fall when grades rise; found "
            f"{gains[:10].tolist()} for grades {grades[:10].tolist()}"
        )
    gains = gains / max(gains.max(initial=0), np.finfo(np.float64).tiny)
    if len(grades) > _MAX_GRADES:
        rounded = np.round(gains * _MAX_GRADES) / _MAX_GRADES
        gains, groups = np.unique(rounded, return_inverse=True)
        ranks = groups[ranks]
    return ranks.astype(np.int32), gains
