"""New figures, styles of lines, and saving. Matplotlib is imported only when something is drawn."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (
    *("#3b6ea8", "#d1603d", "#4f9d69", "#8e5ea2", "#c9a227"),
    *("#2b9eb3", "#b5446e", "#7a6a53", "#5f7a8a", "#1f1f1f"),
)
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
_DATES: dict[str, dict[str, str | None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
FORMATS = tuple(_DATES)
"""The formats that :func:`save_figure` writes; the suffix of the file chooses one."""


def new_figure(
    width: float, height: float, *, dpi: float | None = None, padded: bool = False
) -> Figure:
    """Return an empty figure whose layout adapts to its content.

    Parameters
    ----------
    width, height : in inches
    dpi : dots per inch; by default, as matplotlib is set
    padded : whether to leave more space around each panel

    Raises
    ------
    MissingExtraError
        if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing a figure") from None
    layout = ConstrainedLayoutEngine()
    if padded:
        layout.set(w_pad=0.12, h_pad=0.12, wspace=0.03, hspace=0.03)
    return Figure(figsize=(width, height), dpi=dpi, layout=layout, facecolor="white")


def line_style(place: int) -> dict[str, Any]:
    """Return the style of the n-th line: ten colours, then the same ones dashed, dotted, and both.

    >>> line_style(0) == line_style(10), line_style(0)["color"] == line_style(10)["color"]
    (False, True)
    """
    turn, colour = divmod(place, len(_COLOURS))
    return {"color": _COLOURS[colour], "linestyle": _DASHES[turn % len(_DASHES)], "linewidth": 1.6}


def check_figure_path(path: str | os.PathLike[str]) -> str:
    """Return the format for the suffix, or raise; call it before a long computation."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        ending = f"the suffix '.{suffix}'" if suffix else "no suffix"
        raise DataError(
            f"cannot save a figure as {os.fspath(path)}: found {ending}, expected one of "
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
