"""Lines of a figure, one panel a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rankloop.exceptions import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

_WIDE = 3  # orders of magnitude that call for a logarithmic axis


class Line(Protocol):
    """A named line."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def x(self) -> Sequence[float]:
        """Where."""

    @property
    def y(self) -> Sequence[float]:
        """How high."""


def plot_curves(
    panels: Mapping[str, Sequence[Line]], axes: tuple[str, str], title: str = ""
) -> Figure:
    """Draw panels side by side; heights of very different size get a logarithmic axis."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing") from None
    figure = Figure(figsize=(max(6.4, 4.8 * len(panels)), 4.0), layout="constrained")
    for place, (name, lines) in enumerate(panels.items(), start=1):
        panel = figure.add_subplot(1, len(panels), place)
        for line in lines:
            panel.plot(line.x, line.y, linewidth=1.6, label=line.name)
        heights = [y for line in lines for y in line.y if y > 0]
        if heights and max(heights) > 10**_WIDE * min(heights):
            panel.set_yscale("log")
        panel.set_title(name, loc="left", fontsize=10)
        panel.set_xlabel(axes[0])
        if place == 1:
            panel.set_ylabel(axes[1])
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
        panel.legend(frameon=False, fontsize=8)
    if title:
        figure.suptitle(title, fontsize=11, x=0.02, ha="left")
    return figure
