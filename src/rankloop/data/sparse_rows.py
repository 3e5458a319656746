"""Sparse rows: feature vectors of which only the nonzeros are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rankloop import _core
from rankloop.data.memory import check_fits
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    S = TypeVar("S", bound=np.generic)

_MAX_FEATURES = 2**31 - 1


class SparseRows:
    """Rows by features in compressed sparse row form, float32, as `X` of a data set.

    The nonzeros of row i are `data[indptr[i]:indptr[i + 1]]`, in the columns
    `indices[indptr[i]:indptr[i + 1]]`, which rise. It takes 8 bytes per nonzero and 8 per row. A
    slice of rows is a view, without a copy (a matrix of SciPy would be copied); so `indptr` need
    not start at 0.

    Parameters
    ----------
    data : (k,) float32 values
    indices : (k,) int32 columns
    indptr : (n + 1,) int64
    n_features : number of columns

    Raises
    ------
    DataError
        if the arrays do not fit together, or the columns of a row do not rise.

    Examples
    --------
    >>> rows = SparseRows.from_dense(np.array([[0, 2, 0], [3, 0, 4]], np.float32))
    >>> rows
    SparseRows(2 rows, 3 features, 3 nonzeros)
    >>> rows[1:].toarray()
    array([[3., 0., 4.]], dtype=float32)
    """

    __slots__ = ("core", "data", "indices", "indptr", "shape")

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(
        self,
        data: NDArray[np.float32],
        indices: NDArray[np.int32],
        indptr: NDArray[np.int64],
        n_features: int,
    ) -> None:
        for name, array, kind in (
            ("data", data, np.float32),
            ("indices", indices, np.int32),
            ("indptr", indptr, np.int64),
        ):
            if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
                raise DataError(f"{name} must be a {np.dtype(kind)} array; found {array!r}")
        self.data = _contiguous(data)
        self.indices = _contiguous(indices)
        self.indptr = _contiguous(indptr)
        self.shape = (len(indptr) - 1, n_features)
        try:
            self.core = _core.SparseRows(self.indptr, self.indices, self.data, n_features)
        except ValueError as error:
            raise DataError(f"these are not sparse rows: {error}") from None

    @classmethod
    def from_dense(cls, X: NDArray[np.float32]) -> SparseRows:
        """Take the nonzeros of a matrix."""
        rows, columns = np.nonzero(X)
        indptr = _starts(np.bincount(rows, minlength=len(X)))
        return cls(X[rows, columns], columns.astype(np.int32), indptr, X.shape[1])

    @classmethod
    def from_scipy(cls, X: Any) -> SparseRows:
        """Take a matrix or array of SciPy; float32 rows in order, without zeros, are not copied."""
        if len(X.shape) != 2 or X.dtype.kind not in "biuf":
            raise DataError(
                "sparse X must be real numbers in two dimensions, documents by features; found "
                f"{X.dtype} of shape {X.shape}"
            )
        if X.shape[1] > _MAX_FEATURES:
            raise DataError(f"X has {X.shape[1]:,} features; at most {_MAX_FEATURES:,} are allowed")
        csr = X.tocsr()
        if not csr.has_canonical_format or np.count_nonzero(csr.data) < len(csr.data):
            csr = csr.copy()
            csr.sum_duplicates()
            csr.eliminate_zeros()
        with np.errstate(over="ignore"):
            data = csr.data.astype(np.float32, copy=False)
        return cls(
            data,
            csr.indices.astype(np.int32, copy=False),
            csr.indptr.astype(np.int64, copy=False),
            csr.shape[1],
        )

    def to_scipy(self) -> csr_array:
        """Return a `scipy.sparse.csr_array` that shares the values."""
        from scipy.sparse import csr_array

        stored = slice(self.indptr[0], self.indptr[-1])
        parts = (self.data[stored], self.indices[stored], self.indptr - self.indptr[0])
        return csr_array(parts, shape=self.shape)

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def values(self) -> NDArray[np.float32]:
        """The stored values of these rows."""
        return self.data[self.indptr[0] : self.indptr[-1]]

    @property
    def nbytes(self) -> int:
        """Bytes of these rows."""
        return 8 * self.nnz + self.indptr.nbytes

    @property
    def size(self) -> int:
        """Number of values, with zeros."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        n, d = self.shape
        return f"SparseRows({n:,} rows, {d:,} features, {self.nnz:,} nonzeros)"

    def __eq__(self, other: object) -> bool:
        """Whether the other has the same rows."""
        if not isinstance(other, SparseRows):
            return NotImplemented
        return (
            self.shape == other.shape
            and np.array_equal(np.diff(self.indptr), np.diff(other.indptr))
            and np.array_equal(self.own_indices, other.own_indices)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        start, end = self.indptr[0], self.indptr[-1]
        arrays = self.data[start:end], self.indices[start:end], self.indptr - start
        return SparseRows, (*arrays, self.shape[1])

    def __getitem__(self, rows: Any) -> SparseRows:
        """Return some rows: a slice (a view), positions or a mask (copies)."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, end, _ = rows.indices(len(self))
            indptr = self.indptr[first : max(first, end) + 1]
            return SparseRows(self.data, self.indices, indptr, self.shape[1])
        if isinstance(rows, tuple):
            raise DataError(
                "sparse rows are taken whole, not by columns; toarray() makes a dense matrix"
            )
        places = np.arange(len(self))[rows]
        if places.ndim != 1:
            raise DataError(f"rows must be a slice, positions or a mask; found {rows!r}")
        indptr, indices, data = _core.take_sparse_rows(self.core, places)
        return SparseRows(data, indices, indptr, self.shape[1])

    def __matmul__(self, weights: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the products of the rows with weights, in float64."""
        return _core.row_products(self.core, np.ascontiguousarray(weights, np.float64), 1)

    def toarray(self, memory_limit: int | str | None = None) -> NDArray[np.float32]:
        """Return a dense matrix; raise if it exceeds the limit, or most of the free memory."""
        check_fits(*self.shape, memory_limit)
        dense = np.zeros(self.shape, np.float32)
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        dense[rows, self.own_indices] = self.values
        return dense

    @property
    def own_indices(self) -> NDArray[np.int32]:
        """The column of each stored value."""
        return self.indices[self.indptr[0] : self.indptr[-1]]

    def tobytes(self) -> bytes:
        """Return all that these rows are, for a digest."""
        lengths = np.diff(self.indptr)
        arrays = (np.array(self.shape), lengths, self.own_indices, self.values)
        return b"".join(array.tobytes() for array in arrays)

    def with_width(self, width: int) -> SparseRows:
        """Return the same nonzeros in rows with more features."""
        return SparseRows(self.data, self.indices, self.indptr, width)

    def with_columns(self, order: NDArray[np.int64]) -> SparseRows:
        """Return rows whose column j is column `order[j]` of these; each is taken once."""
        place = np.empty(self.shape[1], np.int64)
        place[order] = np.arange(len(order))
        columns = place[self.own_indices]
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        sorting = np.lexsort((columns, rows))
        indptr = self.indptr - self.indptr[0]
        moved = columns[sorting].astype(np.int32)
        return SparseRows(self.values[sorting], moved, indptr, len(order))


def is_sparse(X: object) -> bool:
    """Whether these are sparse rows, ours or SciPy's."""
    return isinstance(X, SparseRows) or hasattr(X, "tocsr")


def sparse_rows(X: Any) -> SparseRows:
    """Return sparse rows of any kind as ours."""
    return X if isinstance(X, SparseRows) else SparseRows.from_scipy(X)


def core_rows(X: Any) -> Any:
    """Return rows in the form that the compiled core takes, dense or sparse."""
    return X.core if isinstance(X, SparseRows) else X


def stack_rows(parts: Sequence[SparseRows], width: int) -> SparseRows:
    """Put rows below each other, all of this width."""
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    return SparseRows(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.own_indices for part in parts]),
        _starts(sizes),
        width,
    )


def all_values(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the values of dense rows, or the stored values of sparse ones, as a matrix."""
    if isinstance(X, SparseRows):
        return X.values[None]
    return X


def place_in_rows(X: NDArray[np.float32], place: int) -> tuple[int, int]:
    """Return row and column of one of the values that :func:`all_values` returns."""
    if not isinstance(X, SparseRows):
        row, column = divmod(place, int(X.shape[1]))
        return row, column
    row = int(np.searchsorted(X.indptr - X.indptr[0], place, side="right")) - 1
    return row, int(X.own_indices[place])


def as_dense_type(X: SparseRows) -> NDArray[np.float32]:
    """Return sparse rows where the type of dense ones is declared: as `X` of a data set."""
    return cast("NDArray[np.float32]", X)


def _contiguous(array: NDArray[S]) -> NDArray[S]:
    """Return an array whose values lie next to each other; a mapped one stays mapped."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
