"""Splits into training, validation and test data; a query is never divided."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.grouping import group_by_id
from rankloop.data.validation import check_rng
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils.metadata_routing import MetadataRequest

    from rankloop.data.dataset import QueryDataset


def random_split(
    dataset: QueryDataset,
    fractions: Sequence[float] = (0.6, 0.2, 0.2),
    *,
    rng: np.random.Generator,
) -> tuple[QueryDataset, ...]:
    """Put queries into random parts of these sizes; every query is in exactly one part.

    A part has its fraction of the queries, rounded, and at least one. Within a part, queries keep
    their order. It copies the data.

    Parameters
    ----------
    fractions : two or more, each above 0, that add up to 1
    rng : random generator

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((10, 1)), np.zeros(10), qid=range(10))
    >>> [len(part) for part in random_split(data, rng=np.random.default_rng(0))]
    [6, 2, 2]
    """
    check_rng(rng)
    counts = _part_sizes(dataset.n_queries, fractions)
    parts = np.split(rng.permutation(dataset.n_queries), np.cumsum(counts)[:-1])
    return tuple(dataset.select(np.sort(part)) for part in parts)


def split_in_order(
    dataset: QueryDataset, fractions: Sequence[float] = (0.6, 0.2, 0.2)
) -> tuple[QueryDataset, ...]:
    """Put the first queries into the first part, those that follow into the next, and so on.

    Use it if queries are in order of time: then a ranker is measured on queries that came after
    those that it learnt from. Parameters and sizes of the parts are as in :func:`random_split`.

    >>> from rankloop.data.dataset import QueryDataset
    >>> data = QueryDataset.from_arrays(np.zeros((5, 1)), np.zeros(5), qid=range(5))
    >>> [part.query_ids.tolist() for part in split_in_order(data, (0.8, 0.2))]
    [[0, 1, 2, 3], [4]]
    """
    ends = np.cumsum(_part_sizes(dataset.n_queries, fractions)).tolist()
    starts = [0, *ends[:-1]]
    return tuple(dataset.select(slice(*part)) for part in zip(starts, ends, strict=True))


def _part_sizes(n: int, fractions: Sequence[float]) -> NDArray[np.int64]:
    """Return how many of n queries each part gets: its fraction, rounded, and at least one."""
    shares = np.asarray(fractions, np.float64)
    if (
        shares.ndim != 1
        or len(shares) < 2
        or not (shares > 0).all()
        or abs(shares.sum() - 1) > 1e-9
    ):
        raise DataError(
            f"fractions must be two or more numbers above 0 that add up to 1; found {fractions}"
        )
    if n < len(shares):
        raise DataError(f"{n} queries cannot be split into {len(shares)} parts")
    counts: NDArray[np.int64] = np.diff(np.rint(np.r_[0.0, np.cumsum(shares)] * n)).astype(np.int64)
    while (counts == 0).any():
        counts[counts.argmax()] -= 1
        counts[counts.argmin()] += 1
    return counts


def k_folds(
    dataset: QueryDataset, k: int, rng: np.random.Generator
) -> Iterator[tuple[QueryDataset, QueryDataset]]:
    """Yield k pairs (train, test); every query is tested exactly once.

    The sizes of test parts differ by at most one query. Each pair is copied when it is yielded.

    Parameters
    ----------
    k : from 2 to the number of queries
    rng : random generator, which is used before the first pair
    """
    check_rng(rng)
    _check_folds(k, dataset.n_queries)
    tests = np.array_split(rng.permutation(dataset.n_queries), k)
    masks = (np.isin(np.arange(dataset.n_queries), test) for test in tests)
    return ((dataset.select(~mask), dataset.select(mask)) for mask in masks)


class QueryKFold:
    """Split rows into folds of whole queries, for scikit-learn's `cv=`.

    Pass the query ids as `groups`, in any row order. The sizes of test parts differ by at most one
    query.

    Parameters
    ----------
    n_splits : from 2 to the number of queries
    shuffle : whether to use random queries; otherwise test parts are consecutive queries
    random_state : a random seed (the same folds every time) or a Generator (new ones every time);
        required with `shuffle`, not allowed without

    Examples
    --------
    >>> for train, test in QueryKFold(2).split(np.zeros((4, 1)), groups=["b", "a", "b", "c"]):
    ...     print(train, test)
    [3] [0 1 2]
    [0 1 2] [3]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return self.n_splits

    def split(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002
        groups: ArrayLike | None = None,
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield the row numbers of each fold's training and test part."""
        if groups is None:
            raise DataError("QueryKFold needs the query ids of the rows: pass them as groups=")
        if self.shuffle != (self.random_state is not None):
            raise DataError(
                "random_state and shuffle=True go together; found "
                f"shuffle={self.shuffle}, random_state={self.random_state}"
            )
        grouping = group_by_id(groups)
        n_rows, n_queries = grouping.offsets[-1], len(grouping.ids)
        expected = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != expected:
            raise DataError(f"groups has {n_rows:,} values for {expected:,} rows")
        _check_folds(self.n_splits, n_queries)
        order = np.arange(n_queries)
        if self.shuffle:
            order = np.random.default_rng(self.random_state).permutation(n_queries)
        query_of_row = np.repeat(np.arange(n_queries), np.diff(grouping.offsets))
        if grouping.rows is not None:
            query_of_row[grouping.rows] = query_of_row.copy()
        for test in np.array_split(order, self.n_splits):
            tested = np.isin(query_of_row, test)
            yield np.flatnonzero(~tested), np.flatnonzero(tested)

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn that `split` needs `groups`; only scikit-learn calls this."""
        # its own splitter by groups says just that, and is loaded by whoever asks
        return sys.modules["sklearn.model_selection"].GroupKFold().get_metadata_routing()

    def __repr__(self) -> str:
        return (
            f"QueryKFold(n_splits={self.n_splits}, shuffle={self.shuffle}, "
            f"random_state={self.random_state})"
        )


def _check_folds(k: int, n_queries: int) -> None:
    if not isinstance(k, int | np.integer) or not 2 <= k <= n_queries:
        raise DataError(
            f"the number of folds must be a whole number from 2 to the number of queries, "
            f"{n_queries}; found {k!r}"
        )
