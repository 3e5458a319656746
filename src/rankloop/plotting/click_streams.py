"""Curves of rankers that learn from clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from rankloop.experiments.click_streams import ClickStream


def plot_click_streams(streams: Sequence[ClickStream]) -> Figure:
    """Draw the measure on held-out queries by impressions; each user has its own panel.

    There is one line per ranker. Bands show one standard error of the mean over runs to each side.
    """
    users = list(dict.fromkeys(stream.user for stream in streams))
    figure = new_figure(max(6.4, 4.6 * len(users)), 4.0)
    for place, user in enumerate(users, start=1):
        axes = figure.add_subplot(1, max(len(users), 1), place)
        for stream in (one for one in streams if one.user == user):
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
