"""`--import`: rankers of a file or a module work in every command."""

import sys

import pytest

OWN = """
import numpy as np
import rankloop as rl

class Firsts(rl.rankers.OnlineRanker):
    _learns = ("weight_",)
    def __init__(self, passes=1, random_state=None):
        self.passes, self.random_state = passes, random_state
    def _reset(self, n_features):
        self.n_features_in_, self.n_queries_seen_, self.weight_ = n_features, 0, 1.0
    def _learn_query(self, query):
        self.weight_ = self.weight_ + 1
    def _score_rows(self, X, offsets):
        return X[:, 0].astype(float) * self.weight_

rl.register_ranker("{name}", Firsts)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n1 qid:2 1:2\n0 qid:2 1:0\n")
    yield tmp_path
    for name in ("own_rankers", "more_rankers"):
        sys.modules.pop(name, None)


def test_a_file_and_a_module(ok, run, folder):
    (folder / "own_rankers.py").write_text(OWN.format(name="firsts"))
    (folder / "more_rankers.py").write_text(OWN.format(name="seconds").replace("Firsts", "Seconds"))
    train = ["train", "data.txt", "-o", "m.rlm", "-r"]
    assert "Firsts()" in ok(*train, "firsts", "--import", "own_rankers.py").out
    assert "Seconds()" in ok("--import=more_rankers", *train, "seconds").out
    table = ok("stream", "data.txt", "-r", "firsts", "-r", "seconds", "--json")
    assert [row["mean"] for row in table.json] == [1, 1]


def test_what_cannot_be_imported(run, folder):
    (folder / "bad.py").write_text("import rankloop\n1 / 0\n")
    for words, said in (
        (["--import", "none.py"], "there is no file none.py"),
        (["--import", "no_such_module"], "No module named 'no_such_module'"),
        (["--import", "bad.py"], "ZeroDivisionError: division by zero"),
        (["--import"], "--import needs the name"),
    ):
        outcome = run("rankers", *words)
        assert outcome.code == 1
        assert said in outcome.err
        assert "Traceback" not in outcome.err
