"""New figures. Matplotlib is imported only when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
