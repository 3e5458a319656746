"""How the models of a live loop did over time, with what happened on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure


def plot_week(
    days: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    shown: Sequence[float],
    happened: Mapping[str, float],
) -> Figure:
    """Draw one line a model and one for what people saw.

    Parameters
    ----------
    days : when each value was measured
    curves : nDCG@10 by model
    shown : nDCG@10 of what people saw
    happened : words about what happened, and when
    """
    figure = new_figure(9.0, 4.4)
    axes = figure.add_subplot()
    for name, values in curves.items():
        axes.plot(days, values, linewidth=1.4, label=name)
    axes.plot(days, shown, linewidth=2.4, color="black", alpha=0.75, label="what people saw")
    for words, day in happened.items():
        axes.axvline(day, color="grey", linewidth=1, linestyle=":")
        axes.annotate(
            words,
            (day, 0.02),
            xycoords=("data", "axes fraction"),
            rotation=90,
            fontsize=8,
            color="grey",
            ha="right",
            va="bottom",
        )
    axes.set_xlabel("days")
    axes.set_title("recent nDCG@10, on grades that only the users know", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
