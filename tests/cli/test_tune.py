"""`tune`, as a whole command, and the command it prints."""

from __future__ import annotations

import shlex

import pytest

import rankloop as rl


def test_json_and_the_command_it_prints(ok, simulated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["tune", simulated, "-r", "solar-i", "--folds", 3, "--trials", 4, "--scale", "log"]
    found = ok(*command, "--json").json
    assert found["ranker"].startswith("solar-i:C=")
    assert len(found["trials"]) == 4
    assert found["value"] == max(t["value"] for t in found["trials"] if not t["pruned"])
    ok(*shlex.split(found["command"])[1:])
    model = rl.load("model.rlm")
    assert (model.scale, model.ranker.C) == ("log", found["setting"]["C"])


def test_table_and_storage(ok, simulated, tmp_path):
    command = ["tune", simulated, "-r", "slam:measure=AP", "--storage", tmp_path / "trials.log"]
    ok(*command, "--trials", 2)
    done = ok(*command, "--trials", 3)
    assert "3 trials" in done.out
    assert "rankloop train" in done.out
    assert "slam:measure=AP,rate=" in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-r", "auto"], "auto has no parameters to search"),
        (["-r", "slam", "--folds", "400"], "number of folds"),
    ],
)
def test_errors(run, simulated, options, complaint):
    done = run("tune", simulated, *options)
    assert done.code == 1
    assert complaint in done.err
    assert len(done.err.splitlines()) == 1
