from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from rankloop.data.dataset import QueryDataset
from rankloop.data.summary import summarise
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.plotting.figures import save_figure
from rankloop.plotting.summary import plot_summary


def dataset(n=300, d=5, grades=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 6, d)
    X[rng.random(X.shape) < 0.3] = 0
    y = rng.integers(0, grades, n) / (1 if grades < 20 else grades)
    sizes = np.bincount(rng.integers(0, max(n // 9, 1), n))
    return QueryDataset.from_arrays(X, y, group=sizes, allow_nan=True)


def heights(axes):
    return [bar.get_height() for bar in axes.patches]


def test_draws_the_numbers_of_the_summary():
    summary = summarise(dataset())
    grades, lengths, ranges, zeros = plot_summary(summary).axes
    assert heights(grades) == list(summary.grades.counts)
    assert [label.get_text() for label in grades.get_xticklabels()] == ["0", "1", "2"]
    assert heights(lengths) == list(summary.length_counts.counts)
    assert lengths.lines[0].get_xdata()[0] == summary.list_lengths[2]
    spans = [segment[:, 1].tolist() for segment in ranges.collections[0].get_segments()]
    assert spans == [[f.minimum, f.maximum] for f in summary.feature_summaries]
    assert ranges.lines[0].get_ydata().tolist() == [f.mean for f in summary.feature_summaries]
    assert ranges.get_yscale() == "symlog"
    tops = [segment[1, 1] for segment in zeros.collections[0].get_segments()]
    assert tops == [f.zeros for f in summary.feature_summaries]


def test_small_values_keep_a_plain_axis():
    data = QueryDataset.from_arrays([[0.0], [1.0]], [0, 1], group=[2])
    assert plot_summary(summarise(data)).axes[2].get_yscale() == "linear"


def test_binned_grades_are_ranges():
    summary = summarise(dataset(grades=50))
    bars = plot_summary(summary).axes[0].patches
    assert [bar.get_x() for bar in bars] == pytest.approx(summary.grades.low)
    assert heights(plot_summary(summary).axes[0]) == list(summary.grades.counts)


def test_missing_values_are_dots():
    data = QueryDataset.from_arrays([[1, np.nan], [2, 3]], [0, 1], group=[2], allow_nan=True)
    dots = plot_summary(summarise(data)).axes[3].lines[0]
    assert (dots.get_xdata().tolist(), dots.get_ydata().tolist()) == ([1], [0.5])


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        QueryDataset.from_arrays(np.zeros((0, 0)), [], qid=[]),
        QueryDataset.from_arrays(np.zeros((2, 0)), [-1, -1], qid=[1, 1]),
        QueryDataset.from_arrays([[np.nan]], [0], qid=["a"], allow_nan=True),
        dataset(40, 700),
    ],
    ids=["nothing", "no features", "all missing", "many features"],
)
def test_every_shape_renders(tmp_path, data):
    save_figure(plot_summary(summarise(data)), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89")]
)
def test_saves_by_suffix_and_repeatably(tmp_path, suffix, head):
    files = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for file in files:
        save_figure(plot_summary(summarise(dataset(50))), file)
    assert files[0].read_bytes().startswith(head)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("name", ["figure.bmp", "figure"])
def test_other_suffixes_list_the_formats(tmp_path, name):
    with pytest.raises(DataError, match=r"suffix.*\.png, \.svg, \.pdf"):
        save_figure(Figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(self, target, **_):
        target.write_bytes(b"half")
        raise RuntimeError

    target = tmp_path / "figure.png"
    target.write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(RuntimeError):
        save_figure(Figure(), target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"rankloop\[plot\]"):
        plot_summary(summarise(dataset(20)))


@pytest.mark.slow
def test_imports_no_matplotlib_until_used_and_never_pyplot():
    code = """
import sys
import numpy as np
from rankloop.data.dataset import QueryDataset
from rankloop.data.summary import summarise
from rankloop.plotting import figures, summary
assert "matplotlib" not in sys.modules
summary.plot_summary(summarise(QueryDataset.from_arrays(np.eye(2), [0, 1], qid=[1, 1])))
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
