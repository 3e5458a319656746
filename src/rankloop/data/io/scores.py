"""Score files: one number per line, in the row order of the data they score."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.io.files import open_input, open_output
from rankloop.exceptions import ParseError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_scores(path: str | os.PathLike[str], n: int | None = None) -> NDArray[np.float64]:
    """Read one score per line; `-inf` means not retrieved. A final blank line is allowed.

    Parameters
    ----------
    n : the required number of scores
    """
    name = os.fspath(path)
    with open_input(path) as stream:
        lines = stream.read().rstrip().split(b"\n")
    if lines == [b""]:
        lines = []
    if n is not None and len(lines) != n:
        raise ParseError(
            name,
            None,
            (f"it has {len(lines):,} scores, but the data has {n:,} rows; give one score per row"),
        )
    scores = np.empty(len(lines))
    for i, line in enumerate(lines):
        try:
            scores[i] = float(line)
        except ValueError:
            scores[i] = np.nan
        if np.isnan(scores[i]):
            content = line[:40].decode(errors="backslashreplace")
            raise ParseError(name, i + 1, f"found {content!r}; expected one number")
    return scores


def write_scores(path: str | os.PathLike[str], scores: NDArray[np.floating]) -> None:
    """Write one score per line, with all its digits; an error leaves an old file unchanged."""
    with open_output(path) as stream:
        for first in range(0, len(scores), 65_536):
            part = scores[first : first + 65_536].tolist()
            stream.write("".join(f"{score!r}\n" for score in part).encode())
