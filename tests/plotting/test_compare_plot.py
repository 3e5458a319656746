"""The figure of a comparison shows what was measured."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import mslr_like
from rankloop.plotting.compare import plot_standings


@pytest.fixture(scope="module")
def standings():
    data = mslr_like(30, np.random.default_rng(0), n_features=4, mean_length=8).data
    return rl.compare(data, ["slam", "solar-i"], ["AP", "P@1"], folds=3, search=False)


def test_one_panel_a_measure_best_on_top(standings):
    figure = plot_standings(standings)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "AP (standard)",
        "P@1 (standard)",
    ]
    for axes, panel in zip(figure.axes, standings.panels, strict=True):
        rows = standings.panel(*panel)
        assert [label.get_text() for label in axes.get_yticklabels()] == [r.ranker for r in rows]
        assert axes.yaxis_inverted()
        assert [text.get_text() for text in axes.texts] == [f"{row.mean:.4f}" for row in rows]


def test_bars_are_standard_errors_and_dots_are_folds(standings):
    axes = plot_standings(standings).axes[0]
    for place, row in enumerate(standings.panel("AP", "standard")):
        bars, dots = axes.containers[place], axes.lines[4 * place]
        (low, high) = bars[2][0].get_segments()[0][:, 0]
        assert (low, high) == pytest.approx((row.mean - row.se, row.mean + row.se))
        assert dots.get_xdata().tolist() == list(row.fold_means)


def test_a_ranker_without_any_value_is_drawn_empty():
    data = rl.QueryDataset.from_arrays(np.eye(12), np.arange(12) % 3, group=[3] * 4)
    found = rl.compare(data, ["slam"], "AP(rel=9)", folds=3, search=False)  # nothing is relevant
    assert found.to_dicts()[0]["mean"] is None
    plot_standings(found).canvas.draw()
