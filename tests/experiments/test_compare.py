"""Comparing rankers: honest, repeatable, resumable, the same for any number of jobs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import t, ttest_rel

import rankloop as rl
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError
from rankloop.experiments import comparison as module
from rankloop.experiments.comparison import compare
from rankloop.experiments.fold_source import Trials, find_splits
from rankloop.experiments.named_rankers import make_named_rankers
from rankloop.measures.measure import nDCG

RANKERS = ["tiny", "solar-i", "slam:rate=0.1"]


def made(n=40, seed=3):
    return mslr_like(n, np.random.default_rng(seed), n_features=6, mean_length=10).data


def write_letor_folder(folder, data, folds=3, poison=None):
    """Folds in LETOR's layout; `poison` changes the test part."""
    for i in range(folds):
        (folder / f"Fold{i + 1}").mkdir(parents=True)
        for name, share in (("train", slice(0, 20)), ("vali", slice(20, 30)), ("test", None)):
            part = data.select(slice(30, 40) if share is None else share)
            if share is None and poison is not None:
                part = poison(part)
            rl.write_letor(part, folder / f"Fold{i + 1}" / f"{name}.txt")
    return folder


@pytest.fixture(scope="module")
def data():
    return made()


@pytest.fixture
def folder(tmp_path, data):
    return write_letor_folder(tmp_path / "letor", data)


def results(standings):
    """Everything but the seconds."""
    return [
        {key: value for key, value in row.items() if "seconds" not in key}
        for row in standings.to_dicts()
    ]


class TestFolds:
    def test_every_query_is_tested_and_validated_once(self, data):
        splits, how = find_splits(data, 4, seed=1)
        parts = [split.parts() for split in splits]
        assert "4 folds" in how
        for place in (1, 2):
            ids = np.concatenate([part[place].query_ids for part in parts])
            assert sorted(ids.tolist()) == sorted(data.query_ids.tolist())
        for train, valid, test in parts:
            sets = [set(part.query_ids.tolist()) for part in (train, valid, test)]
            assert [len(s) for s in sets] == [20, 10, 10]
            assert len(set.union(*sets)) == 40

    def test_rotation_is_letors(self, data):
        """What fold i tests on, fold i + 1 validates on... counted round, as S1 to S5."""
        parts = [split.parts() for split in find_splits(data, 5)[0]]
        for i in range(5):
            tested = parts[i][2].query_ids
            assert np.array_equal(tested, parts[(i + 1) % 5][1].query_ids)

    def test_default_is_letor_where_there_is_one(self, folder, data, tmp_path):
        splits, how = find_splits(folder)
        assert [split.name for split in splits] == ["Fold1", "Fold2", "Fold3"]
        assert "LETOR" in how
        rl.write_letor(data, tmp_path / "all.txt")
        splits, how = find_splits(tmp_path / "all.txt")
        assert len(splits) == 5
        assert splits[0].parts()[0].n_queries == 24

    def test_broken_folds_are_not_passed_over(self, folder):
        (folder / "Fold2" / "vali.txt").unlink()
        with pytest.raises(DataError, match="has no vali file"):
            find_splits(folder)

    def test_scaling_is_fitted_on_training_data(self, data):
        split = find_splits(data, 5)[0][0]
        train, _, test = split.scale("standard").parts()
        assert np.allclose(train.X.mean(axis=0), 0, atol=1e-4)
        expected = rl.data.Standard().fit(split.parts()[0]).transform(split.parts()[2])
        assert np.array_equal(test.X, expected.X)

    @pytest.mark.parametrize("folds", [2, 0, "five", 41])
    def test_errors(self, data, folds):
        with pytest.raises(DataError, match="folds"):
            find_splits(data, folds)[0][0].parts()


class TestContenders:
    def test_given_parameters_leave_the_grid(self, tiny):
        found = make_named_rankers(["tiny", "tiny:shrink=1", "solar-ii"], nDCG @ 5, seed=9)
        assert [len(c.settings) for c in found] == [3, 1, 7]
        assert found[0].ranker.valid_measure == "nDCG@5"
        assert found[0].ranker.random_state == 9
        assert found[2].ranker.random_state is None

    def test_what_is_written_stays(self, tiny):
        text = "tiny:valid_measure=AP,random_state=4"
        ranker = make_named_rankers([text], nDCG @ 5, seed=9)[0].ranker
        assert (ranker.valid_measure, ranker.random_state) == ("AP", 4)

    def test_rankers_by_name(self):
        given = {"a": rl.Slam(), "b": rl.Slam(rate=3.0)}
        assert [len(c.settings) for c in make_named_rankers(given, nDCG)] == [5, 1]

    def test_no_search(self):
        assert make_named_rankers(["slam"], nDCG, search=False)[0].settings == ({},)

    def test_twice(self):
        with pytest.raises(DataError, match="is given twice"):
            make_named_rankers(["slam", "slam"], nDCG)


