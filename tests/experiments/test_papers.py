"""Experiments of the papers: what is judged, what is kept, what is never passed off as run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rankloop.exceptions import DataError
from rankloop.experiments.papers import EXPERIMENTS, keeprank
from rankloop.experiments.papers.declaration import (
    Claim,
    Estimate,
    Experiment,
    ExperimentPart,
    FigureCurve,
    PartResult,
    PublishedScore,
    ReproductionVerdict,
    Setting,
)
from rankloop.experiments.papers.report import markdown, write, write_index
from rankloop.experiments.papers.runner import run

QUICK = Setting(quick=True)


def experiment(part):
    return Experiment("it", "A paper", "Table 1", "Something.", (part,))


def number(value=0.5):
    def measure(source, setting):
        return PartResult(
            {"a": Estimate(value, 0.1), "b": Estimate(-value)},
            {"panel": [FigureCurve("line", [1.0, 2.0], [value, value])]},
            ("x", "y"),
            ("a note",),
        )

    return measure


@pytest.mark.parametrize(
    ("expected", "ours", "verdict"),
    [
        (PublishedScore(0.5, 0.01), Estimate(0.505), "OK"),
        (PublishedScore(0.5, 0.01), Estimate(0.6), "ABOVE"),
        (PublishedScore(0.5, 0.01), Estimate(0.48), "NEAR"),
        (PublishedScore(0.5, 0.01), Estimate(0.4), "FAR"),
        (PublishedScore(0.5, 0.01, lower_is_better=True), Estimate(0.4), "ABOVE"),
        (PublishedScore(0.5, 0.01, lower_is_better=True), Estimate(0.52), "NEAR"),
        (PublishedScore(0.5, 0.01, lower_is_better=True), Estimate(0.6), "FAR"),
        (PublishedScore(0.5, 0.01), Estimate(float("nan")), "FAR"),
        (Claim(above=0), Estimate(0.1), "OK"),
        (Claim(above=0), Estimate(0.0), "FAR"),
        (Claim(above=0.5), Estimate(0.4), "FAR"),
        (Claim(below=0.5), Estimate(0.4), "OK"),
        (Claim(below=0.5), Estimate(0.6), "FAR"),
        (Claim(above=0, slack=0.2), Estimate(-0.1), "NEAR"),
        (Claim(above=0, slack=0.2), Estimate(-0.3), "FAR"),
        (Claim(above=0, slack=0.2), Estimate(float("nan")), "FAR"),
        (Claim(above=0), Estimate.over([0.1, 0.0, 0.2]), "NEAR"),  # t of 2 trials: 4.3 errors
        (Claim(above=0), Estimate.over([0.1, 0.08, 0.12]), "OK"),
        (Claim(above=0), Estimate.over([-0.1, 0.0, -0.2]), "NEAR"),
        (Claim(above=0), Estimate.over([-0.1, -0.08, -0.12]), "FAR"),
        (Claim(below=0), Estimate.over([0.1, 0.08, 0.12]), "FAR"),
    ],
)
def test_verdicts(expected, ours, verdict):
    assert expected.judge(ours) == verdict


@pytest.mark.parametrize("sides", [{}, {"above": 0, "below": 1}])
def test_a_claim_has_one_side(sides):
    with pytest.raises(DataError, match="needs either above or below"):
        Claim(**sides)


def test_differences_are_taken_trial_by_trial():
    first, second = Estimate.over([1.0, 2.0, 3.0]), Estimate.over([0.5, 1.5, 2.5])
    assert first.minus(second) == Estimate(0.5, 0.0, 0.0, (0.5, 0.5, 0.5))
    assert first.minus(Estimate(1.0)) == Estimate(1.0)  # nothing to pair with
    assert first.error == pytest.approx(1 / np.sqrt(3))


def test_a_reproduction_counts_its_verdicts():
    part = ExperimentPart("p", number(), {"a": PublishedScore(0.5, 0.01), "b": Claim(above=0)})
    reproduction = run(experiment(part), Setting())
    assert [j.verdict for j in reproduction.comparisons] == [
        ReproductionVerdict.OK,
        ReproductionVerdict.FAR,
    ]
    tree = json.loads(json.dumps(reproduction.to_dict()))
    assert tree["verdicts"] == {
        "OK": 1, "NEAR": 0, "ABOVE": 0, "FAR": 1, "not judged": 0, "not run": 0,
    }  # fmt: skip
    assert tree["values"][0]["difference"] == 0


def test_a_quick_run_judges_nothing():
    part = ExperimentPart("p", number(), {"a": PublishedScore(0.5, 0.01), "b": Claim(above=0)})
    reproduction = run(experiment(part), QUICK)
    assert [j.verdict for j in reproduction.comparisons] == [ReproductionVerdict.NOT_JUDGED] * 2
    assert "not judged (2): a quick run is not judged" in markdown(reproduction, [])


def test_fewer_trials_are_told(tmp_path):
    seen = []

    def measure(source, setting):
        seen.append(setting.trials(50))
        return number()(source, setting)

    it = experiment(ExperimentPart("p", measure, {"a": Claim(above=0)}))
    for setting in (Setting(), Setting(max_trials=10), QUICK):
        run(it, setting, keep=tmp_path)
    assert seen == [50, 10, 2]
    page = markdown(run(it, Setting(max_trials=10), keep=tmp_path), [])
    assert "--trials 10" in page
    assert "at most 10 trials" in page
    assert "at most" not in markdown(run(it, Setting(), keep=tmp_path), [])


def test_claims_show_what_was_measured():
    part = ExperimentPart("p", number(), {"a": Claim(above=0.4)})
    page = markdown(run(experiment(part), Setting()), [])
    assert "| p | made by the experiment | a | 0.5000 |  | > 0.4 | OK |" in page


def test_data_that_is_not_there_is_not_run(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path))
    part = ExperimentPart("p", number(), {"a": PublishedScore(0.5, 0.01)}, data="TD2003")
    reproduction = run(experiment(part), Setting())
    assert [(j.verdict, j.ours) for j in reproduction.comparisons] == [
        (ReproductionVerdict.NOT_RUN, None)
    ]
    assert reproduction.results == {}


def test_a_stand_in_is_never_judged_by_published_numbers(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path))
    part = {"a": PublishedScore(0.5, 0.01), "b": Claim(above=0)}
    reproduction = run(
        experiment(ExperimentPart("p", number(), part, data="MSLR-WEB10K", stand_in=70)), Setting()
    )
    assert [j.verdict for j in reproduction.comparisons] == [
        ReproductionVerdict.NOT_JUDGED,
        ReproductionVerdict.FAR,
    ]
    assert reproduction.sources == {"p": "MSLR-WEB10K (simulated, 70 queries)"}


def test_finished_parts_are_not_run_again(tmp_path):
    runs = []

    def measure(source, setting):
        runs.append(setting.seed)
        return number()(source, setting)

    it = experiment(ExperimentPart("p", measure, {"a": Claim(above=0)}))
    first = run(it, Setting(), keep=tmp_path)
    again = run(it, Setting(), keep=tmp_path)
    run(it, Setting(seed=1), keep=tmp_path)
    assert runs == [0, 1]
    assert first.to_dict() == again.to_dict()
    assert first.results == again.results


def test_a_report_is_a_page_numbers_and_pictures(tmp_path):
    part = ExperimentPart("p, q", number(), {"a": PublishedScore(0.5, 0.01), "b": Claim(above=0)})
    page, numbers, picture = write(run(experiment(part), Setting()), tmp_path)
    text = page.read_text()
    assert picture.name == "it-p-q.png"  # a space would end the link
    assert "| 0.5000 | 0.1000 | 0.5000 | OK |" in text
    assert "a note" in text
    assert picture.name in text
    assert json.loads(numbers.read_text())["id"] == "it"
    with Image.open(picture) as drawn:
        assert drawn.mode == "P"  # a palette: a quarter of the size


def test_the_index_leads_to_all_pages_of_a_folder(tmp_path):
    part = ExperimentPart("p", number(), {"a": PublishedScore(0.5, 0.01), "b": Claim(above=0)})
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
            experiment(ExperimentPart("p", number(), {"a": PublishedScore(expected, 0.01)})),
            reason="because",
        )
        reproduction = run(it, Setting())
        assert reproduction.to_dict()["reason"] == ("because" if told else "")
        assert ("**Why some are far.** because" in markdown(reproduction, [])) == told


OWN_DATA = [name for name, e in EXPERIMENTS.items() if not any(part.data for part in e.parts)]


@pytest.mark.parametrize("name", OWN_DATA)
def test_quick_runs_give_every_value(name):
    """Those that make their own data; `test_collections` runs the others."""
    for comparison in run(EXPERIMENTS[name], QUICK).comparisons:
        assert comparison.ours is not None, comparison


def test_overlapping_splits_make_an_interval_wider():
    """Nadeau and Bengio's corrected variance, in the ratio of 20% to 60% of the queries."""
    trials = [0.1, 0.3, 0.2, 0.25]
    alone, overlapping = Estimate.over(trials), Estimate.over(trials, overlap=1 / 3)
    assert overlapping.error == pytest.approx(alone.spread * np.sqrt(1 / 4 + 1 / 3))
    assert Claim(above=0.05).judge(alone) == "OK"
    assert Claim(above=0.05).judge(overlapping) == "NEAR"
    assert overlapping.minus(Estimate.over([0.0] * 4, 1 / 3)).error == overlapping.error


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_far_in_the_docs_has_a_reason(name):
    page = Path(__file__).parents[2] / "docs" / "papers" / f"{name}.md"
    text = page.read_text()
    reason = EXPERIMENTS[name].reason
    assert ("| FAR |" in text) == (bool(reason) and reason in text)


