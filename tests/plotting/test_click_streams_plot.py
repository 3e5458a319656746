"""Curves of rankers for clicks."""

import numpy as np

from rankloop.experiments.click_streams import ClickStream
from rankloop.plotting.streams import plot_click_streams


def stream(ranker: str, user: str) -> ClickStream:
    at = np.array([10, 100])
    return ClickStream(
        ranker,
        user,
        "nDCG@10",
        at,
        np.array([[0.25, 0.5], [0.5, 0.75]]),
        np.ones(2),
        np.ones((2, 1)),
    )


def test_a_panel_a_user_and_a_line_a_ranker():
    figure = plot_click_streams([stream("a", "u"), stream("b", "u"), stream("a", "v")])
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["u", "v"]
    assert [line.get_label() for line in first.lines] == ["a", "b"]
    assert first.lines[0].get_ydata().tolist() == [0.375, 0.625]
    assert first.get_ylabel() == "nDCG@10 on held-out queries"