def by_hand(name, settings, parts, seed, fold):
    """The protocol for an online ranker, written out."""
    train, valid, test = parts
    valid = valid.shuffle(np.random.default_rng([seed, fold, 1]))
    test = test.shuffle(np.random.default_rng([seed, fold, 2]))
    reached = []
    for setting in settings:
        model = rl.make_ranker(name).set_params(**setting).fit(train)
        value = rl.evaluate(valid, model.predict(valid), "nDCG@5", "letor3")["nDCG@5"]
        reached.append((value, setting, model))
    best = max(reached, key=lambda item: item[0])  # the first of equals
    return best[1], rl.evaluate(test, best[2].predict(test), "AP").result("AP").values


def test_it_is_the_protocol(data):
    found = compare(data, ["solar-i"], ["nDCG@5", "AP"], ["letor3", "standard"], folds=4, seed=7)
    row = found.rows[3]
    assert (row.measure, row.convention) == ("AP", "standard")
    settings = [{"C": 10.0**k} for k in range(-7, 1)]
    expected = [
        by_hand("solar-i", settings, split.parts(), 7, i)
        for i, split in enumerate(find_splits(data, 4, seed=7)[0])
    ]
    assert [cell.chosen["C"] for cell in row.results] == pytest.approx(
        [e[0]["C"] for e in expected]
    )
    assert np.allclose(row.values, np.concatenate([e[1] for e in expected]), equal_nan=True)
    assert row.mean == pytest.approx(np.mean([np.nanmean(e[1]) for e in expected]))
    known = row.values[~np.isnan(row.values)]
    assert row.se == pytest.approx(known.std(ddof=1) / np.sqrt(len(known)))


def test_batch_rankers_stop_early_and_report_rounds(tiny, data):
    cell = compare(data, ["tiny:shrink=1"], folds=3).rows[0].results[0]
    assert cell.rounds == 1  # the second round changes nothing, so the first is kept
    assert [setting for setting, _ in cell.tried] == [{}]


@pytest.mark.slow
def test_settings_are_chosen_before_validation_data_are_learnt(data):
    """With `refit`, the same choice by the same values, and then another model."""
    texts = [
        "xendcg-boost:trees=8,rate=0.3,refit=False",
        "xendcg-boost:trees=8,rate=0.3,refit=True",
    ]
    plain, again = (compare(data, [text], "nDCG@10", folds=3).rows[0].results for text in texts)
    for one, other in zip(plain, again, strict=True):
        assert (one.chosen, one.tried, one.valid) == (other.chosen, other.tried, other.valid)
        assert one.measured != other.measured


def test_jobs_change_nothing(tiny, folder):
    one = compare(folder, RANKERS, ["nDCG@5", "P@1"], ["standard", "letor3"])
    two = compare(folder, RANKERS, ["nDCG@5", "P@1"], ["standard", "letor3"], jobs=2)
    assert results(one) == results(two)


def test_company_changes_nothing_but_the_correction(tiny, data):
    alone = compare(data, ["solar-i"], folds=3).rows[0]
    together = compare(data, ["tiny", "solar-i"], folds=3).rows[1]
    assert np.array_equal(alone.values, together.values, equal_nan=True)


def test_test_data_is_not_seen_before_the_choice(tiny, tmp_path, data):
    def upside_down(part):
        return rl.QueryDataset(-100 * part.X, part.y.max() - part.y, part.offsets, part.query_ids)

    clean = write_letor_folder(tmp_path / "clean", data)
    poisoned = write_letor_folder(tmp_path / "poisoned", data, poison=upside_down)
    one, other = (compare(f, RANKERS) for f in (clean, poisoned))
    for a, b in zip(one.rows, other.rows, strict=True):
        assert [c.chosen for c in a.results] == [c.chosen for c in b.results]
        assert [c.tried for c in a.results] == [c.tried for c in b.results]
        assert a.mean != b.mean


