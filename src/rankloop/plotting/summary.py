"""A data set's summary as one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.messages import count
from rankloop.plotting.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankloop.data.summary import Histogram, Summary

_BAR, _MARK, _INK, _GRID = "#3b6ea8", "#d1603d", "#333333", "#e4e4e4"


def plot_summary(summary: Summary) -> Figure:
    """Draw grades, list lengths, feature ranges and shares of zeros, in four panels.

    Parameters
    ----------
    summary : what :func:`rankloop.data.summary.summarise` returns

    Raises
    ------
    MissingExtraError
        if matplotlib is not installed.

    Examples
    --------
    >>> from rankloop.data.dataset import QueryDataset
    >>> from rankloop.data.summary import summarise
    >>> data = QueryDataset.from_arrays([[0.0], [2.0]], [0, 1], qid=[7, 7])
    >>> [axes.get_title(loc="left") for axes in plot_summary(summarise(data)).axes]
    ['Grades', 'Documents per query', 'Feature ranges', 'Share of zeros']
    """
    figure = new_figure(10, 6.4, dpi=120, padded=True)
    (grades, lengths), (ranges, zeros) = figure.subplots(2, 2)
    figure.suptitle(
        f"{count(summary.queries, 'query', 'queries')}   "
        f"{count(summary.documents, 'document', 'documents')}   "
        f"{count(summary.features, 'feature', 'features')}",
        x=0.015,
        ha="left",
        fontsize=12,
        color=_INK,
    )
    for axes in (grades, lengths, ranges, zeros):
        _plain(axes)
    _draw_grades(grades, summary)
    _draw_lengths(lengths, summary)
    _draw_ranges(ranges, summary)
    _draw_zeros(zeros, summary)
    return figure


def _draw_grades(axes: Axes, summary: Summary) -> None:
    _title(axes, "Grades", f"{summary.unjudged:,} unjudged" if summary.unjudged else "")
    axes.set_xlabel("grade")
    axes.set_ylabel("documents")
    axes.yaxis.set_major_formatter(_thousands)
    if not summary.grades.counts:
        _nothing(axes, "no judged documents")
        return
    if summary.grades.is_binned:
        _draw_ranges_of(axes, summary.grades)
        return
    counts = summary.grades.counts
    places = range(len(counts))
    bars = axes.bar(places, counts, color=_BAR, width=0.72)
    axes.set_xticks(places, [f"{value:g}" for value in summary.grades.low])
    shares = [_percent(count / sum(counts)) for count in counts]
    axes.bar_label(bars, shares, padding=2, fontsize=8, color=_INK)
    axes.margins(y=0.12)


def _draw_lengths(axes: Axes, summary: Summary) -> None:
    lengths = summary.list_lengths
    _title(axes, "Documents per query", f"median {lengths[2]:g}" if lengths else "")
    axes.set_xlabel("documents")
    axes.set_ylabel("queries")
    axes.yaxis.set_major_formatter(_thousands)
    if not lengths:
        _nothing(axes, "no queries")
        return
    if summary.length_counts.is_binned:
        _draw_ranges_of(axes, summary.length_counts)
    else:
        width = max(0.72, (lengths[-1] - lengths[0]) / 60)
        axes.bar(summary.length_counts.low, summary.length_counts.counts, color=_BAR, width=width)
    axes.axvline(lengths[2], color=_MARK, linewidth=1.4)
    _whole_numbers(axes)


def _draw_ranges(axes: Axes, summary: Summary) -> None:
    _title(axes, "Feature ranges", "bar: smallest to largest, dot: mean")
    axes.set_xlabel("column")
    low, high, mean = (
        np.array([getattr(f, field) for f in summary.feature_summaries], dtype=np.float64)
        for field in ("minimum", "maximum", "mean")
    )
    known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    if len(known) == 0:
        _nothing(axes, "no feature has a value")
        return
    width, dot = _thin(summary.features)
    axes.vlines(known, low[known], high[known], color=_BAR, linewidth=width)
    axes.plot(known, mean[known], linestyle="none", marker="o", markersize=dot, color=_MARK)
    if max(np.abs(low[known]).max(), np.abs(high[known]).max()) > 100:
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_xlim(-0.8, summary.features - 0.2)
    _whole_numbers(axes)


def _draw_zeros(axes: Axes, summary: Summary) -> None:
    _title(axes, "Share of zeros", "")
    axes.set_xlabel("column")
    if summary.features == 0 or summary.documents == 0:
        _nothing(axes, "no feature has a value")
        return
    width, dot = _thin(summary.features)
    zeros = [f.zeros for f in summary.feature_summaries]
    missing = [f.missing / summary.documents for f in summary.feature_summaries]
    axes.vlines(range(summary.features), 0, zeros, color=_BAR, linewidth=width)
    if any(missing):
        gaps = [j for j, share in enumerate(missing) if share]
        _title(axes, "Share of zeros", "dot: share of missing values")
        axes.plot(gaps, [missing[j] for j in gaps], "o", markersize=dot, color=_MARK)
    axes.set_xlim(-0.8, summary.features - 0.2)
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    _whole_numbers(axes)


def _draw_ranges_of(axes: Axes, histogram: Histogram) -> None:
    low, high = np.array(histogram.low), np.array(histogram.high)
    axes.bar(low, histogram.counts, width=0.92 * (high - low), align="edge", color=_BAR)


def _thin(features: int) -> tuple[float, float]:
    """Return the width of bars and the size of dots, so that neighbours do not overlap."""
    room = 240 / max(features, 1)
    return min(8.0, max(0.5, room)), min(4.5, max(1.0, room))


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 5, 10], integer=True))


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_INK)
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_INK, labelsize=8, length=0)
    axes.xaxis.label.set(color=_INK, size=9)
    axes.yaxis.label.set(color=_INK, size=9)


def _title(axes: Axes, title: str, aside: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=_INK)
    axes.set_title(aside, loc="right", fontsize=8, color=_INK)


def _nothing(axes: Axes, why: str) -> None:
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes, color=_INK)
    axes.set(xticks=[], yticks=[])


def _thousands(count: float, _: object = None) -> str:
    return f"{count:,.0f}" if count == int(count) else ""


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or share == 0 else "<1%"
