"""Inputs of rankers: data sets, or arrays that become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import check_not_empty
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def as_dataset(
    X: object,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    allow_nan: bool = False,
) -> QueryDataset:
    """Return a data set unchanged, or make one from rows, with queries from `qid` or `group`."""
    if isinstance(X, QueryDataset):
        if any(given is not None for given in (y, qid, group, sample_weight, query_weight)):
            raise DataError(
                "a QueryDataset contains its own grades, queries and weights; pass it without "
                "y, qid, group and weights"
            )
        return X
    if y is None:
        raise DataError(
            "learning requires y to be passed, but the target y is None: give one grade per row"
        )
    if qid is None and group is None:
        raise DataError(
            "which rows belong to which query is not known: pass qid=, one query id per row, or "
            "group=, the number of rows of each query. If all rows are one query, pass "
            "group=[len(y)], or call learn(X, y)"
        )
    return QueryDataset.from_arrays(
        X,
        y,
        qid=qid,
        group=group,
        sample_weight=sample_weight,
        query_weight=query_weight,
        allow_nan=allow_nan,
    )


def training_data(*given: Any, **options: Any) -> QueryDataset:
    """Return the data for `fit`: as :func:`as_dataset`, but it must have rows and nonzero weights.

    A stream may begin without rows, so `partial_fit` allows this. A call of `fit` without rows is
    probably a mistake: the wrong file was read, or too many rows were dropped.
    """
    data = as_dataset(*given, **options)
    check_not_empty(data.X)
    for name, weights in (("document", data.sample_weight), ("query", data.query_weight)):
        if weights is not None and not weights.any():
            raise DataError(
                f"every {name} weight is zero, so there is nothing to learn from; give other "
                "weights, or no weights"
            )
    return data
