"""Bars that show which features change the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rankloop.rankers.explaining import Parts

_UP, _DOWN, _INK = "#3b6ea8", "#d1603d", "#333333"
_MAX = 30


def plot_explained(parts: Parts) -> Figure:
    """Draw features with their effects, or the documents of a query with what each feature adds."""
    rows = [
        (name, value)
        for part in parts
        for name, value in (
            [(part["feature"], part["effect"])]
            if "effect" in part
            else [
                (f"{part['rank']}. {part['document']}: {feature}", added)
                for feature, added in part["because"].items()
            ]
        )
    ][:_MAX]
    figure = new_figure(7.0, 1.0 + 0.26 * len(rows))
    axes = figure.add_subplot()
    places = range(len(rows))
    colours = [_UP if value >= 0 else _DOWN for _, value in rows]
    axes.barh(places, [value for _, value in rows], color=colours, height=0.7)
    axes.set_yticks(places, [name for name, _ in rows])
    axes.invert_yaxis()
    axes.axvline(0, color=_INK, linewidth=0.8)
    whole = bool(parts) and "effect" in parts[0]
    axes.set_xlabel("mean effect on scores inside queries" if whole else "added to the score")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(colors=_INK, labelsize=8, length=0)
    return figure
