"""XE_NDCG with boosted trees: XE_NDCG-MART."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError
from rankloop.learners.base import training_data
from rankloop.learners.boosting.base import BoostedRanker
from rankloop.learners.boosting.objectives import Shape, SoftmaxObjective
from rankloop.learners.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.batch.base import Round
    from rankloop.metrics.measures import Measure

_BEST_OF = re.compile(r"best-of-([1-9]\d*)")
_LARGEST_NATIVE = 31


class XENDCGBoost(BoostedRanker):
    """Trees of the least XE_NDCG, the cross entropy that bounds nDCG.

    -sum_i phi_i log softmax(s)_i,   phi_i = (2^R_i - gamma_i) / sum_j (2^R_j - gamma_j).

    A tree is grown on the numerator of section 4.4's last equation, (I + S + S^2) of the series for
    the inverse Hessian, and on rho (1 - rho).

    What gamma may be:

    - `random`: drawn from 0 to 1 for each document, anew for each tree. LightGBM's own
      `rank_xendcg` does it, and is used where it serves: whole grades up to 31, documents of equal
      weight. Elsewhere the compiled core does the same, draw by draw.
    - a number from 0 to 1, the same for all; 1 makes phi proportional to the gains of nDCG.
    - `best-of-10`, as published: so many models with other draws, the best on the validation set.
    - `tight`: for each tree, the gammas that make the bound on nDCG tightest at the scores so far.

    The bound holds for every gamma in [0, 1]^m, and what it bounds does not depend on gamma: so the
    tightest one, all its inequalities taken together, is the one of the least cross entropy. That
    is a mean of the costs -log rho_i with weights between 2^R_i - 1 and 2^R_i: it is least where
    gamma_i is 0 for costs below the mean itself and 1 for others, found in some passes over the
    query. The Jensen gap alone, which section 4.2 proposes, leaves the other inequalities loose.

    Where we depart: a document of weight 2 counts as two; grades may be real and of any size.

    Parameters
    ----------
    gamma : see above
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state : see :class:`BoostedRanker`
    metric, patience, warm_start : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(n) a tree for the gradients, beside O(n d) for LightGBM; memory: LightGBM's, and 8 bytes
    a document.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> ranker = XENDCGBoost(trees=20).fit(data)
    >>> ranker.explain()[0]["feature"]
    '3'

    References
    ----------
    Bruch, An alternative cross entropy loss for learning-to-rank (2021): Definition 1, Theorem 1,
    sections 4.2, 4.4 and 5.2.
    """

    def __init__(
        self,
        gamma: float | str = "random",
        trees: int = 300,
        rate: float = 0.05,
        leaves: int | None = None,
        min_data_in_leaf: int | None = None,
        feature_fraction: float = 1.0,
        lambda_l2: float = 0.0,
        increasing: Sequence[int | str] = (),
        decreasing: Sequence[int | str] = (),
        categorical: Sequence[int | str] = (),
        params: Mapping[str, Any] | None = None,
        metric: str | Measure = "nDCG@10",
        convention: str = "standard",
        patience: int | None = 50,
        warm_start: bool = False,
        random_state: int = 0,
    ) -> None:
        self.gamma = gamma
        self.trees = trees
        self.rate = rate
        self.leaves = leaves
        self.min_data_in_leaf = min_data_in_leaf
        self.feature_fraction = feature_fraction
        self.lambda_l2 = lambda_l2
        self.increasing = increasing
        self.decreasing = decreasing
        self.categorical = categorical
        self.params = params
        self.metric = metric
        self.convention = convention
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: QueryDataset | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Learn from a data set: see :meth:`BatchRanker.fit`."""
        rest = {"sample_weight": sample_weight, "query_weight": query_weight}
        models = self._best_of()
        if models is None:
            return super().fit(X, y, qid=qid, group=group, valid=valid, on_round=on_round, **rest)
        if valid is None:
            raise DataError(f"gamma={self.gamma!r} chooses a model by validation: pass valid=")
        data = training_data(X, y, qid, group, **rest, allow_nan=True)
        best, kept = -np.inf, None
        for k in range(models):
            reached: list[float] = [-np.inf]

            def watch(done: Round, reached: list[float] = reached) -> None:
                reached.append(-np.inf if done.valid is None else done.valid)
                if on_round is not None:
                    on_round(done)

            model = copy.deepcopy(self)
            model.set_params(gamma="random", random_state=self.random_state + k * 2**20)
            model.fit(data, valid=valid, on_round=watch)
            last = reached[-1] if self.patience is None else max(reached)
            if kept is None or last > best:
                best, kept = last, model
        assert kept is not None
        with self._writing:
            new = self._twin()
            new._take_over(kept.learnt())
            self._become(new)
        return self

    def _best_of(self) -> int | None:
        found = _BEST_OF.fullmatch(self.gamma) if isinstance(self.gamma, str) else None
        return None if found is None else int(found[1])

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        if isinstance(self.gamma, str):
            if self.gamma not in ("random", "tight") and self._best_of() is None:
                raise DataError(
                    "gamma must be random, tight, best-of-10 or a number from 0 to 1; found "
                    f"{self.gamma!r}"
                )
        else:
            check_number("gamma", self.gamma, 0, 1)

    def _objective(self, data: QueryDataset) -> SoftmaxObjective:
        shape = Shape.of(data)
        whole = bool((data.y == np.floor(data.y)).all()) and data.y.max() <= _LARGEST_NATIVE
        serves = self._kind() == "random" and whole and shape.doc_weights is None
        return self._softmax(shape, "rank_xendcg" if serves else None)

    def _step(self, data: QueryDataset) -> SoftmaxObjective:
        return self._softmax(Shape.of(data))

    def _kind(self) -> str:
        if not isinstance(self.gamma, str):
            return "number"
        return "tight" if self.gamma == "tight" else "random"

    def _softmax(self, shape: Shape, native: str | None = None) -> SoftmaxObjective:
        gamma = 1.0 if isinstance(self.gamma, str) else float(self.gamma)
        seed = self.random_state
        return SoftmaxObjective(shape, True, self._kind(), gamma, seed, native=native)
