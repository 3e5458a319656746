"""A linear ranker for any smooth convex loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rankloop.exceptions import DataError
from rankloop.losses.registry import smooth_loss
from rankloop.losses.whole import has_compiled_version
from rankloop.rankers.batch.lbfgs import descend
from rankloop.rankers.batch.linear import ConvexRanker
from rankloop.rankers.search import Range

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats, Loss
    from rankloop.rankers.batch.loss_sum import LossSum
    from rankloop.rankers.search import Search


@dataclass(eq=False, repr=False)
class LossLinear(ConvexRanker):
    """A linear ranker that minimises a loss, which is given by its name.

    |w|^2 / 2 + C sum over queries of the loss of the scores s = X w.

    With `listnet`, `logistic` and `squared-hinge` it learns the same as :class:`ListNet`,
    :class:`RankNet` and :class:`RankSVM`, by Newton steps. Your own loss needs only a gradient, and
    is minimised by L-BFGS.

    Parameters
    ----------
    loss : the name of a smooth convex loss: `logistic`, `squared-hinge`, `listnet`, `xendcg`, or
        your own (see :func:`rankloop.losses.register_loss`), which cannot use document weights
    C : weight of the loss relative to the penalty, above 0; losses over pairs need small values
    tolerance : stop when a round is expected to lower the objective (with your own loss: lowers it)
        by less than this fraction
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`; without patience it
        runs to the optimum

    Attributes
    ----------
    weights_ : (d,) the weights

    Notes
    -----
    Cost: O(n d) per product with the Hessian, about 10 products, in addition to the loss. Your own
    loss: O(n d) per round, and one call of the loss per query. Scale raw counts first.

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> data = separable(50, np.random.default_rng(0), n_features=3).data
    >>> LossLinear("logistic").fit(data).explain()[0]["feature"]
    '3'
    """

    loss: str = "logistic"
    C: float = field(default=1e-2, kw_only=True)

    search_space: ClassVar[Mapping[str, Search]] = {"C": Range(1e-6, 1e2, points=17, log=True)}

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        if not self._loss().convex:
            raise DataError(
                f"the loss {self.loss!r} is not convex, so a linear ranker may find no optimum; "
                "use LossBoost"
            )

    def _loss(self) -> Loss:
        return smooth_loss(self.loss)

    def _solve(self, total: LossSum) -> Iterator[float]:
        if has_compiled_version(self._loss()):
            yield from super()._solve(total)
            return

        def objective(w: Floats) -> tuple[float, Floats]:
            value, slope = total.at(w)
            return float(w @ w / 2 + self.C * value), w + self.C * slope

        for w, value in descend(objective, self.weights_, self.tolerance):
            self.weights_ = w
            yield value
