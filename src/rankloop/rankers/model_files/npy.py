"""Read an array from the bytes of an .npy file; it is never larger than these bytes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>[\s\S]{2})"
    rb"\{'descr': '(?P<dtype>[<|][biuf]\d)', 'fortran_order': False, "
    rb"'shape': \((?P<shape>|\d{1,15},|\d{1,15}(?:, \d{1,15}){1,7})\), \} *\n"
)
"""The header that NumPy writes for a row-major array of little-endian numbers."""


def array_from_bytes(content: bytes) -> NDArray[np.generic]:
    """Read a row-major array of numbers, as `numpy.save` writes it.

    No memory is allocated before the shape in the header is known to match the number of bytes.
    Arrays of objects, which are pickles, are an error.

    >>> import io
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.eye(2))
    >>> array_from_bytes(stream.getvalue()).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    header = _HEADER.match(content)
    if header is None or header.end() != 10 + int.from_bytes(header["length"], "little"):
        raise ModelError(
            "an array is damaged, or is not an array of plain numbers in row-major order"
        )
    dtype = np.dtype(header["dtype"].decode())
    shape = tuple(int(n) for n in header["shape"].split(b",") if n)
    if math.prod(shape) * dtype.itemsize != len(content) - header.end():
        raise ModelError(
            f"an array is damaged: its header claims {dtype} of shape {shape}, but "
            f"{len(content) - header.end():,} bytes follow"
        )
    flat = np.frombuffer(content, dtype, offset=header.end())
    if dtype.kind == "b" and (flat.view(np.uint8) > 1).any():
        raise ModelError("an array is damaged: it has truth values that are neither 0 nor 1")
    return flat.reshape(shape).copy()
