"""`train` and `explain` for rankers of whole data sets."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl

from ..tiny import Tiny


@pytest.fixture
def files(simulated, tmp_path):
    data = rl.read(simulated)
    for name, part in (("train", slice(0, 25)), ("valid", slice(25, 40))):
        rl.write_letor(data.select(part), tmp_path / f"{name}.txt")
    return tmp_path / "train.txt", tmp_path / "valid.txt", tmp_path / "model.rlm"


def test_it_stops_early_by_the_first_measure(ok, tiny, files):
    train, valid, model = files
    asked = ["train", train, "-r", "tiny:rounds=9,patience=2", "--valid", valid, "-o", model]
    told = ok(*asked, "-m", "AP", "-m", "P@1", "--json").json
    width = 8
    expected = Tiny(rounds=9, patience=2, valid_measure="AP")
    expected.fit(rl.read_letor(train), valid=rl.read_letor(valid, n_features=width))
    assert told["rounds"] == expected.rounds_ < 9
    assert rl.load(model).valid_measure == "AP"
    assert np.array_equal(rl.load(model).weights_, expected.weights_)
    assert [row["measure"] for row in told["valid"]] == ["AP", "P@1"]


def test_it_goes_on(ok, run, tiny, files):
    train, _, model = files
    shown = ok("train", train, "-r", "tiny:rounds=3", "-o", model).out
    assert "25 queries learnt in 3 rounds" in shown
    shown = ok("train", train, "--from", model, "-o", model).out
    assert "in 6 rounds" in shown
    expected = Tiny(rounds=6).fit(rl.read_letor(train))
    assert np.allclose(rl.load(model).weights_, expected.weights_)
    done = run("train", train, "--from", model, "-o", model, "--keep", 0.5)
    assert "does not learn online" in done.err


def test_it_keeps_the_scaler(ok, tiny, files):
    train, valid, model = files
    asked = ["train", train, "-r", "tiny", "--scale", "standard", "--valid", valid, "-o", model]
    ok(*asked)
    data, judged = rl.read_letor(train), rl.read_letor(valid)
    expected = rl.Prepared(Tiny(), "standard").fit(data, valid=judged)
    assert np.array_equal(rl.load(model).predict(judged), expected.predict(judged))


def test_explain(ok, tiny, files):
    train, _, model = files
    ok("train", train, "-r", "tiny", "-o", model)
    parts = rl.load(model).explain()
    assert ok("explain", model, "--json").json == parts
    assert ok("explain", model, "--top", 2, "--json").json == parts[:2]
    cells = ok("explain", model).cells
    assert cells[0] == ["feature", "weight"]
    assert [row[0] for row in cells[1:]] == [part["feature"] for part in parts]
    ok("train", train, "-r", "auto", "-o", model)
    assert ok("explain", model).cells[0] == ["member", "weight", "features"]


@pytest.mark.slow
def test_a_blend_from_file_to_scores(ok, files):
    train, valid, model = files
    told = ok("train", train, "-r", "blend:seeds=1,refit=False", "--valid", valid, "-o", model)
    assert "(refit)" not in told.out
    told = ok("train", train, "-r", "blend:seeds=1", "--valid", valid, "-o", model)
    assert "was trained on the validation data too (refit)" in told.out
    scores = model.with_suffix(".txt")
    ok("score", model, valid, "-o", scores)
    blend = rl.load(model)
    assert np.allclose(np.loadtxt(scores), blend.predict(rl.read_letor(valid)), rtol=1e-5)
    told = ok("explain", model, "--json").json
    assert len(told) == 3
    features = told[0]["features"]
    shown = f"{', '.join(features[:5])} and {len(features) - 5} more"
    assert shown in ok("explain", model).out


def test_score_finds_the_query_column_that_the_model_was_trained_with(ok, run, tmp_path):
    rows = ["session,label,price,stars"]
    rows += [f"s{k // 4},{k % 3},{(7 * k) % 11},{k % 5}" for k in range(48)]
    (tmp_path / "shop.csv").write_text("\n".join(rows))
    model = tmp_path / "model.rlm"
    ok("train", tmp_path / "shop.csv", "--query", "session", "-o", model, "-r", "blend")
    scores = ok("score", model, tmp_path / "shop.csv").out
    assert scores == ok("score", model, tmp_path / "shop.csv", "--query", "session").out
    assert len(scores.splitlines()) == 48
    assert "no column is named" in run("inspect", tmp_path / "shop.csv").err