def test_keeprank_over_rankboost_fold_by_fold():
    """Figures 6 and 7: RankBoost has .5 everywhere; KeepRank has the fold's number tenths."""
    ours, theirs = [0.6, 0.5, 0.3, 0.7, 0.5], [0.5] * 5
    values = {
        f"{name}, {measure}@{k}": Estimate.over(ours if name == "KeepRank" else theirs)
        for name in keeprank.RANKERS
        for measure in ("P", "nDCG")
        for k in range(1, 11)
    }
    values["RankBoost, P@1"] = Estimate.over([0.0, 0.5, 0.5, 0.5, 0.5])  # fold 1 has no ratio there
    ratios = keeprank._ratios(values)
    assert np.isnan(ratios["P"][0]).tolist() == [True] + [False] * 9
    found = {name: estimate.value for name, estimate in keeprank._of_folds(ratios).items()}
    for measure in ("P", "nDCG"):
        assert found[f"{measure}@n over RankBoost's, fold 1"] == pytest.approx(0.6 / 0.5)
        assert found[f"{measure}@n over RankBoost's, fold 4"] == pytest.approx(0.7 / 0.5)
        least = found[f"{measure}@n over RankBoost's, least other fold less fold 3"]
        assert least == pytest.approx((0.5 - 0.3) / 0.5)
    ahead = keeprank._ahead_at_the_top(values, 4)[keeprank._AT_THE_TOP]
    assert ahead.value == pytest.approx(np.mean(ours) - 0.5)
    (expected,) = (
        p.expected for p in EXPERIMENTS["keeprank-figs"].parts if p.name == "TD2004, chosen by AP"
    )
    assert found.keys() <= expected.keys()
