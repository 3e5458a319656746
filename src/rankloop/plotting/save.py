"""Save figures, completely or not at all."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DATES: dict[str, dict[str, str | None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
FORMATS = tuple(_DATES)
"""The formats that :func:`save_figure` writes; the suffix of the file chooses one."""


def check_figure_path(path: str | os.PathLike[str]) -> str:
    """Return the format for the suffix, or raise; call it before a long computation."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        found = f"the suffix '.{suffix}'" if suffix else "no suffix"
        raise DataError(
            f"cannot save a figure as {os.fspath(path)}: found {found}, expected one of "
            + ", ".join(f".{name}" for name in FORMATS)
        )
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "drawing a figure")
    return suffix


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF, by its suffix; the same figure gives the same bytes.

    An error leaves an existing file at `path` unchanged.
    """
    suffix = check_figure_path(path)
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "rankloop"}), replace_when_done(path) as partial:
        figure.savefig(partial, format=suffix, metadata=_DATES[suffix])
