"""Curves of position bias with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankloop.clicks.bias.result import PositionBias

_INK, _GRID = "#333333", "#e4e4e4"


def plot_bias(
    results: PositionBias | Sequence[PositionBias], names: Sequence[str] | None = None
) -> Figure:
    """Draw examination by position, with one line per estimate and its interval as a band.

    Parameters
    ----------
    results : one or several results of :func:`rankloop.clicks.bias.result.estimate_bias`
    names : the names of the lines; None uses the names of the estimators

    Raises
    ------
    MissingExtraError
        if matplotlib is not installed.

    Examples
    --------
    >>> from rankloop.clicks.bias.result import PositionBias
    >>> bias = PositionBias("Swaps", np.array([1.0, 0.5]), np.array([1, 0.4]), np.array([1, 0.6]))
    >>> plot_bias(bias).axes[0].get_ylabel()
    'examination, first position = 1'
    """
    shown = list(results) if isinstance(results, Sequence) else [results]
    labels = [result.method for result in shown] if names is None else list(names)
    if not shown or len(labels) != len(shown):
        raise DataError(
            f"there are {len(shown)} estimates and {len(labels)} names; give one name each"
        )
    figure = new_figure(6.4, 4.0, dpi=120)
    axes = figure.add_subplot()
    for label, result in zip(labels, shown, strict=True):
        known = ~np.isnan(result.examination)
        (line,) = axes.plot(
            result.positions[known],
            result.examination[known],
            marker="o",
            markersize=3,
            linewidth=1.6,
            label=label,
        )
        sure = ~np.isnan(result.low)
        axes.fill_between(
            result.positions[sure],
            result.low[sure],
            result.high[sure],
            color=line.get_color(),
            alpha=0.15,
            linewidth=0,
        )
    top = max(float(np.nanmax(result.examination)) for result in shown)
    axes.set_ylim(0, 1.15 * top)
    axes.set_xlabel("position", color=_INK)
    axes.set_ylabel("examination, first position = 1", color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=_GRID)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8)
    return figure
