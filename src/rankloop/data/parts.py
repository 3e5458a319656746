"""Parts of a mapped data set: views of whole queries, whose memory can be given back.

The features of a mapped data set (:func:`rankloop.data.io.mapped.read_mapped`) are on the disk, and
the system reads them when they are used. Code that uses them part by part, and gives the pages of
each part back, needs memory for one part, however large the file is.
"""

from __future__ import annotations

import mmap
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset

PART_BYTES = 2**26
"""The size of a part: large enough for all threads, small beside any memory."""


def is_mapped(data: QueryDataset) -> bool:
    """Whether the features are on the disk, and are read when they are used."""
    return isinstance(data.X, np.memmap)


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
    sizes = data.sizes if order is None else data.sizes[order]
    ends = np.cumsum(sizes)
    rows, first = max(part_bytes // max(4 * data.n_features, 1), 1), 0
    while first < len(data):
        before = ends[first] - sizes[first]
        end = max(int(np.searchsorted(ends, before + rows, side="right")), first + 1)
        yield data.select(slice(first, end) if order is None else order[first:end])
        first = end


@contextmanager
def lent(data: QueryDataset) -> Iterator[QueryDataset]:
    """Yield a part, and give its pages back to the system at the end, if it is mapped."""
    try:
        yield data
    finally:
        give_back(data)


def give_back(data: QueryDataset) -> None:
    """Tell the system that the pages of mapped features are not needed for now."""
    X = data.X
    if not isinstance(X, np.memmap) or not X.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    file: mmap.mmap = X._mmap  # type: ignore[attr-defined]
    start = X.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
    first = start - start % mmap.PAGESIZE
    file.madvise(mmap.MADV_DONTNEED, first, start + X.nbytes - first)
