"""Curves of rankers over a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.plotting.figures import new_figure
from rankloop.plotting.lines import line_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

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
