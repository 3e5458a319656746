"""Mapped data sets, `.rlds`: a file whose arrays are used where they are, without a copy.

The file begins with 32 bytes: eight that name the format, the version, the checksum of the header,
and where the header is. The features follow at byte 4096, row by row, then the other arrays; each
begins at a multiple of 64 bytes and is little-endian. The header, as JSON, is last: numbers of
queries, documents and features, names of features, and type, place and checksum of each array.

Sparse rows (version 2) have their nonzeros at byte 4096; `X.columns` has the column of each, and
`X.starts` the place where each row starts, and the end.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT
from rankloop.data.io.files import unreadable
from rankloop.data.sparse_rows import SparseRows, as_dense_type
from rankloop.exceptions import DataError, ParseError
from rankloop.features.columns import Features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids

MAGIC = b"RLDATA\r\n"
DENSE, SPARSE = 1, 2  # versions
START = struct.Struct("<8sIIQQ")
FIRST, ALIGNED = 4096, 64


def read_mapped(
    path: str | os.PathLike[str], *, doc_ids: bool = True, verify: bool = False
) -> QueryDataset:
    """Open a mapped data set: X is a view of the file, of which the system reads what is used.

    The file must not be changed while it is in use; replacing it, as `write_mapped` does, is
    safe. Memory: grades, weights and ids are views too, except ids that are text. The columns of
    sparse rows are read and checked.

    Parameters
    ----------
    doc_ids : whether to read document ids, which take 16 bytes or more each
    verify : whether to compare the checksum of every array, which reads the whole file

    Raises
    ------
    ParseError
        if the file is not a mapped data set, or is truncated, damaged or too new.
    """
    name = os.fspath(path)
    try:
        size = Path(name).stat().st_size
        file = np.memmap(name, np.uint8, "r") if size else np.empty(0, np.uint8)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from None
    header = _header(name, file)
    try:
        return _open_mapped(file, header, doc_ids, verify)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _damage_error(name, error) from None


def _header(name: str, file: NDArray[np.uint8]) -> dict[str, Any]:
    start = bytes(file[: START.size])
    if len(start) < START.size or not start.startswith(MAGIC):
        raise ParseError(name, None, "it is not a mapped data set (rankloop convert makes one)")
    _, version, crc, at, length = START.unpack(start)
    if version not in (DENSE, SPARSE):
        raise ParseError(
            name, None, f"it has version {version}; this program reads versions {DENSE} and "
            f"{SPARSE}: convert the data again, or update rankloop"
        )  # fmt: skip
    if at + length != len(file):
        raise _damage_error(name, f"it has {len(file):,} bytes instead of {at + length:,}")
    text = bytes(file[at:])
    if zlib.crc32(text) != crc:
        raise _damage_error(name, "its header does not match the checksum")
    try:
        header: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise _damage_error(name, error) from None
    return {**header, "end": at} if isinstance(header, dict) else {"end": at}


def _open_mapped(
    file: NDArray[np.uint8], header: dict[str, Any], doc_ids: bool, verify: bool
) -> QueryDataset:
    n, q, d = (_count(header, name) for name in ("documents", "queries", "features"))

    def array(name: str, kind: str, *shape: int) -> NDArray[Any]:
        record = header["arrays"][name]
        at, length = _count(record, "at"), math.prod(shape) * np.dtype(kind).itemsize
        if (length and record["type"] != kind) or list(record["shape"]) != list(shape):
            raise DataError(f"{name} is {record['type']} of shape {record['shape']}, not {shape}")
        if at % ALIGNED or at < FIRST or at + length > header["end"]:
            raise DataError(f"{name} does not lie within the file")
        values = file[at : at + length]
        if verify and zlib.crc32(values) != record["crc32"]:
            raise DataError(f"{name} does not match its checksum")
        return values.view(kind).reshape(shape)

    def text(name: str, count: int) -> Ids:
        ends = array(f"{name}.ends", "<i8", count)
        length = int(ends[-1]) if count else 0
        if count and (ends[0] < 0 or (np.diff(ends) < 0).any()):
            raise DataError(f"{name} is damaged")
        whole = array(f"{name}.text", "|u1", length).tobytes()
        ids = np.empty(count, TEXT)
        for i, (a, b) in enumerate(zip([0, *ends.tolist()], ends.tolist(), strict=False)):
            ids[i] = whole[a:b].decode()
        return ids

    def features() -> NDArray[np.float32]:
        if "X" in header["arrays"]:
            return array("X", "<f4", n, d)
        starts = array("X.starts", "<i8", n + 1)
        k = int(starts[-1])
        if k < 0 or starts[0]:
            raise DataError("X.starts is damaged")
        rows = array("X.values", "<f4", k), array("X.columns", "<i4", k), starts
        return as_dense_type(SparseRows(*rows, d))

    def optional(name: str, count: int) -> NDArray[np.float64] | None:
        return np.asarray(array(name, "<f8", count)) if name in header["arrays"] else None

    names, described = header["feature_names"], header["described"]
    numbers = "query_ids" in header["arrays"]
    data = QueryDataset(
        features(),
        np.asarray(array("y", "<f8", n)) if n else np.zeros(0),
        np.asarray(array("offsets", "<i8", q + 1)),
        np.asarray(array("query_ids", "<i8", q)) if numbers else text("query_ids", q),
        text("doc_ids", n) if doc_ids and "doc_ids.ends" in header["arrays"] else None,
        None if names is None else tuple(names),
        optional("sample_weight", n),
        optional("query_weight", q),
        None,
        None if described is None else Features.from_dict(described),
        header.get("query_name"),
    )
    if header["has_missing"] is False:
        vars(data)["has_missing"] = False
    return data


def _count(record: Any, name: str) -> int:
    value = record[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DataError(f"{name} is {value!r}")
    return value


def _damage_error(name: str, reason: object) -> ParseError:
    return ParseError(name, None, f"it is damaged or incomplete: {reason}; convert the data again")
