"""Parts of a mapped data set: views of whole queries, whose memory can be given back.

The features of a mapped data set (:func:`rankloop.data.io.mapped.read_mapped`) are on the disk, and
the system reads them when they are used. Code that uses them part by part, and gives the pages of
each part back, needs memory for one part, however large the file is.
"""

from __future__ import annotations

import mmap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.sparse_rows import SparseRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

PART_BYTES = 2**26
"""The size of a part: large enough for all threads, small beside any memory."""


def is_mapped(data: QueryDataset) -> bool:
    """Whether the features are on the disk, and are read when they are used."""
    return isinstance(_arrays(data)[0], np.memmap)


def _arrays(data: QueryDataset) -> tuple[NDArray[np.generic], ...]:
    """Return the arrays that the features are in, as far as their rows reach."""
    X: Any = data.X
    return (X.values, X.own_indices) if isinstance(X, SparseRows) else (X,)


def _bytes_by_query(data: QueryDataset) -> NDArray[np.int64]:
    X: Any = data.X
    if isinstance(X, SparseRows):
        return 8 * np.diff(X.indptr[data.offsets]) + 8 * data.sizes
    return 4 * data.n_features * data.sizes


def in_parts(
    data: QueryDataset,
    part_bytes: int = PART_BYTES,
    order: NDArray[np.int64] | None = None,
) -> Iterator[QueryDataset]:
    """Divide a mapped data set into parts of whole queries; one in memory is one part.

    A part has at most `part_bytes` of features, or one query. The parts depend on the data alone,
    so sums over them, in their order, are the same in every run. Parts are views of the file, or
    copies in the given order of queries.
    """
    if not is_mapped(data) or data.X.nbytes <= part_bytes:
        yield data if order is None else data.select(order)
        return
    sizes = _bytes_by_query(data)
    sizes = sizes if order is None else sizes[order]
    ends, first = np.cumsum(sizes), 0
    while first < len(data):
        before = ends[first] - sizes[first]
        end = max(int(np.searchsorted(ends, before + part_bytes, side="right")), first + 1)
        yield data.select(slice(first, end) if order is None else order[first:end])
        first = end


@contextmanager
def borrow(data: QueryDataset) -> Iterator[QueryDataset]:
    """Yield a part, and give its pages back to the system at the end, if it is mapped."""
    try:
        yield data
    finally:
        give_back(data)


def give_back(data: QueryDataset) -> None:
    """Tell the system that the pages of mapped features are not needed for now."""
    for array in _arrays(data):
        file: mmap.mmap | None = getattr(array, "_mmap", None)  # None for a copy of a mapped array
        if file is not None and array.size and hasattr(mmap, "MADV_DONTNEED"):
            start = array.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
            first = start - start % mmap.PAGESIZE
            file.madvise(mmap.MADV_DONTNEED, first, start + array.nbytes - first)
