"""Sparse rows: which rankers take them, and blocks in which others score them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.memory import show_size
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.sparse_rows import SparseRows

TAKE_SPARSE = (
    "Slam, Perceptron, MinimaxPerceptron, OnlineListNet, OnlineXENDCG, PRank, SolarI, "
    "SolarII(covariance='diagonal'), RankSVM, ListNet, RankNet(hidden=0), XENDCG and LossLinear"
)
"""The rankers that learn from sparse rows, in words."""

BLOCK = 1 << 22
"""The number of values in a dense block: 16 MB, unless a single query is larger."""


def is_large_and_sparse(X: Any) -> bool:
    """Whether this is a scipy sparse matrix or array whose dense form exceeds a block."""
    return hasattr(X, "tocsr") and len(X.shape) == 2 and X.shape[0] * X.shape[1] > BLOCK


def needs_dense_rows(ranker: str, X: SparseRows) -> DataError:
    """Return the error for sparse rows that a ranker does not take."""
    n, d = X.shape
    return DataError(
        f"{ranker} needs dense rows, but these are sparse: {n:,} rows of {d:,} features with "
        f"{X.nnz:,} nonzeros. {TAKE_SPARSE} take sparse rows. A dense matrix would take "
        f"{show_size(4 * n * d)}: data.to_dense() or X.toarray() makes one"
    )


def query_blocks(offsets: NDArray[np.int64], n_features: int) -> Iterator[tuple[int, int]]:
    """Give ranges of queries whose dense rows fill about a block, in order; at least one query.

    >>> list(query_blocks(np.array([0, 2, 3, 9]), BLOCK // 3))
    [(0, 2), (2, 3)]
    """
    most, first = max(1, BLOCK // max(n_features, 1)), 0
    while first < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        end = max(end, first + 1)
        yield first, end
        first = end
