"""Means of several rankers, with their standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankloop.experiments.standings import Standing, Standings

_BEST, _OTHER, _FOLD, _INK, _GRID = "#d1603d", "#3b6ea8", "#a9bcd4", "#333333", "#e4e4e4"


def plot_standings(standings: Standings) -> Figure:
    """Draw the mean of each ranker, best on top, one panel per measure and convention.

    Bars show one standard error over queries to each side; small dots show the means of the folds.

    Raises
    ------
    MissingExtraError
        if matplotlib is not installed.
    """
    panels = standings.panels
    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    height = 1.2 + 0.32 * len(standings.rankers)
    figure = new_figure(4.6 * columns, height * lines, dpi=120)
    for place, (measure, convention) in enumerate(panels, start=1):
        axes = figure.add_subplot(lines, columns, place)
        axes.set_title(f"{measure} ({convention})", loc="left", fontsize=10, color=_INK)
        _draw(axes, standings.panel(measure, convention))
    return figure


def _draw(axes: Axes, rows: list[Standing]) -> None:
    for place, row in enumerate(rows):
        colour = _BEST if place == 0 else _OTHER
        axes.plot(row.fold_means, [place] * len(row.fold_means), ".", color=_FOLD, markersize=4)
        axes.errorbar(row.mean, place, xerr=row.se, fmt="o", color=colour, capsize=3, markersize=5)
        axes.annotate(
            f"{row.mean:.4f}",
            (row.mean, place),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=7,
            color=_INK,
        )
    axes.set_yticks(range(len(rows)), [row.ranker for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.7)
    axes.grid(axis="x", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(colors=_INK, labelsize=8, length=0)
