"""Forty rankers in one picture can be told apart."""

import numpy as np

from rankloop.experiments.progressive import Stream
from rankloop.measures.measure import parse
from rankloop.plotting.figures import line_style
from rankloop.plotting.streams import plot_streams


def test_forty_lines_differ():
    styles = [str(sorted(line_style(k).items())) for k in range(40)]
    assert len(set(styles)) == 40


def test_twenty_rankers_in_one_plot():
    values = np.linspace(0, 1, 5)[None]
    streams = [Stream(f"l{k}", parse("AP"), "standard", values * k / 20) for k in range(20)]
    (axes,) = plot_streams(streams).axes
    looks = {
        (
            line.get_color(),
            line.get_linestyle(),
            line._dash_pattern[1] and tuple(line._dash_pattern[1]),
        )
        for line in axes.lines
    }
    assert len(looks) == 20
