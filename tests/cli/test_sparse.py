"""`--sparse`: whole commands on text with many features and few nonzeros."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl


@pytest.fixture
def wide(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "wide.txt"
    with path.open("w") as text:
        for i in range(200):
            columns = np.unique(rng.integers(20, 120_000, 5))
            good = rng.random() < 0.4
            shown = [*([7] if good else []), *columns.tolist()]
            features = " ".join(f"{j}:{rng.random():.3f}" for j in shown)
            text.write(f"{int(good)} qid:{i // 10} {features}\n")
    return path


@pytest.mark.parametrize("ranker", ["slam", "solar-i:C=0.1", "xendcg"])
def test_train_and_score(ok, wide, tmp_path, ranker):
    model = tmp_path / "model.rlm"
    ok("train", wide, "--sparse", "-r", ranker, "-o", model)
    scores = [float(line) for line in ok("score", model, wide, "--sparse").out.split()]
    data = rl.read_letor(wide, sparse=True)
    expected = rl.make_ranker(ranker).fit(data).predict(data)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_stream_measures_before_it_learns(ok, run, wide):
    told = ok("stream", wide, "--sparse", "-r", "slam", "-r", "minimax", "--json").json
    assert told
    refused = run("stream", wide, "-r", "slam")
    assert refused.code == 1
    assert "outside 0 to 100000" in refused.err


def test_inspect_and_convert(ok, wide, tmp_path):
    told = ok("inspect", wide, "--sparse", "--json").json
    assert told["documents"] == 200
    assert told["features"] > 110_000
    again = tmp_path / "again.txt.gz"
    ok("convert", wide, again, "--sparse")
    one, other = (rl.read_letor(path, sparse=True) for path in (wide, again))
    assert one.X == other.X


def test_a_ranker_of_dense_rows_says_so(run, wide, tmp_path):
    done = run("train", wide, "--sparse", "-r", "newton", "-o", tmp_path / "model.rlm")
    assert done.code == 1
    assert "needs dense rows" in " ".join(done.err.split())
