"""Linear batch rankers: their weights minimise a convex loss plus an L2 penalty (ridge)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.mapped_parts import in_parts
from rankloop.data.sparse_rows import core_rows
from rankloop.rankers.batch.base import BatchRanker, keep_usable, usable_rows
from rankloop.rankers.batch.loss_sum import LentLoss, PartLoss
from rankloop.rankers.batch.solver import Ridge, minimise
from rankloop.rankers.explaining import weight_parts
from rankloop.rankers.forms import Array
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Loss
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.batch.loss_sum import LossSum
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.traits import Traits


@dataclass(eq=False, repr=False, kw_only=True)
class ConvexRanker(BatchRanker):
    """A linear ranker with scores X @ weights_, where the weights minimise a convex objective.

    |w|^2 / 2 + C sum of the loss over queries.

    A subclass defines the loss (:meth:`_loss`). In addition to the parameters of
    :class:`BatchRanker` it has:

    C : weight of the loss relative to the penalty, above 0
    tolerance : stop when a round is expected to lower the objective by less than this fraction

    Attributes
    ----------
    weights_ : (d,) the weights
    """

    C: float = 1.0
    tolerance: float = 1e-8
    valid_measure: str | Measure = "nDCG@10"
    patience: int | None = None
    warm_start: bool = False
    refit: bool = False
    weights_: NDArray[np.float64] = field(init=False)

    _learns: ClassVar[tuple[str, ...]] = ("weights_",)
    follows_path: ClassVar[bool] = True
    traits: ClassVar[Traits] = replace(BatchRanker.traits, takes_sparse=True)

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss of a query."""

    def _check(self, data: QueryDataset) -> None:  # noqa: ARG002
        check_number("C", self.C, above=True)
        check_number("tolerance", self.tolerance, 0, 1, above=True)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.weights_ = np.zeros(n_features)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "weights_": Array((n_features,))}

    def _usable_data(self, data: QueryDataset) -> QueryDataset:
        return data  # `part_loss` leaves out rows of each part

    def _weigh(self, data: QueryDataset) -> QueryDataset:
        """Return the data with the weights that queries have in the loss; override it to set them.

        They may depend on their own query only, because a part has only some of the queries.
        """
        return data

    def part_loss(self, data: QueryDataset) -> PartLoss:
        """Return the loss of some of the queries; the objective is the sum over all parts."""
        return PartLoss(self._weigh(keep_usable(data)), self._loss())

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        parts = list(in_parts(data))
        if len(parts) > 1:
            return self._solve(LentLoss(parts, self.part_loss))
        return self._solve(self.part_loss(data)) if usable_rows(data).any() else iter(())

    def _solve(self, total: LossSum) -> Iterator[float]:
        """Improve the weights; yield the objective after each round."""
        for point in minimise(Ridge(total, self.C), self.weights_, self.tolerance):
            self.weights_ = point.w
            yield point.objective

    def fit_sum(
        self,
        total: LossSum,
        like: QueryDataset,
        *,
        n_queries: int,
        valid: QueryDataset | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Fit to a loss that is summed elsewhere, from parts that :meth:`part_loss` was made for.

        Parameters
        ----------
        total : the sum over the parts
        like : any data set with the same features
        n_queries : the number of queries in all parts
        valid, on_round : as in `fit`
        """

        def rounds(new: Self) -> Iterator[None]:
            new._begin(like, valid, self.warm_start)
            new.n_queries_seen_ = n_queries
            yield from new._run(new._solve(total), valid, on_round)

        return self._learn_on_copy(rounds, on_round, None)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:  # noqa: ARG002
        """Score checked rows."""
        return _core.row_products(core_rows(X), self.weights_, threads())

    def explain(self) -> Parts:
        """Return the weight of each feature, the largest absolute value first."""
        self._check_fitted()
        return weight_parts(self, self.weights_)
