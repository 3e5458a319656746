"""Line plots, with one panel per name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rankloop.plotting.figures import line_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

_WIDE = 3  # from this many orders of magnitude on, the axis is logarithmic


class Line(Protocol):
    """A named line."""

    @property
    def name(self) -> str:
        """The name of the line."""

    @property
    def x(self) -> Sequence[float]:
        """The horizontal positions of its points."""

    @property
    def y(self) -> Sequence[float]:
        """The heights of its points."""


def plot_curves(
    panels: Mapping[str, Sequence[Line]], axes: tuple[str, str], title: str = ""
) -> Figure:
    """Draw panels side by side; the axis is logarithmic if the heights differ very much."""
    figure = new_figure(max(6.4, 4.8 * len(panels)), 4.0)
    for place, (name, lines) in enumerate(panels.items(), start=1):
        panel = figure.add_subplot(1, len(panels), place)
        for k, line in enumerate(lines):
            panel.plot(line.x, line.y, label=line.name, **line_style(k))
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
