"""A ranker of one's own takes part everywhere: in files, on the command line, in comparisons."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rankloop as rl
from rankloop.checks import check
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.model_files.saving import load
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.registry import online_names, ranker_class, register_ranker

PACKAGE = '''
import numpy as np
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.traits import Traits


class Centroid(OnlineRanker):
    """Scores along the sum of (grade - mean grade of the query) x."""

    traits = Traits(is_online=True, is_robust=False)
    _learns = ("direction_",)

    def __init__(self, passes=1, random_state=None):
        self.passes = passes
        self.random_state = random_state

    def _reset(self, n_features):
        self.n_features_in_, self.n_queries_seen_ = n_features, 0
        self.direction_ = np.zeros(n_features)

    def _learn_query(self, query):
        judged = query.y >= 0
        if judged.any():
            pull = query.y[judged] - query.y[judged].mean()
            self.direction_ = self.direction_ + pull @ query.X[judged].astype(float)

    def _score_rows(self, X, offsets):
        return X.astype(float) @ self.direction_
'''


@pytest.fixture
def centroid():
    space: dict = {"__name__": "own"}
    exec(PACKAGE, space)
    return space["Centroid"]


def test_it_passes_the_checks(centroid):
    check(centroid())


def test_a_name_makes_it_known(centroid, tmp_path, rng):
    data = rl.QueryDataset.from_arrays(rng.random((30, 3)), rng.integers(0, 3, 30), group=[10] * 3)
    ranker = centroid().fit(data)
    ranker.save(tmp_path / "m")
    with pytest.raises(ModelError, match="'Centroid', which is not a known ranker; if it is"):
        load(tmp_path / "m")
    assert register_ranker("centroid", centroid) is centroid
    assert "centroid" in online_names()
    assert ranker_class("centroid") is ranker_class("Centroid") is centroid
    again = load(tmp_path / "m", OnlineRanker)
    assert again.digest() == ranker.digest()
    assert again.partial_fit(data).n_queries_seen_ == 6
    (found,) = rl.stream(data, {"own": rl.make_ranker("centroid:passes=2")}, "AP")
    assert found.ranker == "own"


def test_names_that_are_taken_or_wrong(centroid):
    register_ranker("centroid", centroid)
    register_ranker("centroid", centroid)  # the same again is no fault
    other = type("Other", (centroid,), {})
    for name, cls, said in (
        ("slam", other, "'slam' or Other is already the name of"),
        ("another", type("Slam", (centroid,), {}), "or Slam is already the name of"),
        ("Big Name", other, "lower-case letters, digits and hyphens"),
        ("another", int, "derived from Ranker"),
        ("another", 3, "derived from Ranker"),
    ):
        with pytest.raises(DataError, match=said):
            register_ranker(name, cls)


def test_an_installed_package_brings_rankers(tmp_path):
    """Every command knows them by their entry point, in a process that imports nothing first."""
    site = tmp_path / "site"
    info = site / "own-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "own.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankloop.rankers]\ncentroid = own:Centroid\n")
    rng = np.random.default_rng(0)
    X = rng.random((240, 4))
    y = np.floor(3 * X[:, 0])
    data = rl.QueryDataset.from_arrays(X, y, group=[8] * 30)
    rl.write_letor(data, tmp_path / "d.txt")
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from rankloop.cli import main; main()"

    def run(*words):
        command = [sys.executable, "-c", code, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    file, model = tmp_path / "d.txt", tmp_path / "m.rlm"
    run("train", file, "-r", "centroid", "-o", model)
    run("score", model, file, "-o", tmp_path / "scores.txt")
    assert "centroid" in run("stream", file, "-r", "centroid")
    assert "centroid" in run("compare", file, "-r", "centroid", "--folds", 3)
    assert "centroid" in run("rankers")
