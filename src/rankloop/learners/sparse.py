"""Sparse rows for scoring: made dense a block of whole queries at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.validation import bad_feature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

BLOCK = 1 << 22
"""The number of values in a dense block: 16 MB, unless a single query is larger."""


def is_large_and_sparse(X: Any) -> bool:
    """Whether this is a scipy sparse matrix or array whose dense form exceeds a block."""
    return hasattr(X, "tocsr") and len(X.shape) == 2 and X.shape[0] * X.shape[1] > BLOCK


def refuse_bad_values(X: Any, allow_nan: bool) -> None:
    """Raise if a stored value of a CSR matrix is not finite; the error names its row."""
    with np.errstate(over="ignore"):
        values = X.data.astype(np.float32)
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if bad.any():
        place = int(bad.argmax())
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1
        one = X[[row]].toarray().astype(np.float32)
        raise bad_feature(one, int(X.indices[place]), first_row=row)


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
