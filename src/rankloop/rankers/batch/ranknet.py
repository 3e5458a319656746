"""RankNet: the logistic loss of all pairs, for a linear model or a small neural network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.exceptions import DataError
from rankloop.losses.pairwise import PairwiseLogistic
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.batch.lbfgs import descend
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.batch.network import Network, explain_units, hidden_units
from rankloop.rankers.forms import Array
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.search import Range

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Loss
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.batch.loss_sum import LossSum
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.search import Search


@dataclass(eq=False, repr=False)
class RankNet(ConvexRanker):
    """A ranker that minimises the logistic loss over pairs.

    |w|^2 / 2 + C sum over pairs R_i > R_j of log(1 + exp(-(s_i - s_j))),   s = X w;

    with `hidden` units s = tanh(X V + b) w, and |V|^2 / 2 is added.

    Where we depart: the paper's network always has a hidden layer and is trained by gradient steps
    on one pair or one query at a time, with early stopping. Ours is linear by default, and is
    trained on all data at once, with a small L2 penalty (ridge): the linear model by Newton steps
    to the optimum, and the network with hidden units by L-BFGS to a local optimum near the random
    start. With `patience` and a validation set, training also stops early.

    Parameters
    ----------
    C : weight of the pairs relative to the penalty, above 0; use small values, as there are many
        pairs
    hidden : number of hidden units; 0 gives a linear model
    rounds : maximum number of rounds, with hidden units
    tolerance : stop when a round is expected to lower the objective (with hidden units: lowers it)
        by less than this fraction
    random_state : random seed of the start, with hidden units
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`; without patience it
        runs to the optimum

    Attributes
    ----------
    weights_ : (d,) or (hidden,) the weights w
    hidden_weights_, hidden_bias_ : (d, hidden) and (hidden,) V and b

    Notes
    -----
    Cost: O(n d + n m) per product with the Hessian, with m documents per query; a linear model
    needs about 10 products, and O(n d^2) once (if d is at most 500). With hidden units: O(n d
    hidden + n m) per round and O(n hidden) memory. Scale raw counts first.

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

    C: float = 1e-2
    hidden: int = 0
    rounds: int = 200
    random_state: int = 0

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-6, 1, points=13, log=True)}

    follows_path: ClassVar[bool] = False  # hidden units would continue from another local optimum

    _learns: ClassVar[tuple[str, ...]] = ("weights_", "hidden_weights_", "hidden_bias_")

    hidden_weights_: NDArray[np.float64] = field(init=False)
    hidden_bias_: NDArray[np.float64] = field(init=False)

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        check_whole("hidden", self.hidden, 0)
        check_whole("rounds", self.rounds)
        check_whole("random_state", self.random_state, 0)
        if self.warm_start and self.is_fitted and len(self.hidden_bias_) != self.hidden:
            raise DataError(
                f"warm_start continues from {len(self.hidden_bias_)} hidden units, but hidden is "
                f"{self.hidden}; set warm_start to False to start again"
            )

    def _is_sparse_taken(self) -> bool:
        return self.hidden == 0

    def _loss(self) -> Loss:
        return PairwiseLogistic()

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        rng = np.random.default_rng(self.random_state)
        self.hidden_weights_ = rng.normal(size=(n_features, self.hidden))
        self.hidden_weights_ /= np.sqrt(max(n_features, 1))
        self.hidden_bias_ = np.zeros(self.hidden)
        if self.hidden:
            self.weights_ = rng.normal(size=self.hidden) / np.sqrt(self.hidden)

    def _forms(self, n_features: int) -> dict[str, Form]:
        check_whole("hidden", self.hidden, 0)
        return {
            **super()._forms(n_features),
            "weights_": Array((self.hidden or n_features,)),
            "hidden_weights_": Array((n_features, self.hidden)),
            "hidden_bias_": Array((self.hidden,)),
        }

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        if not self.hidden:
            yield from super()._rounds(data)
            return
        data = keep_usable(data)
        if not data.n_documents:
            return
        network = Network(data, self._loss(), self.C, self.hidden)
        start = Network.pack(self.weights_, self.hidden_bias_, self.hidden_weights_)
        steps = descend(network.at, start, self.tolerance)
        for _, (packed, value) in zip(range(self.rounds), steps, strict=False):
            self.weights_, self.hidden_bias_, self.hidden_weights_ = network.unpack(packed)
            yield value

    def _solve(self, total: LossSum) -> Iterator[float]:
        if self.hidden:
            raise DataError(
                "a RankNet with hidden units learns from one data set in memory; use hidden=0 for "
                "data in parts, or fewer rows"
            )
        return super()._solve(total)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        if not self.hidden_bias_.size:
            return super()._score_rows(X, offsets)
        return np.asarray(hidden_units(X, self.hidden_weights_, self.hidden_bias_) @ self.weights_)

    def explain(self) -> Parts:
        """Return the weights of features, or of hidden units with their features, largest first."""
        self._check_fitted()
        if not self.hidden_bias_.size:
            return super().explain()
        names = [self._feature_name(j) for j in range(self.n_features_in_)]
        return explain_units(self.weights_, self.hidden_bias_, self.hidden_weights_, names)
