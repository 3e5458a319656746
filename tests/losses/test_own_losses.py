"""A loss of one's own takes part wherever losses have names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rankloop as rl
from rankloop.checks import check
from rankloop.exceptions import DataError
from rankloop.losses import PairwiseHinge, find_loss, loss_names, register_loss, registry
from rankloop.losses.by_query import LossByQuery, make_summed_loss
from rankloop.losses.whole import WholeLoss
from rankloop.rankers import LossBoost, LossLinear

PACKAGE = '''
import numpy as np


class SquaredPairs:
    """The sum of max(0, 1 - (s_i - s_j))^2 over pairs in which i has the higher grade."""

    smooth, convex = True, True

    def short(self, scores, grades):
        pair = (grades[:, None] > grades[None, :]) & (grades[None, :] >= 0)
        return np.where(pair, np.maximum(0, 1 - (scores[:, None] - scores[None, :])), 0)

    def value(self, scores, grades):
        return float((self.short(scores, grades) ** 2).sum())

    def gradient(self, scores, grades):
        pull = 2 * self.short(scores, grades)
        return pull.sum(axis=0) - pull.sum(axis=1)

    def curvature(self, scores, grades):
        bent = 2.0 * (self.short(scores, grades) > 0)
        return bent.sum(axis=0) + bent.sum(axis=1)
'''
space: dict = {"__name__": "own"}
exec(PACKAGE, space)
SquaredPairs = space["SquaredPairs"]


@pytest.fixture(autouse=True)
def _own_names(monkeypatch):
    """What a test registers ends with it."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def data(rng):
    X, weights = rng.random((120, 3)), rng.integers(1, 4, 12)
    y = np.floor(3 * X[:, 0])
    return rl.QueryDataset.from_arrays(X, y, group=[10] * 12, query_weight=weights)


def test_it_passes_the_checks():
    check(SquaredPairs())
    wrong = type("Wrong", (SquaredPairs,), {"curvature": lambda _, s, y: np.ones(len(s))})
    with pytest.raises(AssertionError, match="curvature"):
        check(wrong())


def test_the_sum_over_queries_equals_the_compiled_one(data, rng):
    own, compiled = LossByQuery(SquaredPairs(), data), WholeLoss(PairwiseHinge(squared=True), data)
    scores = rng.normal(size=120)
    (value, gradient), (expected, slope) = own.at(scores), compiled.at(scores)
    assert np.isclose(value, expected)
    assert np.allclose(gradient, slope)
    assert np.allclose(own.diagonal(), compiled.diagonal())
    assert isinstance(make_summed_loss(PairwiseHinge(squared=True), data), WholeLoss)


def test_without_curvature_it_counts_as_one(data):
    plain = LossByQuery(PairwiseHinge(), data)
    assert np.array_equal(plain.diagonal(), np.repeat(data.query_weight, 10))


def test_rankers_take_it_by_name(data):
    register_loss("squared-pairs", SquaredPairs)
    assert loss_names()[-1] == "squared-pairs"
    ours = LossLinear("squared-hinge", tolerance=1e-12).fit(data)
    own = rl.make_ranker("loss-linear:loss=squared-pairs,tolerance=1e-12").fit(data)
    assert np.allclose(own.weights_, ours.weights_, atol=1e-4)
    trees, expected = (LossBoost(name, trees=4) for name in ("squared-pairs", "squared-hinge"))
    scores = trees.fit(data).predict(data.X)
    assert np.allclose(scores, expected.fit(data).predict(data.X), atol=1e-5)
    assert rl.loads(trees.dumps()).digest() == trees.digest()
    moved, same = (one.move_leaves(data).predict(data.X) for one in (trees, expected))
    assert np.allclose(moved, same)


@pytest.mark.parametrize(("name", "cls"), [("listnet", rl.ListNet), ("squared-hinge", rl.RankSVM)])
def test_a_named_loss_is_the_ranker_of_that_loss(name, cls, data):
    named = LossLinear(name, C=0.5).fit(data)
    assert np.array_equal(named.weights_, cls(C=0.5).fit(data).weights_)


def test_errors(data):
    for name, loss, said in (
        ("logistic", SquaredPairs(), "'logistic' is the name of a built-in loss"),
        ("Big Name", SquaredPairs(), "a loss's name must consist of lower-case letters"),
        ("mine", 3, "must have value, gradient, smooth and convex; found 3"),
        ("mine", int, "must have value, gradient, smooth and convex; found 0"),
    ):
        with pytest.raises(DataError, match=said):
            register_loss(name, loss)
    with pytest.raises(DataError, match="unknown loss 'logistics'; did you mean 'logistic'"):
        find_loss("logistics")
    register_loss("hinge", PairwiseHinge())
    register_loss("bent", type("Bent", (SquaredPairs,), {"convex": False}))
    register_loss("endless", type("Endless", (SquaredPairs,), {"value": lambda *_: np.inf}))
    weighted = rl.QueryDataset.from_arrays(data.X, data.y, group=[120], sample_weight=data.y + 1)
    for ranker, fitted, said in (
        (LossBoost("hinge"), data, "'hinge' is not smooth"),
        (LossLinear("hinge"), data, "'hinge' is not smooth"),
        (LossLinear("bent"), data, "'bent' is not convex"),
        (LossLinear("endless"), data, "value of .* must be finite"),
        (LossBoost("bent"), weighted, "cannot use document weights"),
    ):
        with pytest.raises(DataError, match=said):
            ranker.fit(fitted)
        assert not ranker.is_fitted


@pytest.mark.slow
def test_an_installed_package_brings_losses(tmp_path, data):
    info = tmp_path / "own-1.0.dist-info"
    info.mkdir()
    (tmp_path / "own.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankloop.losses]\nsquared-pairs = own:SquaredPairs\n")
    rl.write_letor(data, tmp_path / "d.txt")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from rankloop.cli import main; main()"
    )
    words = ["train", tmp_path / "d.txt", "-r", "loss-linear:loss=squared-pairs"]
    command = [sys.executable, "-c", code, *map(str, words), "-o", str(tmp_path / "m.rlm")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert rl.load(tmp_path / "m.rlm").loss == "squared-pairs"