def test_validation_data_decides(data, tmp_path):
    """Turned round, it makes another choice: the test above can fail."""

    def upside_down(part):
        return rl.QueryDataset(part.X, part.y.max() - part.y, part.offsets, part.query_ids)

    folder = write_letor_folder(tmp_path / "a", data)
    before = compare(folder, ["solar-i"]).rows[0].results[0].tried
    for i in (1, 2, 3):
        path = folder / f"Fold{i}" / "vali.txt"
        rl.write_letor(upside_down(rl.read_letor(path)), path)
    assert compare(folder, ["solar-i"]).rows[0].results[0].tried != before


def test_files_order_does_not_help():
    """A ranker of ties is measured at chance, though the file is sorted by grade."""
    grades = np.tile([2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 300)
    data = rl.QueryDataset.from_arrays(np.ones((2400, 1)), grades, group=[8] * 300)
    value = compare(data, ["slam"], "P@1", folds=3).rows[0].mean
    assert 0.15 < value < 0.35


class TestResuming:
    def stopping(self, monkeypatch, after):
        """Let some cells be done, then fail; return the list of cells that ran."""
        ran, whole = [], module.run_fold

        def run_fold(named_ranker, fold, *rest):
            if len(ran) == after:
                raise KeyboardInterrupt
            ran.append((named_ranker.name, fold))
            return whole(named_ranker, fold, *rest)

        monkeypatch.setattr(module, "run_fold", run_fold)
        return ran

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_only_the_rest_is_done(self, tiny, folder, tmp_path, monkeypatch, jobs):
        whole = compare(folder, RANKERS)
        store = tmp_path / "cells"
        with monkeypatch.context() as patch:
            first = self.stopping(patch, 4)
            with pytest.raises(KeyboardInterrupt):
                compare(folder, RANKERS, resume=store, jobs=jobs)
        assert len(list(store.iterdir())) == 4
        with monkeypatch.context() as patch:
            second = self.stopping(patch, 99)
            seen = []
            again = compare(folder, RANKERS, resume=store, on_progress=seen.append)
        assert len(second) == 5
        assert not set(first) & set(second)
        assert results(again) == results(whole)
        states = [p.state for p in seen]
        assert seen[-1].left == 0
        assert seen[0].left is not None, "kept results tell how long the others take"
        assert all(p.result is not None for p in seen if p.state != "started")
        assert (states.count("kept"), states.count("done"), seen[-1].done) == (4, 5, 9)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "change",
        [
            {"seed": 1},
            {"scale": "standard"},
            {"measures": "AP"},
            {"conventions": "letor3"},
            {"rankers": ["solar-i:C=1"]},
            {"search": False},
            {"n_features": 9},
        ],
        ids=str,
    )
    def test_what_matters_is_in_the_key(self, folder, tmp_path, monkeypatch, change):
        asked = {"rankers": ["solar-i"], "resume": tmp_path / "cells"}
        compare(folder, **asked)
        ran = self.stopping(monkeypatch, 99)
        compare(folder, **asked)
        assert ran == []
        compare(folder, **{**asked, **change})
        assert len(ran) == 3

    def test_changed_data_is_noticed(self, folder, data, tmp_path, monkeypatch):
        asked = {"rankers": ["solar-i"], "resume": tmp_path / "cells"}
        compare(folder, **asked)
        rl.write_letor(data.select(slice(30, 39)), folder / "Fold2" / "test.txt")
        ran = self.stopping(monkeypatch, 99)
        compare(folder, **asked)
        assert ran == [("solar-i", "Fold2")]

    def test_a_damaged_result_is_done_again(self, folder, tmp_path, monkeypatch):
        asked = {"rankers": ["solar-i"], "resume": tmp_path / "cells"}
        whole = compare(folder, **asked)
        victim = sorted((tmp_path / "cells").iterdir())[1]
        victim.write_text(victim.read_text()[:100])
        ran = self.stopping(monkeypatch, 99)
        assert results(compare(folder, **asked)) == results(whole)
        assert len(ran) == 1
        assert json.loads(victim.read_text())["result"]["ranker"] == "solar-i"

    def test_a_file_in_the_way(self, folder, tmp_path):
        (tmp_path / "cells").write_text("")
        with pytest.raises(DataError, match=r"cannot resume from .*cells"):
            compare(folder, ["slam"], resume=tmp_path / "cells")


