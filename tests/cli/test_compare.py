"""`compare`, as a whole command."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rankloop as rl
from rankloop.cli.progress import describe_progress
from rankloop.data.simulate import mslr_like
from rankloop.experiments.comparison import ComparisonProgress


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Simulated data in LETOR's layout, two folds."""
    root = tmp_path_factory.mktemp("compare") / "data"
    data = mslr_like(40, np.random.default_rng(5), n_features=6, mean_length=10).data
    for i, name in enumerate(["Fold1", "Fold2"]):
        (root / name).mkdir(parents=True)
        turned = data.select(np.roll(np.arange(40), 20 * i))
        for part, queries in (("train", (0, 20)), ("vali", (20, 30)), ("test", (30, 40))):
            rl.write_letor(turned.select(slice(*queries)), root / name / f"{part}.txt")
    return root


RANKERS = ["-r", "solar-i", "-r", "tiny"]


def test_json(ok, tiny, folder):
    command = ["compare", folder, *RANKERS, "-m", "nDCG@5", "-m", "AP", "-c", "letor3"]
    found = ok(*command, "--scale", "log", "--seed", 3, "--json").json
    expected = rl.compare(
        folder, ["solar-i", "tiny"], ["nDCG@5", "AP"], "letor3", scale="log", seed=3
    )
    for row, twin in zip(found, expected.to_dicts(), strict=True):
        assert {"ranker", "measure", "convention", "mean", "std", "folds", "seconds"} <= row.keys()
        for key in row.keys() - {"seconds", "fit_seconds"}:
            assert row[key] == twin[key], key


def test_tables(ok, tiny, folder):
    done = ok("compare", folder, *RANKERS, "--baseline", "tiny", "--jobs", 2)
    mean = rl.compare(folder, ["solar-i", "tiny"]).rows[0].mean
    assert f"{mean:.4f}" in done.out
    assert "nDCG@10 (standard)" in done.out
    assert "against tiny" in done.out
    assert "settings tried" in done.out
    assert done.err == ""


def test_resume(ok, tiny, folder, tmp_path, monkeypatch):
    command = ["compare", folder, *RANKERS, "--resume", tmp_path / "cells", "--json"]
    first = ok(*command).json
    assert len(list((tmp_path / "cells").iterdir())) == 4
    monkeypatch.setattr("rankloop.experiments.comparison.run_fold", None)  # nothing is left to run
    assert ok(*command).json == first


def test_numbered_folds_and_no_search(ok, folder):
    command = ["compare", folder, "-r", "solar-i", "--folds", 4, "--no-search", "--json"]
    (row,) = ok(*command).json
    assert row["folds"] == 4
    assert row["chosen"] == [{}] * 4


def test_markdown_report(ok, tiny, folder, tmp_path):
    ok("compare", folder, *RANKERS, "-m", "AP", "--report", tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| ranker | mean |" in text
    assert f"rankloop compare {folder} -r solar-i" in text
    assert "![Means and their standard errors](page.png)" in text
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    assert "convention standard: gain 2^r - 1" in text
    assert "LETOR's own folds" in text
    assert not re.search(r"(?<!\\)\*", text)  # a star is a star
    widths = {line.count("|") for line in text.split("## What was chosen")[0].splitlines()[4:8]}
    assert len(widths - {0}) == 1


def test_html_report_needs_no_other_file(ok, tiny, folder, tmp_path):
    ok("compare", folder, *RANKERS, "--report", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.startswith("<!doctype html>")
    assert text.rstrip().endswith("</html>")
    assert "<svg" in text
    assert not re.search(r'(src|href)="(?!#)', text.replace("xlink:href", "href"))
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_report_without_matplotlib_says_so(ok, folder, tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    for page in ("page.md", "page.html"):
        ok("compare", folder, "-r", "slam", "--report", tmp_path / page)
        assert "No figure" in (tmp_path / page).read_text()


def test_a_failed_report_leaves_the_old_one(run, folder, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("precious")

    def broken(*_):
        raise rl.DataError("broken")

    monkeypatch.setattr("rankloop.experiments.report._method_lines", broken)
    assert run("compare", folder, "-r", "slam", "--report", page).code == 1
    assert page.read_text() == "precious"


def test_plot(ok, tiny, folder, tmp_path):
    ok("compare", folder, *RANKERS, "-m", "AP", "-m", "P@1", "--plot", tmp_path / "a.svg")
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-r", "slm"], "unknown ranker 'slm'"),
        (["-r", "slam", "--baseline", "auto"], "baseline 'auto' is not among"),
        (["-r", "slam", "--folds", "2"], "folds must be letor or"),
        (["-r", "slam", "--report", "a.pdf"], "expected a name that ends in .md or .html"),
        (["-r", "slam", "--report", "no/a.md"], "there is no folder no"),
        (["-r", "slam", "--plot", "a.jpg"], "found the suffix '.jpg'"),
        (["-r", "slam", "-m", "best"], "unknown measure"),
        (["-r", "slam", "--scale", "x"], "there is no scaler 'x'"),
    ],
)
def test_errors_come_before_the_work(run, folder, options, complaint, monkeypatch):
    monkeypatch.setattr("rankloop.experiments.comparison.run_fold", None)
    done = run("compare", folder, *options)
    assert done.code == 2
    assert complaint in done.complaint


def test_progress_says_how_long_it_takes():
    cell = ComparisonProgress("auto", "Fold1", "started", 3, 15, 200.0)
    line = describe_progress(cell, ["auto on Fold1"])
    assert line == "3 of 15 done, about 4 min left: auto on Fold1"
    some = ComparisonProgress("auto", "Fold1", "done", 1, 15, 8.0, ("blend", "slam"))
    assert describe_progress(some, []) == "1 of 15 done, about 8 s left, and more for blend, slam"
    first = ComparisonProgress("auto", "Fold1", "started", 0, 15)
    assert describe_progress(first, []) == "0 of 15 done, time left unknown"
