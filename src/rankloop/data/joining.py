"""Join several data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT, group_runs
from rankloop.data.memory import show_size
from rankloop.data.sparse_rows import SparseRows, as_dense_type, stack_rows
from rankloop.exceptions import DataError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from numpy.typing import NDArray

    from rankloop.features.columns import Features

    S = TypeVar("S", bound=np.generic)


def concat(datasets: Sequence[QueryDataset]) -> QueryDataset:
    """Join data sets; rows with the same query id form one query, wherever they are.

    Features that a part lacks are 0, as in LETOR text. It copies everything. If a part has sparse
    rows, the result has them, too.
    """
    if not datasets:
        raise DataError("concat needs at least one data set")
    return join_and_free(list(datasets))


def join_and_free(datasets: list[QueryDataset]) -> QueryDataset:
    """Join data sets as :func:`concat` does, and empty the list at the same time.

    If no other code holds a part, its features are freed before the next ones are copied, so that
    joining needs the memory of the result and of the largest part.
    """
    if len(datasets) == 1:
        return datasets.pop()
    if len({d.query_ids.dtype for d in datasets}) > 1:
        ids = np.concatenate([d.query_ids.astype(TEXT) for d in datasets])
    else:
        ids = np.concatenate([d.query_ids for d in datasets])
    sizes = np.concatenate([d.sizes for d in datasets])
    keep = sizes > 0
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    width = max(d.n_features for d in datasets)
    lengths = [d.n_documents for d in datasets]
    grouping = group_runs(ids[keep], starts[keep], sum(lengths))
    weights = _concat_optional([d.query_weight for d in datasets], [len(d) for d in datasets], 1.0)
    if weights is not None:
        if len(grouping.ids) < keep.sum():
            raise DataError(
                "a query that has a weight occurs in two parts, so its weight is "
                "ambiguous; keep each query in one part"
            )
        weights = weights[keep]
    y = np.concatenate([d.y for d in datasets])
    doc_ids = _concat_optional([d.doc_ids for d in datasets], lengths, "")
    sample_weight = _concat_optional([d.sample_weight for d in datasets], lengths, 1.0)
    feature_names = next((d.feature_names for d in datasets if d.n_features == width), None)
    features = _one_description(datasets)
    query_name = next((d.query_name for d in datasets if d.query_name is not None), None)
    known = [vars(d).get("has_missing") for d in datasets]
    rows = _rows_of_callers([d.rows for d in datasets], lengths)
    joined = QueryDataset.from_grouping(
        _stack_and_free(datasets, width),
        y,
        grouping,
        doc_ids=doc_ids,
        feature_names=feature_names,
        sample_weight=sample_weight,
        query_weight=weights,
        features=features,
        query_name=query_name,
        has_missing=True if any(known) else None if None in known else False,
        in_place=True,
    )
    return joined if rows is None else replace(joined, rows=joined.from_row_order(rows))


def _one_description(datasets: Sequence[QueryDataset]) -> Features | None:
    """Return the description of the columns if all parts have the same."""
    features = datasets[0].features
    if any(d.features != features for d in datasets):
        raise DataError(
            "the parts have different kinds of columns, or number their categories "
            "differently; read the files of one table together"
        )
    return features


def join_within(datasets: list[QueryDataset], spare: int) -> QueryDataset:
    """Join data sets as :func:`join_and_free` does, if `spare` bytes are enough."""
    if len(datasets) > 1:
        width = max(d.n_features for d in datasets)
        dense = [d for d in datasets if not d.is_sparse]
        wider = sum(4 * d.n_documents * (width - d.n_features) for d in dense)
        if len(dense) < len(datasets):  # all parts and the result at the same time
            wider = sum(d.X.nbytes for d in datasets)
        again = max(d.X.nbytes for d in datasets)
        others = sum(24 * d.n_documents + 200 * len(d) for d in datasets)  # grades, ids, grouping
        if wider + again + others > spare:
            raise MemoryLimitError(
                f"joining {len(datasets)} files takes another "
                f"{show_size(wider + again + others)} of memory, but the limit leaves "
                f"{show_size(spare)}; read them one by one, or raise memory_limit"
            )
    return join_and_free(datasets)


def _stack_and_free(datasets: list[QueryDataset], width: int) -> NDArray[np.float32]:
    if any(d.is_sparse for d in datasets):
        rows = as_dense_type(stack_rows([_sparse(d) for d in datasets], width))
        datasets.clear()
        return rows
    X = np.zeros((sum(d.n_documents for d in datasets), width), np.float32)
    first = 0
    while datasets:
        part = datasets.pop(0).X
        X[first : first + len(part), : part.shape[1]] = part
        first += len(part)
    return X


def _sparse(data: QueryDataset) -> SparseRows:
    return cast("SparseRows", data.to_sparse().X)


def _rows_of_callers(
    parts: Sequence[NDArray[np.int64] | None], lengths: Sequence[int]
) -> NDArray[np.int64] | None:
    """Return the caller's row of each row, for parts one after the other."""
    if all(rows is None for rows in parts):
        return None
    firsts = np.r_[0, np.cumsum(lengths)[:-1]]
    return np.concatenate(
        [
            first + (np.arange(n) if rows is None else rows)
            for rows, n, first in zip(parts, lengths, firsts, strict=True)
        ]
    )


def _concat_optional(
    parts: Sequence[NDArray[S] | None], lengths: Sequence[int], fill: object
) -> NDArray[S] | None:
    known = next((p for p in parts if p is not None), None)
    if known is None:
        return None
    return np.concatenate(
        [
            np.full(n, fill, dtype=known.dtype) if p is None else p
            for p, n in zip(parts, lengths, strict=True)
        ]
    )
