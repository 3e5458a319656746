"""Experiments of the papers: what is judged, what is kept, what is never passed off as run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.experiments.papers import EXPERIMENTS
from rankloop.experiments.papers.datasets import find, stand_in
from rankloop.experiments.papers.declaration import (
    Claim,
    Curve,
    Experiment,
    Found,
    Measured,
    Part,
    Published,
    Setting,
    Verdict,
)
from rankloop.experiments.papers.report import markdown, write, write_index
from rankloop.experiments.papers.runner import run

QUICK = Setting(quick=True)


def experiment(part):
    return Experiment("it", "A paper", "Table 1", "Something.", (part,))


def number(value=0.5):
    def measure(source, setting):
        return Found(
            {"a": Measured(value, 0.1), "b": Measured(-value)},
            {"panel": [Curve("line", [1.0, 2.0], [value, value])]},
            ("x", "y"),
            ("a note",),
        )

    return measure


@pytest.mark.parametrize(
    ("expected", "ours", "verdict"),
    [
        (Published(0.5, 0.01), Measured(0.505), "OK"),
        (Published(0.5, 0.01), Measured(0.6), "ABOVE"),
        (Published(0.5, 0.01), Measured(0.48), "NEAR"),
        (Published(0.5, 0.01), Measured(0.4), "FAR"),
        (Published(0.5, 0.01, lower_is_better=True), Measured(0.4), "ABOVE"),
        (Published(0.5, 0.01, lower_is_better=True), Measured(0.52), "NEAR"),
        (Published(0.5, 0.01, lower_is_better=True), Measured(0.6), "FAR"),
        (Published(0.5, 0.01), Measured(float("nan")), "FAR"),
        (Claim(above=0), Measured(0.1), "OK"),
        (Claim(above=0), Measured(0.0), "FAR"),
        (Claim(above=0.5), Measured(0.4), "FAR"),
        (Claim(below=0.5), Measured(0.4), "OK"),
        (Claim(below=0.5), Measured(0.6), "FAR"),
        (Claim(above=0, slack=0.2), Measured(-0.1), "NEAR"),
        (Claim(above=0, slack=0.2), Measured(-0.3), "FAR"),
        (Claim(above=0, slack=0.2), Measured(float("nan")), "FAR"),
        (Claim(above=0), Measured.over([0.1, 0.0, 0.2]), "NEAR"),  # t of 2 trials: 4.3 errors
        (Claim(above=0), Measured.over([0.1, 0.08, 0.12]), "OK"),
        (Claim(above=0), Measured.over([-0.1, 0.0, -0.2]), "NEAR"),
        (Claim(above=0), Measured.over([-0.1, -0.08, -0.12]), "FAR"),
        (Claim(below=0), Measured.over([0.1, 0.08, 0.12]), "FAR"),
    ],
)
def test_verdicts(expected, ours, verdict):
    assert expected.judge(ours) == verdict


@pytest.mark.parametrize("sides", [{}, {"above": 0, "below": 1}])
def test_a_claim_has_one_side(sides):
    with pytest.raises(DataError, match="needs either above or below"):
        Claim(**sides)


def test_differences_are_taken_trial_by_trial():
    first, second = Measured.over([1.0, 2.0, 3.0]), Measured.over([0.5, 1.5, 2.5])
    assert first.minus(second) == Measured(0.5, 0.0, 0.0, (0.5, 0.5, 0.5))
    assert first.minus(Measured(1.0)) == Measured(1.0)  # nothing to pair with
    assert first.error == pytest.approx(1 / np.sqrt(3))


def test_an_outcome_counts_its_verdicts():
    part = Part("p", number(), {"a": Published(0.5, 0.01), "b": Claim(above=0)})
    outcome = run(experiment(part), Setting())
    assert [j.verdict for j in outcome.judged] == [Verdict.OK, Verdict.FAR]
    tree = json.loads(json.dumps(outcome.to_dict()))
    assert tree["verdicts"] == {
        "OK": 1, "NEAR": 0, "ABOVE": 0, "FAR": 1, "not judged": 0, "not run": 0,
    }  # fmt: skip
    assert tree["values"][0]["difference"] == 0


def test_a_quick_run_judges_nothing():
    part = Part("p", number(), {"a": Published(0.5, 0.01), "b": Claim(above=0)})
    outcome = run(experiment(part), QUICK)
    assert [j.verdict for j in outcome.judged] == [Verdict.NOT_JUDGED] * 2
    assert "not judged, a quick run is not judged" in markdown(outcome, [])


def test_fewer_trials_are_told(tmp_path):
    seen = []

    def measure(source, setting):
        seen.append(setting.trials(50))
        return number()(source, setting)

    it = experiment(Part("p", measure, {"a": Claim(above=0)}))
    for setting in (Setting(), Setting(max_trials=10), QUICK):
        run(it, setting, keep=tmp_path)
    assert seen == [50, 10, 2]
    page = markdown(run(it, Setting(max_trials=10), keep=tmp_path), [])
    assert "--trials 10" in page
    assert "at most 10 trials" in page
    assert "at most" not in markdown(run(it, Setting(), keep=tmp_path), [])


def test_claims_show_what_was_measured():
    part = Part("p", number(), {"a": Claim(above=0.4)})
    page = markdown(run(experiment(part), Setting()), [])
    assert "| p | made by the experiment | a | 0.5000 |  | > 0.4 | OK |" in page


def test_data_that_is_not_there_is_not_run(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path))
    part = Part("p", number(), {"a": Published(0.5, 0.01)}, data="TD2003")
    outcome = run(experiment(part), Setting())
    assert [(j.verdict, j.ours) for j in outcome.judged] == [(Verdict.NOT_RUN, None)]
    assert outcome.found == {}


def test_a_stand_in_is_never_judged_by_published_numbers(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path))
    part = {"a": Published(0.5, 0.01), "b": Claim(above=0)}
    outcome = run(experiment(Part("p", number(), part, data="MSLR", stand_in=70)), Setting())
    assert [j.verdict for j in outcome.judged] == [Verdict.NOT_JUDGED, Verdict.FAR]
    assert outcome.sources == {"p": "MSLR (simulated, 70 queries)"}


def test_finished_parts_are_not_run_again(tmp_path):
    runs = []

    def measure(source, setting):
        runs.append(setting.seed)
        return number()(source, setting)

    it = experiment(Part("p", measure, {"a": Claim(above=0)}))
    first = run(it, Setting(), keep=tmp_path)
    again = run(it, Setting(), keep=tmp_path)
    run(it, Setting(seed=1), keep=tmp_path)
    assert runs == [0, 1]
    assert first.to_dict() == again.to_dict()
    assert first.found == again.found


def test_a_report_is_a_page_numbers_and_pictures(tmp_path):
    part = Part("p, q", number(), {"a": Published(0.5, 0.01), "b": Claim(above=0)})
    page, numbers, picture = write(run(experiment(part), Setting()), tmp_path)
    text = page.read_text()
    assert picture.name == "it-p-q.png"  # a space would end the link
    assert "| 0.5000 | 0.1000 | 0.5000 | OK |" in text
    assert "a note" in text
    assert picture.name in text
    assert json.loads(numbers.read_text())["id"] == "it"
    assert picture.stat().st_size > 1000


def test_the_index_leads_to_all_pages_of_a_folder(tmp_path):
    part = Part("p", number(), {"a": Published(0.5, 0.01), "b": Claim(above=0)})
    one, two, never = (
        dataclasses.replace(experiment(part), id=name) for name in ("one", "two", "never")
    )
    write(run(one, Setting()), tmp_path)
    write(run(two, Setting(max_trials=5)), tmp_path)
    lines = write_index(tmp_path, [two, never, one]).read_text().splitlines()
    assert lines[-3:] == [
        "| [two](two.md) | Something. (at most 5 trials) | 1 | 0 | 0 | 1 | 0 | 0 |",
        "| [one](one.md) | Something. | 1 | 0 | 0 | 1 | 0 | 0 |",
        "| all | | 2 | 0 | 0 | 2 | 0 | 0 |",
    ]


def test_the_reason_is_told_where_numbers_are_far(tmp_path):
    for expected, told in ((0.7, True), (0.5, False)):
        it = dataclasses.replace(
            experiment(Part("p", number(), {"a": Published(expected, 0.01)})), reason="because"
        )
        outcome = run(it, Setting())
        assert outcome.to_dict()["reason"] == ("because" if told else "")
        assert ("**Why some are far.** because" in markdown(outcome, [])) == told


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_far_in_the_docs_has_a_reason(name):
    page = Path(__file__).parents[2] / "docs" / "papers" / f"{name}.md"
    text = page.read_text()
    reason = EXPERIMENTS[name].reason
    assert ("| FAR |" in text) == (bool(reason) and reason in text)


def test_data_sets_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKLOOP_DATA", raising=False)
    data = rl.QueryDataset.from_arrays(np.eye(4), [0, 1, 2, 0], group=[2, 2])
    (tmp_path / "all" / "MSLR-sample").mkdir(parents=True)
    rl.write_letor(data, tmp_path / "all" / "MSLR-sample" / "train.txt")
    assert find("MSLR") is None
    source = find("MSLR", [str(tmp_path / "all")])
    assert (source.kind, len(source.data)) == ("sample", 2)
    assert find("MSLR", [f"MSLR={tmp_path / 'all' / 'MSLR-sample'}"]).kind == "real"
    with pytest.raises(DataError, match="there is no folder"):
        find("MSLR", ["MSLR=/nowhere"])
    with pytest.raises(DataError, match="unknown data set 'XYZ'"):
        find("XYZ")
    assert stand_in("TD2003", 5, 0) is None


def test_all_folds_together_hold_each_query_once(data_dir):
    assert len(find("OHSUMED", [str(data_dir)]).data) == 106


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_runs_give_every_value(name, data_dir):
    """Claims may fail on so few queries; names must agree with what was published."""
    outcome = run(EXPERIMENTS[name], QUICK, [str(data_dir)])
    for judged in outcome.judged:
        at_hand = judged.data != "none"
        assert (judged.ours is not None) == at_hand, judged
