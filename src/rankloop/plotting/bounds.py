"""Cumulative loss compared with its bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankloop.theory.tracking import Tracked

_LOSS, _BOUND, _INK, _GRID = "#3b6ea8", "#d1603d", "#333333", "#e4e4e4"
_FAR = 20.0  # if the bound is this many times the loss, the axis is logarithmic


def plot_bounds(result: Tracked | Sequence[Tracked]) -> Figure:
    """Draw the cumulative loss of rankers along a stream and their bounds, one panel per ranker.

    Parameters
    ----------
    result : one or several results of :func:`rankloop.theory.tracking.track`

    Raises
    ------
    MissingExtraError
        if matplotlib is not installed.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.registry import make_ranker
    >>> from rankloop.theory.tracking import track
    >>> data = separable(20, np.random.default_rng(0)).data
    >>> plot_bounds(track(make_ranker("minimax"), data)).axes[0].get_title(loc="left")
    'MinimaxPerceptron'
    """
    results = list(result) if isinstance(result, Sequence) else [result]
    if not results:
        raise DataError("nothing to draw: give at least one tracked ranker")
    columns = min(len(results), 2)
    rows = -(-len(results) // columns)
    figure = new_figure(5.2 * columns, 3.4 * rows, dpi=120, padded=True)
    for place, tracked in enumerate(results, start=1):
        _draw(figure.add_subplot(rows, columns, place), tracked)
    return figure


def _draw(axes: Axes, tracked: Tracked) -> None:
    axes.set_title(tracked.ranker, loc="left", fontsize=10, fontweight="bold", color=_INK)
    aside = tracked.theorem if tracked.holds else f"{tracked.theorem} (does not apply)"
    axes.set_title(aside, loc="right", fontsize=8, color=_INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_INK)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_INK, labelsize=8, length=0, which="both")
    axes.set_xlabel("queries", color=_INK, size=9)
    axes.set_ylabel(f"sum of 1 - {tracked.measure}", color=_INK, size=9)
    queries = np.arange(1, len(tracked.losses) + 1)
    style = "-" if tracked.holds else ":"
    axes.plot(queries, tracked.bound, style, color=_BOUND, linewidth=1.6)
    axes.plot(queries, tracked.loss, color=_LOSS, linewidth=1.8)
    if len(queries) == 0:
        return
    if tracked.bound[-1] > _FAR * tracked.loss[-1] > 0:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    for name, curve, colour in (("bound", tracked.bound, _BOUND), ("loss", tracked.loss, _LOSS)):
        axes.annotate(
            f"{name} {_number(float(curve[-1]))}",
            (queries[-1], curve[-1]),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=colour,
        )
    axes.margins(y=0.12)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
