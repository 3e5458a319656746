"""Tuning: what is measured is what is trained, trials are kept, Optuna stays in its place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.experiments.tune_folds import Plan
from rankloop.experiments.tuning import tune

from ..tiny import Tiny


@pytest.fixture(scope="module")
def data():
    made = mslr_like(40, np.random.default_rng(3), n_features=6, mean_length=10).data
    return rl.data.RobustLog().fit(made).transform(made)


def by_hand(ranker, data, measure, convention, folds, seed):
    reached = []
    for i, (train, test) in enumerate(rl.k_folds(data, folds, np.random.default_rng(seed))):
        mixed = test.shuffle(np.random.default_rng([seed, i, 2]))
        scores = rl.make_ranker(ranker).fit(train).predict(mixed)
        reached.append(rl.evaluate(mixed, scores, measure, convention)[measure])
    return np.mean(reached)


def test_values_are_means_over_folds(data):
    found = tune(data, "solar-i", "AP", "letor3", folds=3, trials=6, seed=4)
    assert len(found.trials) == 6
    assert found.trials[0].setting == {"C": 1e-5}  # the ranker's own first
    for trial in (t for t in found.trials if not t.pruned):
        expected = by_hand(f"solar-i:C={trial.setting['C']}", data, "AP", "letor3", 3, 4)
        assert trial.value == pytest.approx(expected)
    assert found.value == max(t.value for t in found.trials if not t.pruned)
    assert by_hand(found.ranker, data, "AP", "letor3", 3, 4) == pytest.approx(found.value)


@pytest.mark.parametrize("place", [str, Path, lambda path: [path]])
def test_files_are_read(data, tmp_path, place):
    rl.write_letor(data, tmp_path / "all.txt")
    options = {"ranker": "solar-i", "trials": 2, "folds": 2}
    found = tune(place(tmp_path / "all.txt"), **options)
    assert found.value == tune(data, **options).value


def test_given_parameters_stay(tiny, data):
    found = tune(data, "tiny:rounds=2,valid_measure=AP", trials=4, folds=3)
    assert found.ranker.startswith("tiny:rounds=2,valid_measure=AP,shrink=")
    assert {trial.setting["shrink"] for trial in found.trials} <= {0.0, 0.5, 1.0}


def test_the_same_seed_gives_the_same(data):
    one, same, other = (tune(data, "slam", trials=8, folds=3, seed=s) for s in (1, 1, 2))
    assert one == same
    assert one.trials != other.trials


def test_it_goes_on_from_its_file(data, tmp_path, monkeypatch):
    asked = {"folds": 3, "seed": 1, "storage": tmp_path / "trials.log"}
    first = tune(data, "slam", trials=3, **asked)
    seen = []
    second = tune(data, "slam", trials=5, on_trial=lambda t, best: seen.append(t), **asked)
    assert second.trials[:3] == first.trials
    assert [trial.number for trial in seen] == [4, 5]
    fitted = []
    monkeypatch.setattr(rl.Slam, "fit", lambda self, data: fitted.append(self))
    assert tune(data, "slam", trials=5, **asked) == second
    assert fitted == []


def test_another_question_starts_anew(data, tmp_path):
    asked = {"folds": 3, "storage": tmp_path / "trials.log", "trials": 2}
    tune(data, "slam", **asked)
    for change in ({"measure": "AP"}, {"seed": 3}, {"scale": "standard"}, {"folds": 4}):
        assert len(tune(data, "slam", **{**asked, **change}).trials) == 2
    other = tune(data.select(slice(0, 30)), "slam", **asked)
    assert len(other.trials) == 2


def test_bad_settings_are_given_up_early(data):
    found = tune(data, "solar-i", folds=5, trials=30)
    assert any(trial.pruned for trial in found.trials)
    assert all(trial.value is not None for trial in found.trials)


def test_an_interrupted_search_keeps_what_it_has(data, tmp_path):
    def stop(trial, best):
        if trial.number == 3:
            raise KeyboardInterrupt

    asked = {"folds": 3, "storage": tmp_path / "trials.log"}
    with pytest.raises(KeyboardInterrupt):
        tune(data, "slam", trials=9, on_trial=stop, **asked)
    assert len(tune(data, "slam", trials=4, **asked).trials) == 4


def test_a_setting_is_measured_once(tiny, data, monkeypatch):
    fits = []
    whole = Tiny.fit
    monkeypatch.setattr(Tiny, "fit", lambda self, data: (fits.append(1), whole(self, data))[1])
    tune(data, "tiny", trials=12, folds=3)
    assert len(fits) <= 3 * 3 + 3 * 2  # three settings, and those that pruning cut short


@pytest.mark.parametrize(
    ("ranker", "change", "says"),
    [
        ("auto", {}, "auto has no parameters to search"),
        ("slam:rate=1", {}, "no parameters to search"),
        ("slm", {}, "unknown ranker"),
        ("slam", {"trials": 0}, "trials must be"),
        ("slam", {"folds": 1}, "number of folds"),
        ("slam", {"scale": "x"}, "no scaler"),
        ("slam", {"timeout": 0}, "no setting of slam was finished"),
        ("slam", {"storage": "no/such/folder/file"}, "cannot keep trials"),
    ],
)
def test_errors(data, ranker, change, says):
    with pytest.raises(DataError, match=says):
        tune(data, ranker, **{"trials": 2, "folds": 3, **change})


def test_without_optuna(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankloop\[tune\]'"):
        tune(data, "slam")


def test_optuna_is_loaded_when_needed():
    code = "import sys, rankloop; rankloop.tune; import rankloop.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "optuna" not in done.stdout.split()


def with_brands(rng, n=60):
    """Queries whose grades follow from one of 40 brands."""
    brands, worth = rng.integers(0, 40, 8 * n), rng.permutation(40)
    table = {
        "qid": np.repeat(np.arange(n), 8).tolist(),
        "grade": (worth[brands] > 25).astype(int).tolist(),
        "brand": [f"b{brand}" for brand in brands],
        "price": rng.normal(size=8 * n).tolist(),
    }
    return rl.from_table(table, query="qid", label="grade")


def test_limits_of_categories_are_searched(monkeypatch):
    widths, prepare = {}, Plan.prepare

    def watch(plan, limit=None):
        made = prepare(plan, limit)
        widths[limit] = made[2][0][0].n_features
        return made

    monkeypatch.setattr(Plan, "prepare", watch)
    data = with_brands(np.random.default_rng(0))
    found = tune(data, "slam:measure=AP", folds=2, trials=6, category_limit=[2, 100])
    assert widths == {None: 41, 2: 1 + 2 + 256, 100: 41}
    whole = [trial for trial in found.trials if not trial.pruned]
    best = max(whole, key=lambda trial: trial.value)
    assert found.setting["category_limit"] == best.setting["category_limit"]
    assert {trial.setting["category_limit"] for trial in found.trials} == {2, 100}
    assert "category_limit" not in found.ranker
    limited = rl.Described(rl.make_ranker(found.ranker), category_limit=2)
    assert limited.category_limit == 2


def test_a_limit_needs_categories(rng):
    with pytest.raises(DataError, match="no categories"):
        tune(mslr_like(20, rng, n_features=3).data, "solar-i", folds=2, category_limit=[2])
    with pytest.raises(DataError, match="scaled column"):
        tune(with_brands(rng), "solar-i", folds=2, scale="log", category_limit=[2])


def test_the_command_trains_with_the_best_limit(tmp_path, rng):
    path = tmp_path / "brands.csv"
    data = with_brands(rng)
    brand = data.features.columns[0].categories
    rows = zip(data.query_ids.repeat(8), data.y, data.X.tolist(), strict=True)
    lines = [f"{qid},{grade:.0f},{brand[int(code)]},{price}" for qid, grade, (code, price) in rows]
    path.write_text("\n".join(["qid,grade,brand,price", *lines]))
    words = ["tune", str(path), "-r", "slam:measure=AP", "--folds", "2", "--trials", "3"]
    words += ["--category-limit", "2", "--category-limit", "100", "--json"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    said = json.loads(shown.stdout)
    assert f"--category-limit {said['setting']['category_limit']}" in said["command"]
