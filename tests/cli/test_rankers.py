"""`stream`, `train`, `score` and `rankers`, as whole commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.letor import letor_lines
from rankloop.data.simulate import separable
from rankloop.experiments.peers import PEERS
from rankloop.rankers.registry import online_names, ranker_names


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rankers")
    data = separable(60, np.random.default_rng(0), n_features=6, n_documents=8).data
    mixed = np.random.default_rng(1).permutation(data.n_documents)
    rows = rl.QueryDataset.from_arrays(data.X[mixed], data.y[mixed], qid=data.qid[mixed])
    rl.write_letor(rows, folder / "data.txt")
    return folder, rl.read_letor(folder / "data.txt")


def test_stream(files, run):
    folder, data = files
    command = ["stream", folder / "data.txt", "-r", "slam", "-r", "solar-i:C=0.1", "-m", "AP"]
    command += ["-c", "standard", "-c", "letor3", "--permutations", 2, "--seed", 3]
    done = run(*command, "--json", "--plot", folder / "curves.png")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    rankers = {name: rl.make_ranker(name) for name in ("slam", "solar-i:C=0.1")}
    expected = rl.stream(data, rankers, "AP", ["standard", "letor3"], permutations=2, seed=3)
    assert found == [stream.to_dict() for stream in expected]
    assert set(found[0]) == {"ranker", "measure", "convention", "mean", "std", "permutations"}
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    shown = run(*command)
    assert f"{expected[0].mean:.4f}" in shown.out


def test_train_score_evaluate(files, run):
    folder, data = files
    model, scores = folder / "model.rlm", folder / "scores.txt"
    done = run("train", folder / "data.txt", "-r", "newton:prior=5", "-o", model)
    assert done.code == 0, done.err
    assert "NewtonXENDCG(prior=5), 60 queries learnt" in done.out
    expected = rl.NewtonXENDCG(prior=5).fit(data).predict(data)
    done = run("score", model, folder / "data.txt", "-o", scores)
    assert done.code == 0, done.err
    assert np.array_equal(np.loadtxt(scores), data.in_row_order(expected))
    by_model = run("evaluate", folder / "data.txt", "--model", model, "--json")
    by_scores = run("evaluate", folder / "data.txt", "--scores", scores, "--json")
    assert json.loads(by_model.out) == json.loads(by_scores.out)


def test_train_goes_on_and_validates(files, run):
    folder, data = files
    first, second = folder / "first.rlm", folder / "second.rlm"
    run("train", folder / "data.txt", "-r", "slam", "-o", first)
    done = run(
        "train", folder / "data.txt", "--from", first, "-o", second, "--json",
        "--valid", folder / "data.txt", "-m", "AP",
    )  # fmt: skip
    told = json.loads(done.out)
    model = rl.Slam().fit(data).partial_fit(data)
    assert told["queries"] == 120
    assert told["valid"][0]["mean"] == rl.evaluate(data, model.predict(data), "AP")["AP"]
    assert np.array_equal(rl.load(second).weights_, model.weights_)


def test_score_writes_runs(files, run):
    folder, _ = files
    run("train", folder / "data.txt", "-o", folder / "auto.rlm")
    done = run("score", folder / "auto.rlm", folder / "data.txt", "--run", "-o", folder / "a.run")
    assert done.code == 0, done.err
    assert len(rl.data.read_run(folder / "a.run")) == 480


def test_rankers_lists_everything(run):
    found = json.loads(run("rankers", "--json").out)
    names = [row["ranker"] for row in found]
    assert sorted(names) == sorted([*ranker_names(), *PEERS])
    assert (names[0], names[-1]) == ("auto", "catboost")
    shown = run("rankers").out
    headings = ["To choose from", "auto", "Kept for the papers", "slam", "Other libraries"]
    assert sorted(headings, key=shown.index) == headings
    for row in found:
        assert row["summary"].endswith(".")
        if row["peer"]:
            continue
        assert row["streams"] == (row["ranker"] in online_names())
        assert row["searched"].keys() <= row["parameters"].keys()
        if row["ranker"] != "stacked":  # its `fit` has no passes whose order a seed could decide
            assert ("random_state" if row["streams"] else "warm_start") in row["parameters"]
    assert "solar-ii" in run("rankers").out


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        ("slm", "unknown ranker 'slm'; did you mean 'slam'?"),
        ("slam:pace=1", "slam has no parameter 'pace'"),
        ("slam:rate", "cannot read 'rate'"),
    ],
)
def test_unknown_rankers(files, run, ranker, message):
    folder, _ = files
    for command in (
        ["stream", folder / "data.txt"],
        ["train", folder / "data.txt", "-o", folder / "x"],
    ):
        done = run(*command, "-r", ranker)
        assert done.code == 2
        assert message in done.complaint
    assert not (folder / "x").exists()


def test_one_ranker_is_shown_with_its_parameters(run):
    done = run("rankers", "solar-ii")
    assert done.code == 0
    assert "gamma" in [line[0] for line in done.cells]
    assert max(map(len, run("rankers").out.splitlines())) < 140
    assert "did you mean 'solar-i'" in run("rankers", "solar-2").complaint


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        ("slam:rate=-1", "rate must be a number above 0"),
        ("slam:measure=P@3", "Slam learns nDCG"),
    ],
)
def test_bad_rankers(files, run, ranker, message):
    folder, _ = files
    for command in (
        ["stream", folder / "data.txt"],
        ["train", folder / "data.txt", "-o", folder / "x"],
    ):
        done = run(*command, "-r", ranker)
        assert done.code == 1
        assert message in done.err
        assert len(done.err.splitlines()) == 1
    assert not (folder / "x").exists()


def test_a_bad_model_is_named(files, run):
    folder, _ = files
    (folder / "bad.rlm").write_text("not a model")
    done = run("score", folder / "bad.rlm", folder / "data.txt")
    assert done.code == 1
    assert "bad.rlm: not a model file, or damaged" in done.err


def test_a_stream_from_standard_input(files, run):
    _, data = files
    text = b"".join(letor_lines(data.select(slice(None))))
    done = run("stream", "-", "-r", "slam", "-r", "newton", "-m", "AP", "--json", stdin=text)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [row["ranker"] for row in found] == ["slam", "newton"]
    assert found[1]["mean"] > 0.8
    assert "60 queries" in done.err


def test_train_holds_less_strongly(files, run):
    folder, data = files
    run("train", folder / "data.txt", "-r", "newton", "-o", folder / "old.rlm")
    command = ["train", folder / "data.txt", "--from", folder / "old.rlm", "-o", folder / "new.rlm"]
    assert run(*command, "--keep", 0.5).code == 0
    model = rl.NewtonXENDCG().fit(data).discount_past(0.5).partial_fit(data)
    assert np.array_equal(rl.load(folder / "new.rlm").weights_, model.weights_)
    assert "keep must be above 0" in run(*command, "--keep", 2).err


def test_bounds_are_drawn(files, run):
    folder, _ = files
    command = ["stream", folder / "data.txt", "--bounds", folder / "bounds.png"]
    assert run(*command, "-r", "minimax", "-r", "newton").code == 0
    assert (folder / "bounds.png").read_bytes().startswith(b"\x89PNG")
    done = run(*command, "-r", "newton")
    assert done.code == 2
    assert "--bounds needs at least one of slam" in done.complaint


def test_train_stores_the_scaler(files, run):
    folder, data = files
    done = run("train", folder / "data.txt", "-r", "slam", "--scale", "log", "-o", folder / "s.rlm")
    assert done.code == 0, done.err
    expected = rl.Prepared(rl.Slam(), "log").fit(data)
    assert np.array_equal(rl.load(folder / "s.rlm").predict(data), expected.predict(data))