class TestStandings:
    def test_significance_is_that_of_compare(self, tiny, data):
        found = compare(data, RANKERS, folds=3, baseline="solar-i", seed=5)
        values = {row.ranker: row.values for row in found.rows}
        for expected in rl.compare_runs(values, "solar-i", seed=5).differences:
            row = next(r for r in found.rows if r.ranker == expected.system)
            assert row.against == expected
        assert found.rows[1].against is None

    def test_one_ranker_has_nothing_to_be_tested_against(self, data):
        assert compare(data, "slam", folds=3).to_dicts()[0]["p"] is None

    def test_json(self, tiny, data):
        rows = json.loads(json.dumps(compare(data, RANKERS, folds=3).to_dicts()))
        asked = {"ranker", "measure", "convention", "mean", "std", "folds", "seconds"}
        assert all(asked <= row.keys() for row in rows)
        assert [row["ranker"] for row in rows] == RANKERS
        assert rows[0]["folds"] == 3
        assert rows[0]["model_bytes"] > 100
        assert len(rows[0]["chosen"]) == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"rankers": []}, "at least one ranker"),
        ({"rankers": ["slm"]}, "unknown ranker"),
        ({"baseline": "auto"}, "baseline 'auto' is not among"),
        ({"jobs": 0}, "jobs"),
        ({"scale": "x"}, "no scaler 'x'"),
        ({"measures": []}, "at least one measure"),
        ({"rankers": ["solar-i:C=-1"]}, "solar-i:C=-1 on Fold1: C must be"),
        ({"conventions": "trec_eval"}, "slam on Fold1: .*document id"),
        ({"folds": "letor"}, "no LETOR folds"),
    ],
)
def test_errors(data, change, says):
    with pytest.raises(DataError, match=says):
        compare(data, **{"rankers": ["slam"], **change})


def test_real_data(data_dir):
    """MQ2008, LETOR's folds and measures: SOLAR-I after one pass is near what it reaches online."""
    found = compare(data_dir / "MQ2008", ["solar-i"], "nDCG@10", "letor3")
    assert len(found.rows[0].fold_means) == 5
    assert len(found.rows[0].values) == 784
    assert 0.47 < found.rows[0].mean < 0.54


def test_trials_deal_queries_again_and_are_compared_by_their_means():
    data = mslr_like(40, np.random.default_rng(0), n_features=4, mean_length=8).data
    splits, how = find_splits(data, trials=Trials(3, (0.5, 0.25, 0.25)), seed=1)
    assert how == "3 random splits 0.5/0.25/0.25 by query, dealt with seed 1"
    tests = []
    for split in splits:
        parts = split.parts()
        assert [len(part) for part in parts] == [20, 10, 10]
        ids = np.concatenate([part.query_ids for part in parts])
        assert sorted(ids) == sorted(data.query_ids)
        tests.append(set(parts[2].query_ids))
    assert tests[0] != tests[1]
    found = compare(data, ["slam", "newton"], trials=Trials(4), search=False, scale="log")
    assert (found.unit, len(found.rows[0].values)) == ("trials", 4)
    slam, newton = (row.fold_means for row in found.rows)
    # Nadeau and Bengio: four splits of 60/20/20 share their queries, so 1/4 becomes 1/4 + 1/3
    statistic = ttest_rel(newton, slam).statistic * np.sqrt((1 / 4) / (1 / 4 + 1 / 3))
    assert found.rows[1].against.p_value == pytest.approx(2 * t.sf(abs(statistic), 3))
    assert found.rows[0].se == pytest.approx(np.std(slam, ddof=1) * np.sqrt(1 / 4 + 1 / 3))


@pytest.mark.parametrize("text", ["0.6/0.4", "a/b/c", "0.6/0.3/0.3", "1/0/0"])
def test_splits_that_cannot_be(text):
    with pytest.raises(DataError, match="splits"):
        Trials.read(text, 5)


def test_a_search_tells_how_long_it_will_take_before_it_ends(data):
    seen = []
    rl.compare(data, ["solar-ii", "slam"], folds=3, on_progress=seen.append)
    first = [p for p in seen if p.ranker == "solar-ii" and p.fold == seen[0].fold]
    assert [p.state for p in first][:2] == ["started", "started"]
    assert (first[0].left, first[0].untimed) == (None, ())
    assert first[1].left is not None
    assert first[1].untimed == ("slam",)
    assert (seen[-1].left, seen[-1].untimed) == (0, ())
