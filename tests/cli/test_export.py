"""`rankloop export` and `rankloop import`."""

from __future__ import annotations

import pytest

import rankloop as rl
from rankloop.rankers.boosting.lambdamart import LambdaMART


@pytest.fixture
def models(simulated, tmp_path):
    data = rl.read_letor(simulated)
    rl.Slam().fit(data).save(tmp_path / "slam.rlm")
    trees = LambdaMART(trees=5).fit(data)
    trees.save(tmp_path / "trees.rlm")
    trees.save_text(tmp_path / "trees.txt")
    return tmp_path


def test_an_export_is_written_and_verified(ok, models, simulated):
    place = models / "slam.c"
    done = ok("export", models / "slam.rlm", "--to", "c", "-o", place, "--verify", simulated)
    assert "c: exact, by the engine itself" in done.out
    assert "rankloop_score" in place.read_text()


def test_an_order_that_changes_ends_with_1(run, models, simulated, monkeypatch):
    arguments = ("export", models / "slam.rlm", "--to", "json", "--verify", simulated, "--json")
    assert run(*arguments).json["queries_reordered"] == 0
    negative = rl.export.program_of(rl.load(models / "slam.rlm"))
    negative.output.x.weights[:] *= -1
    monkeypatch.setattr("rankloop.export.exporting.program_of", lambda *_: negative)
    done = run(*arguments)
    assert done.code == 1
    assert done.json["queries_reordered"] > 0
    assert done.json["verdict"] == "differs"


def test_a_refusal_leaves_no_file(run, models):
    done = run("export", models / "slam.rlm", "--to", "elasticsearch-native", "-o", models / "x")
    assert done.code == 1
    assert "only trees" in done.err
    assert not (models / "x").exists()


def test_misuse_is_explained(run, models):
    assert "did you mean 'solr'" in run("export", models / "slam.rlm", "--to", "sollr").complaint
    assert "-o FILE to write" in run("export", models / "slam.rlm", "--to", "c").complaint


def test_import_makes_a_model_file(ok, models, simulated):
    ok("import", models / "trees.txt", "-o", models / "imported.rlm")
    first, second = (
        ok("score", models / name, simulated).out for name in ("trees.rlm", "imported.rlm")
    )
    assert first == second != ""
