"""Whole commands on a cluster."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app

RANKERS = ["-r", "xendcg", "-r", "slam"]


def run(*args):
    outcome = CliRunner().invoke(app, [str(arg) for arg in args])
    assert outcome.exit_code == 0, outcome.output
    return json.loads(outcome.stdout)


@pytest.fixture
def address(client):
    return client.scheduler.address


@pytest.mark.slow
def test_train_and_evaluate(address, files, data, tmp_path):
    model = tmp_path / "model.rlm"
    told = run("train", files, "-r", "xendcg", "-o", model, "--cluster", address, "--json")
    assert told["queries"] == len(data)
    there = run("evaluate", files, "--model", model, "--cluster", address, "--json")
    assert there == run("evaluate", files, "--model", model, "--json")
    assert rl.load(model).n_features_in_ == data.n_features


@pytest.mark.slow
def test_train_online_with_mixing_and_a_scaler(address, files, data, tmp_path):
    model = tmp_path / "model.rlm"
    more = ["--mix-every", 5, "--scale", "log", "--by-query", "--cluster", address, "--json"]
    assert run("train", files, "-r", "slam", "-o", model, *more)["queries"] == len(data)


def test_compare(address, files):
    asked = ["compare", files, *RANKERS, "--folds", 3, "--no-search", "--json"]
    assert untimed(run(*asked, "--cluster", address)) == untimed(run(*asked))


def untimed(rows):
    return [{k: v for k, v in row.items() if "seconds" not in k} for row in rows]


def test_tune(address, files):
    pytest.importorskip("optuna")
    asked = ["tune", files, "-r", "xendcg", "--folds", 2, "--trials", 3, "--json"]
    assert run(*asked, "--cluster", address) == run(*asked)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["train", "a.txt", "-o", "m.rlm", "--cluster", "here"], "cluster must be local:N"),
        (["train", "a.txt", "-o", "m.rlm", "--mix-every", "3"], "give --cluster too"),
        (["train", "a.txt", "-o", "m.rlm", "--by-query"], "give --cluster too"),
        (["train", "a.txt", "-o", "m.rlm", "--from", "m", "--cluster", "local:1"], "--from"),
        (["evaluate", "a.txt", "--run", "r", "--cluster", "local:1"], "measures a --model"),
        (["compare", "a.txt", *RANKERS, "--cluster", "local:1", "-j", "2"], "not both"),
    ],
)
def test_misuse(args, said):
    outcome = CliRunner().invoke(app, args)
    assert outcome.exit_code == 2
    assert said in " ".join(outcome.output.replace("│", " ").split())
