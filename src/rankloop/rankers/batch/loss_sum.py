"""The loss of a linear ranker, summed over queries: in memory, on the disk, or elsewhere.

A solver sees an objective as a sum over *parts*, which are data sets of whole queries. Value,
gradient, products with the Hessian and its spread are computed for each part and added up in the
order of the parts. So the optimum is that of all data at once, and every bit depends on the parts
alone, not on where or when they are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from rankloop import _core
from rankloop._utils.processors import threads
from rankloop.data.mapped_parts import borrow
from rankloop.data.sparse_rows import core_rows
from rankloop.losses.by_query import make_summed_loss
from rankloop.losses.whole import WholeLoss
from rankloop.rankers.batch.preconditioner import spread_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats, Loss

    Value = tuple[float, Floats]
    _T = TypeVar("_T", Floats, Value)


class LossSum(Protocol):
    """A loss summed over queries, as a function of the weights w, with scores X w."""

    def at(self, w: Floats) -> Value:
        """Return the value and the gradient."""

    def product(self, w: Floats, v: Floats) -> Floats:
        """Return the Hessian at w times v."""

    def spread(self, w: Floats) -> Floats:
        """Return what a preconditioner is made of; see :func:`spread_of`."""


class PartLoss:
    """The loss of the queries of one data set in memory.

    It remembers the scores of the last w. Features are read as float32 and summed in float64, in an
    order that does not depend on the number of threads.
    """

    def __init__(self, data: QueryDataset, loss: Loss) -> None:
        self._data, self._loss = data, loss
        self._X = core_rows(data.X)
        self._whole = make_summed_loss(loss, data)
        self._w: Floats | None = None

    def at(self, w: Floats) -> Value:
        """Return the value and the gradient."""
        value, slope = self._whole.at(_core.row_products(self._X, w, threads()))
        self._w = w
        return value, _core.column_products(self._X, slope, threads())

    def product(self, w: Floats, v: Floats) -> Floats:
        """Return the Hessian at w times v."""
        self._move(w)
        assert isinstance(self._whole, WholeLoss)  # the solver for other losses needs no products
        bent = self._whole.curvature(_core.row_products(self._X, v, threads()))
        return _core.column_products(self._X, bent, threads())

    def spread(self, w: Floats) -> Floats:
        """Return what a preconditioner is made of."""
        self._move(w)
        return spread_of(self._data, self._whole.diagonal())

    def _move(self, w: Floats) -> None:
        if self._w is not w and (self._w is None or not np.array_equal(self._w, w)):
            self._whole.at(_core.row_products(self._X, w, threads()))
            self._w = w

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._data, self._loss)

    def __sizeof__(self) -> int:
        return self._data.__sizeof__()


class LentLoss:
    """The loss of parts that are on the disk, of which one at a time is in memory.

    Cost: half as much again as in memory, because each product computes the scores at w again, and
    reading the file for each.
    """

    def __init__(
        self, parts: Sequence[QueryDataset], part_loss: Callable[[QueryDataset], PartLoss]
    ) -> None:
        self._parts, self._part_loss = parts, part_loss

    def at(self, w: Floats) -> Value:
        """Return the value and the gradient."""
        return add_up(self._each(lambda one: one.at(w)))

    def product(self, w: Floats, v: Floats) -> Floats:
        """Return the Hessian at w times v."""
        return add_up(self._each(lambda one: one.product(w, v)))

    def spread(self, w: Floats) -> Floats:
        """Return what a preconditioner is made of."""
        return add_up(self._each(lambda one: one.spread(w)))

    def _each(self, what: Callable[[PartLoss], _T]) -> Iterable[_T]:
        for part in self._parts:
            with borrow(part):
                yield what(self._part_loss(part))


def add_up(found: Iterable[_T]) -> _T:
    """Add up what the parts gave, in their order.

    >>> add_up([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).tolist()
    [4.0, 6.0]
    """
    terms = iter(found)
    total = next(terms)
    for term in terms:
        if isinstance(total, tuple):
            total = (total[0] + term[0], total[1] + term[1])
        else:
            total = total + term
    return total
