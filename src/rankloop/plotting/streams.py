"""Curves over time: of rankers on a stream, of rankers that learn from clicks, of a live loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.plotting.figures import line_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from rankloop.experiments.click_streams import ClickStream
    from rankloop.experiments.progressive import Stream


def plot_streams(streams: Sequence[Stream], window: int | None = None) -> Figure:
    """Draw the mean after each query; each measure and convention has its own panel."""
    panels = list(dict.fromkeys((str(s.measure), s.convention) for s in streams))
    figure = new_figure(max(6.4, 5.2 * len(panels)), 4.2)
    for place, (measure, convention) in enumerate(panels, start=1):
        axes = figure.add_subplot(1, len(panels), place)
        shown = [s for s in streams if (str(s.measure), s.convention) == (measure, convention)]
        ends = []
        for k, stream in enumerate(sorted(shown, key=lambda s: -s.mean)):
            curve = stream.curve(window)
            queries = np.arange(1, len(curve) + 1)
            label = f"{stream.ranker}  {stream.mean:.3f}"
            axes.plot(queries, curve, label=label, **line_style(k))
            ends.append(curve[len(curve) // 10 :])
        settled = np.concatenate(ends) if ends else np.zeros(1)
        low, high = np.nanmin(settled), np.nanmax(settled)
        room = 0.08 * max(high - low, 1e-3)
        axes.set_ylim(low - room, high + room)
        axes.set_xlabel("queries")
        axes.set_title(
            f"{measure} ({convention}), measured before learning", loc="left", fontsize=10
        )
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def plot_click_streams(streams: Sequence[ClickStream]) -> Figure:
    """Draw the measure on held-out queries by impressions; each user has its own panel.

    There is one line per ranker. Bands show one standard error of the mean over runs to each side.
    """
    users = list(dict.fromkeys(stream.user for stream in streams))
    figure = new_figure(max(6.4, 4.6 * len(users)), 4.0)
    for place, user in enumerate(users, start=1):
        axes = figure.add_subplot(1, max(len(users), 1), place)
        for stream in (s for s in streams if s.user == user):
            mean = stream.held_out.mean(axis=0)
            error = stream.held_out.std(axis=0) / np.sqrt(len(stream.held_out))
            (line,) = axes.plot(stream.impressions, mean, linewidth=1.6, label=stream.ranker)
            axes.fill_between(
                stream.impressions, mean - error, mean + error, color=line.get_color(), alpha=0.15
            )
        axes.set_xscale("log")
        axes.set_xlabel("impressions")
        axes.set_ylabel(f"{streams[0].measure} on held-out queries")
        axes.set_title(user, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8)
    return figure


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
