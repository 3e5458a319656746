"""Write mapped data sets; see :mod:`rankloop.data.io.mapped` for the format."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT
from rankloop.data.io.mapped import ALIGNED, DENSE, FIRST, MAGIC, SPARSE, START
from rankloop.data.io.replacing import replace_when_done
from rankloop.data.mapped_parts import borrow, in_parts
from rankloop.data.sparse_rows import SparseRows
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids

    Blocks = Iterable[NDArray[np.generic]]
    Described = dict[str, dict[str, object]]  # the arrays of the file

_BLOCK = 1 << 24
_OPTIONAL = ("doc_ids", "sample_weight", "query_weight")


def write_mapped(data: QueryDataset | Iterable[QueryDataset], path: str | os.PathLike[str]) -> None:
    """Write a mapped data set, completely or not at all.

    The rows of each query are together, in the order of the data set, not of the caller. Sparse
    rows stay sparse. Memory: one data set at a time, and 40 bytes per query.

    Parameters
    ----------
    data : a data set, or several with the same columns to write one after the other; all queries
        must be different
    path : the file, for example `train.rlds`
    """
    parts = iter([data] if isinstance(data, QueryDataset) else data)
    first = next(parts, None)
    if first is None:
        raise DataError("there is no data set to write; give at least one")
    with (
        replace_when_done(path) as partial,
        partial.open("r+b") as out,
        contextlib.ExitStack() as files,
    ):
        writer = _Writer(out, first, files)
        for whole in _chain(first, parts):
            for part in in_parts(whole):
                with borrow(part):
                    writer.add(part)
        writer.finish()


def _chain(first: QueryDataset, rest: Iterator[QueryDataset]) -> Iterator[QueryDataset]:
    yield first
    del first  # what is handed over is not kept here
    yield from rest


class _Writer:
    """Writes features as they come; what belongs to documents waits in temporary files."""

    def __init__(self, out: BinaryIO, like: QueryDataset, files: contextlib.ExitStack) -> None:
        self._out, self._like = out, like.select(slice(0, 0))
        self._crc = self._documents = self._values = 0
        self._has_missing = False
        self._sizes: list[NDArray[np.int64]] = []
        self._ids: list[Ids] = []
        self._weights: list[NDArray[np.float64]] = []
        self._waiting: dict[str, BinaryIO] = {}
        self._files = files
        out.seek(FIRST)

    def add(self, part: QueryDataset) -> None:
        self._check(part)
        X: Any = part.X
        rows = np.ascontiguousarray(X.values if isinstance(X, SparseRows) else X, "<f4")
        self._crc = zlib.crc32(rows.data.cast("B") if rows.size else b"", self._crc)
        rows.tofile(self._out)
        if isinstance(X, SparseRows):
            self._wait("X.columns", X.own_indices)
            self._wait("X.starts", X.indptr[:-1] - X.indptr[0] + self._values)
        self._values += rows.size
        self._documents += part.n_documents
        self._has_missing |= part.has_missing
        self._sizes.append(part.sizes)
        self._ids.append(part.query_ids)
        if part.query_weight is not None:
            self._weights.append(part.query_weight)
        self._wait("y", part.y)
        if part.sample_weight is not None:
            self._wait("sample_weight", part.sample_weight)
        if part.doc_ids is not None:
            ends, text = _pack(part.doc_ids)
            self._wait("doc_ids.sizes", np.diff(ends, prepend=0))
            self._wait("doc_ids.text", text)

    def _check(self, part: QueryDataset) -> None:
        like = self._like
        for what, ours, theirs in (
            ("features", like.n_features, part.n_features),
            ("feature names", like.feature_names, part.feature_names),
            ("kind of rows, dense or sparse", like.is_sparse, part.is_sparse),
            *((n, getattr(like, n) is None, getattr(part, n) is None) for n in _OPTIONAL),
        ):
            if ours != theirs:
                raise DataError(
                    f"the data sets differ in their {what}, so they cannot be one file; write "
                    "files of their own, or join them with concat (rankloop convert --gather)"
                )

    def _wait(self, name: str, values: NDArray[np.generic]) -> None:
        if name not in self._waiting:
            self._waiting[name] = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        values.tofile(self._waiting[name])

    def finish(self) -> None:
        """Write what has waited, the header, and then the first bytes, which make it a data set."""
        ids = _join_ids(self._ids)
        if len(np.unique(ids)) < len(ids):
            raise DataError(
                "a query starts again after other queries; bring the rows of each query together "
                "first (rankloop convert --gather)"
            )
        d, q = self._like.n_features, len(ids)
        sparse = self._like.is_sparse
        shape = [self._values] if sparse else [self._documents, d]
        name = "X.values" if sparse else "X"
        arrays = {name: {"type": "<f4", "shape": shape, "at": FIRST, "crc32": self._crc}}
        if sparse:
            self._wait("X.columns", np.empty(0, "<i4"))
            self._wait("X.starts", np.array([self._values], "<i8"))
            self._place(arrays, "X.columns", self._blocks("X.columns", "<i4"))
            self._place(arrays, "X.starts", self._blocks("X.starts", "<i8"))
        offsets = np.r_[0, np.cumsum(np.concatenate(self._sizes))]
        self._place(arrays, "offsets", [offsets.astype("<i8")])
        for name, kind in (("y", "<f8"), ("sample_weight", "<f8")):
            if name in self._waiting:
                self._place(arrays, name, self._blocks(name, kind))
        if self._weights:
            self._place(arrays, "query_weight", [np.concatenate(self._weights)])
        if ids.dtype == TEXT:
            self._text(arrays, "query_ids", *([part] for part in _pack(ids)))
        else:
            self._place(arrays, "query_ids", [ids.astype("<i8")])
        if "doc_ids.text" in self._waiting:
            ends = _running_sums(self._blocks("doc_ids.sizes", "<i8"))
            self._text(arrays, "doc_ids", ends, self._blocks("doc_ids.text", "|u1"))
        described = self._like.features
        header = {
            "documents": self._documents,
            "queries": q,
            "features": d,
            "feature_names": self._like.feature_names,
            "query_name": self._like.query_name,
            "described": None if described is None else described.to_dict(),
            "has_missing": self._has_missing,
            "arrays": arrays,
        }
        text = json.dumps(header).encode()
        at = self._align()
        self._out.write(text)
        self._out.seek(0)
        version = SPARSE if sparse else DENSE
        self._out.write(START.pack(MAGIC, version, zlib.crc32(text), at, len(text)))
        self._out.flush()

    def _align(self) -> int:
        """Move to the first place behind all arrays where one may begin."""
        end = self._out.seek(0, os.SEEK_END)
        return self._out.seek(max(end + -end % ALIGNED, FIRST))

    def _blocks(self, name: str, kind: str) -> Iterator[NDArray[Any]]:
        stream = self._waiting[name]
        stream.seek(0)
        while block := stream.read(_BLOCK):
            yield np.frombuffer(block, kind)

    def _text(self, arrays: Described, name: str, ends: Blocks, text: Blocks) -> None:
        self._place(arrays, f"{name}.ends", ends)
        self._place(arrays, f"{name}.text", text)

    def _place(self, arrays: Described, name: str, blocks: Blocks) -> None:
        """Write one array behind the others."""
        at = self._align()
        crc, length, kind = 0, 0, "|u1"
        for block in blocks:
            block.tofile(self._out)
            crc, length = zlib.crc32(block.tobytes(), crc), length + len(block)
            kind = block.dtype.str
        arrays[name] = {"type": kind, "shape": [length], "at": at, "crc32": crc}


def _pack(texts: Ids) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return texts as one array of bytes, and where each ends."""
    coded = [text.encode() for text in texts.tolist()]
    ends = np.cumsum([len(text) for text in coded], dtype=np.int64)
    return ends, np.frombuffer(b"".join(coded), np.uint8)


def _running_sums(blocks: Iterable[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    total = np.int64(0)
    for block in blocks:
        ends = total + np.cumsum(block)
        total = ends[-1]
        yield ends


def _join_ids(ids: list[Ids]) -> Ids:
    """Join ids of batches; if some are text, all are."""
    if any(some.dtype == TEXT for some in ids):
        ids = [some if some.dtype == TEXT else some.astype(str).astype(TEXT) for some in ids]
    return np.concatenate(ids)
