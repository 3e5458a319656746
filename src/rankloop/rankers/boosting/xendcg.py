"""XE_NDCG with boosted trees: XE_NDCG-MART."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.boosting.objectives import Shape, SoftmaxObjective
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.rounds import Round

_BEST_OF = re.compile(r"best-of-([1-9]\d*)")
_LARGEST_NATIVE = 31


@dataclass(eq=False, repr=False)
class XENDCGBoost(BoostedRanker):
    """Trees that minimise XE_NDCG, a cross entropy that bounds nDCG.

    -sum_i phi_i log softmax(s)_i,   phi_i = (2^R_i - gamma_i) / sum_j (2^R_j - gamma_j).

    A tree is grown on the numerator of the last equation of section 4.4, with (I + S + S^2) of the
    series for the inverse Hessian, and on rho (1 - rho).

    The choices for gamma are:

    - `random`: drawn between 0 and 1 for each document, with new draws for each tree. LightGBM's
      `rank_xendcg` does this, and is used where possible: for whole grades up to 31 and documents
      of equal weight. Otherwise the compiled core does the same, with the same random numbers.
    - a number from 0 to 1, used for all documents; 1 makes phi proportional to the gains of nDCG.
    - `best-of-10`, as published: fits ten models (or another number) with different random gammas,
      and keeps the best on the validation set.
    - `tight`: for each tree, the gammas that make the bound on nDCG tightest at the current scores.

    The bound holds for every gamma in [0, 1]^m, and the bounded quantity does not depend on gamma.
    So, with all its inequalities taken together, the bound is tightest where the cross entropy is
    smallest. The cross entropy is a mean of the costs -log rho_i with weights between 2^R_i - 1 and
    2^R_i. It is smallest if gamma_i is 0 for costs below this mean and 1 for the others, which
    takes a few passes over the query to find. Minimising only the Jensen gap, as section 4.2
    proposes, leaves the other inequalities loose.

    Where we depart: a document with weight 2 counts as two documents; grades may be real numbers of
    any size.

    Parameters
    ----------
    gamma : see above
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state, start : see :class:`BoostedRanker`
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(n) per tree for the gradients, in addition to O(n d) for LightGBM; memory: that of
    LightGBM, and 8 bytes per document.

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

    gamma: float | str = "random"

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Run the rounds; if gamma asks for it, fit several models and keep the best."""
        models = self._best_of()
        if models is None:
            yield from super()._fit(data, valid, on_round)
            return
        if valid is None:
            raise DataError(
                f"gamma={self.gamma!r} chooses a model on validation data; pass valid=, or --valid "
                "on the command line"
            )
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
        self._restore(kept._state())
        yield

    def _best_of(self) -> int | None:
        match = _BEST_OF.fullmatch(self.gamma) if isinstance(self.gamma, str) else None
        return None if match is None else int(match[1])

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
        serves = self._kind() == "random" and whole and shape.sample_weight is None
        serves = serves and self.allow_native
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
