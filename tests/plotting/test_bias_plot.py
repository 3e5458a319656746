"""Position bias drawn: lines, bands and names."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.bias.result import PositionBias
from rankloop.exceptions import DataError
from rankloop.plotting.bias import plot_bias
from rankloop.plotting.figures import save_figure


def bias(method, *examination):
    values = np.array(examination)
    return PositionBias(method, values, values - 0.1, values + 0.1, 0.95)


def test_one_line_an_estimate(tmp_path):
    figure = plot_bias([bias("RandomTraffic", 1, 0.5), bias("AllPairs", 1, np.nan, 0.3)])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "RandomTraffic",
        "AllPairs",
    ]
    assert axes.lines[1].get_xdata().tolist() == [1, 3]  # what is not known has no point
    assert len(axes.collections) == 2
    save_figure(figure, tmp_path / "bias.png")
    assert (tmp_path / "bias.png").stat().st_size > 0


def test_names():
    figure = plot_bias(bias("Swaps", 1, 0.4), ["summer"])
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "summer"
    with pytest.raises(DataError, match="1 estimates and 2 names"):
        plot_bias(bias("Swaps", 1, 0.4), ["a", "b"])
