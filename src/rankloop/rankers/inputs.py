"""Inputs of rankers: data sets, or arrays that become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import Grouping, as_ids, group_by_id, group_by_size
from rankloop.data.validation import check_not_empty, column_names
from rankloop.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from rankloop.data.grouping import Ids


_FIRST = 64  # queries that are looked at before all others


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


def find_queries(X: Any, features: Sequence[str], name: str | None = None) -> Ids | None:
    """Return the query ids of a frame or table: in the column of this name, or of a usual one.

    A feature is no query id. None if there is no such column, or if it is one of several.
    """
    names = column_names(X)
    if names is None:
        return None
    from rankloop.data.io.tables.roles import ROLES

    free = [column for column in names if column not in features]
    fit = [column for column in free if column == name]
    fit = fit or [column for column in free if column.lower() in ROLES["query"]]
    return as_ids(X[fit[0]], f"column {fit[0]!r}") if len(fit) == 1 else None


def queries_of(X: Any, n: int, features: Sequence[str], name: str | None) -> Grouping:
    """Return n rows grouped by query as a data set or the ids of a frame say, else as one query."""
    if isinstance(X, QueryDataset):
        return Grouping(X.offsets, X.query_ids, None)
    ids = find_queries(X, features, name)
    return group_by_size([n], n) if ids is None else group_by_id(ids)


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


def validation_data(valid: object, names: tuple[str, ...] | None) -> QueryDataset | None:
    """Return validation data as a data set: a frame or table must have the features of these names.

    Its grades and query ids are found by the usual names of their columns.
    """
    if valid is None or isinstance(valid, QueryDataset):
        return valid
    if column_names(valid) is None:
        raise DataTypeError(
            f"valid must be a QueryDataset, or a frame with the features and with columns such as "
            f"'label' and 'qid'; found {type(valid).__name__}: QueryDataset.from_arrays(X, y, "
            "qid=...) makes one of arrays"
        )
    from rankloop.data.io.tables.reading import from_table

    return from_table(valid, features=names, allow_nan=True)


def check_differences(data: QueryDataset, name: str) -> None:
    """Raise if no query has two documents with different grades, which every order needs."""
    for n in (min(_FIRST, len(data)), len(data)):  # nearly always the first queries decide
        y = data.y[: data.offsets[n]]
        judged = y >= 0
        y, queries = y[judged], np.repeat(np.arange(n), data.sizes[:n])[judged]
        if ((y[1:] != y[:-1]) & (queries[1:] == queries[:-1])).any():
            return
    if data.n_documents == 1:
        found = "there is only 1 sample"
    elif not len(y):
        found = "no document is judged: every grade is below 0"
    elif len(np.unique(queries)) == len(y):
        found = "each query has only one judged document"
    elif (y == y[0]).all():
        apart = "" if judged.all() else ", apart from those below 0, which mean unjudged"
        found = f"every grade is {y[0]:g}{apart}"
    else:
        found = "in each query, all judged documents have the same grade"
    raise DataError(
        f"{found}, so {name} cannot learn which of two documents is better; check which columns "
        "are the grades and the query ids (rankloop.summarise shows both)"
    )
