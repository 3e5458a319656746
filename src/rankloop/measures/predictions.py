"""Scores that know which rows they belong to, so that no order is mistaken for another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.sparse_rows import SparseRows
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = NDArray[np.float32]


class Predictions(np.ndarray[Any, np.dtype[Any]]):
    """An array of scores that knows the rows which were scored, and the ranker's view of rows.

    It is used and printed as any array, and so is what NumPy makes of it. Multiples, sums and other
    results of elementwise functions still know the rows; slices and permutations do not.
    :func:`rankloop.evaluate` and all else that takes scores for a data set brings them into the
    order of the data set (:meth:`in_order_of`), or raises if they are of other rows. It keeps the
    rows in memory as long as it is used; `numpy.asarray(scores)` is an array that forgets them.
    """

    _rows: tuple[object, Callable[[object], Rows]] | None = None

    @classmethod
    def of(cls, scores: NDArray[Any], X: object, as_rows: Callable[[object], Rows]) -> Self:
        """Return scores of the rows X; `as_rows` turns X or a data set into what was scored."""
        known = np.asarray(scores).view(cls)
        known._rows = X, as_rows
        return known

    @property
    def scored(self) -> object:
        """What was scored, as it was given to the ranker; None if it is not known."""
        return None if self._rows is None else self._rows[0]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a result of NumPy as an array or a number; elementwise functions keep the rows."""
        if return_scalar or array.ndim == 0:
            return array[()]
        parts = [part for part in (context or [0, ()])[1] if isinstance(part, Predictions)]
        rows = {id(part._rows and part._rows[0]) for part in parts}
        if self._rows is None or len(rows) != 1 or array.shape != self.shape:
            return np.asarray(array)
        return self.of(array, *self._rows)

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def in_order_of(self, data: QueryDataset) -> NDArray[Any]:
        """Return the scores in the order of a data set of as many rows.

        Raises
        ------
        DataError
            if they are scores of the same rows in an unknown order, or of other rows.
        """
        values = np.asarray(self)
        if self._rows is None or self._rows[0] is data:
            return values
        X, as_rows = self._rows
        scored, rows = (_rows_or_none(as_rows, given) for given in (X, data))
        if isinstance(X, QueryDataset):
            if _are_same_documents(X, data) or _are_equal(scored, rows):
                return values
            raise DataError(
                f"these are scores of another data set, {X!r}, and not of {data!r}; score this "
                "one: model.predict(data)"
            )
        if _are_equal(scored, rows):
            return values
        if data.rows is None:
            if not _are_permuted(scored, rows):
                return values  # of rows that were changed, which have the order of the data
        elif scored is not None and _are_equal(scored[data.rows], rows):
            return values[data.rows]
        raise DataError(
            "these scores belong to rows in another order than that of the data set, so they would "
            "go to the wrong documents; score the data set: model.predict(data). (If the order is "
            "right and the values of features were changed, pass numpy.asarray(scores))"
        )

    def in_row_order_of(self, judged: QueryDataset) -> NDArray[Any]:
        """Return the scores in the order of the rows that a judged data set was made of.

        Scores of a data set may be meant for grades in its order, or in that of the table which it
        was made of. Which of the two it is shows where the queries and the grades are the same.

        Raises
        ------
        DataError
            if they fit in neither order, or cannot tell the two apart.
        """
        values, scored = np.asarray(self), self.scored
        if not isinstance(scored, QueryDataset) or values.shape != (judged.n_documents,):
            return values
        wanted = _queries_and_grades(judged)
        kinds = [_queries_and_grades(scored), (_queries(scored), scored.y)]
        orders = [scored.in_row_order(values), values]
        if scored.rows is None:
            kinds, orders = kinds[:1], orders[:1]
        same = [
            [np.array_equal(*pair) for pair in zip(wanted, kind, strict=True)] for kind in kinds
        ]
        if [True, True] in same:  # of two such orders, each gives every grade its own score
            return orders[same.index([True, True])]
        for k in (0, 1):  # other grades of the same queries, or other queries
            fit = [order for order, known in zip(orders, same, strict=True) if known[k]]
            if len(fit) == 1:
                return fit[0]
            if fit:
                break
        raise DataError(
            f"these are scores of {scored!r}, and in which order its documents stand beside the "
            "grades is not known; evaluate(data, model.predict(data)) measures a data set. For "
            "grades in the order of the table that it was made of, pass "
            "data.in_row_order(numpy.asarray(scores)); in its own order, numpy.asarray(scores)"
        )


def _queries_and_grades(data: QueryDataset) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the query and the grade of each row, in the order of the caller."""
    return _by_appearance(data.in_row_order(_queries(data))), data.in_row_order(data.y)


def _queries(data: QueryDataset) -> NDArray[np.int64]:
    return _by_appearance(np.repeat(np.arange(len(data)), data.sizes))


def _by_appearance(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return groups with numbers in order of first appearance, so that equal groups are equal."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _rows_or_none(as_rows: Callable[[object], Rows], X: object) -> Rows | None:
    """Return rows as a ranker sees them; None if they are of other features, or sparse."""
    try:
        return as_rows(X)
    except DataError:
        return None


def _are_same_documents(a: QueryDataset, b: QueryDataset) -> bool:
    """Whether two data sets have the same queries and, in the same order, the same grades."""
    return all(
        np.array_equal(one, other)
        for one, other in ((a.offsets, b.offsets), (a.query_ids, b.query_ids), (a.y, b.y))
    ) and (a.doc_ids is None or b.doc_ids is None or np.array_equal(a.doc_ids, b.doc_ids))


def _are_equal(a: Rows | None, b: Rows | None) -> bool:
    """Whether rows, dense or sparse, are equal; missing values equal each other."""
    if a is None or b is None or a.shape != b.shape or type(a) is not type(b):
        return False
    if isinstance(a, SparseRows):
        difference = a.to_scipy() - b.to_scipy()
        return not difference.count_nonzero()
    return np.array_equal(a, b, equal_nan=True)


def _are_permuted(a: Rows | None, b: Rows | None) -> bool:
    """Whether two matrices have the same rows in another order, but for chance."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape != b.shape:
        return False
    return np.array_equal(np.sort(_digests(a)), np.sort(_digests(b)))


def _digests(X: Rows) -> NDArray[np.uint64]:
    """Return a number for each row that depends on all its bits."""
    digests = np.zeros(len(X), np.uint64)
    for column in np.ascontiguousarray(X).view(np.uint32).T:
        digests = (digests ^ column) * np.uint64(0x9E3779B97F4A7C15)
        digests ^= digests >> np.uint64(29)
    return digests
