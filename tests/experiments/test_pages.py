"""Reports in HTML: whole in one file, in the dashboard's colours, with tables that sort."""

from __future__ import annotations

import re

import numpy as np
import pytest
from benchmarks.chromium import BROWSER, DRIVER

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.experiments.pages import drawing, page, table
from rankloop.experiments.papers.declaration import Experiment, ExperimentPart, Setting, row
from rankloop.experiments.papers.page import write_page
from rankloop.experiments.papers.protocols import online
from rankloop.experiments.papers.runner import run
from rankloop.experiments.report_tables import Table

NUMBERS = Table("speeds", ["name", "speed"], [["a<b", "9.5"], ["c", "1,000"], ["d", ""]])


@pytest.fixture(scope="module")
def reproduction():
    part = ExperimentPart(
        "separable",
        online(
            {"SLAM": ["slam"]},
            ["nDCG@10"],
            "standard",
            permutations=2,
            make=lambda setting: separable(30, np.random.default_rng(0)).data,
        ),
        row("SLAM", "nDCG@10", ".99", tolerance=0.5),
    )
    return run(Experiment("mine", "My paper", "Table 1", "It ranks.", (part,)), Setting())


def test_a_table_is_escaped_and_its_numbers_are_known():
    shown = table(NUMBERS, {"c": "good"})
    assert "a&lt;b" in shown
    assert '<th class="n"><button>speed</button></th>' in shown
    assert '<td class="good">c</td><td class="n">1,000</td>' in shown


def test_a_page_of_experiments_has_all_in_one_file(reproduction, tmp_path):
    write_page([reproduction], tmp_path / "run.html", "rankloop reproduce mine")
    text = (tmp_path / "run.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]
    assert '<td class="good">' in text
    assert "rankloop reproduce mine" in text
    assert "--accent" in text
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text.replace("http://www.w3.org", "")) == []


def test_a_drawing_takes_the_colours_of_the_page():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(facecolor="white")
    figure.add_subplot().plot([1, 2], color="#3b6ea8")
    shown = drawing(figure)
    assert "var(--s1)" in shown
    assert "#3b6ea8" not in shown
    assert "#ffffff" not in shown


@pytest.mark.slow
@pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver")
def test_headings_sort(tmp_path):
    pytest.importorskip("selenium")
    from benchmarks.chromium import chromium

    path = tmp_path / "page.html"
    path.write_text(page("Speeds", [table(NUMBERS)]), encoding="utf-8")
    names = "return [...document.querySelectorAll('td:first-child')].map(cell => cell.textContent)"
    click = "document.querySelectorAll('th button')[arguments[0]].click();" + names
    with chromium() as browser:
        browser.get(path.as_uri())
        assert browser.execute_script(click, 1) == ["c", "a<b", "d"]
        assert browser.execute_script(click, 1) == ["d", "a<b", "c"]
        assert browser.execute_script(click, 0) == ["a<b", "c", "d"]
        assert browser.get_log("browser") == []


def test_a_comparison_is_such_a_page(tmp_path):
    data = separable(30, np.random.default_rng(0)).data
    found = rl.compare(data, ["slam", "constant"], "nDCG@10", folds=3, search=False)
    rl.write_report(found, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<button>ranker</button>" in text
    assert "<td>slam</td>" in text
