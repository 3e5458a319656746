"""Rankers for clicks behind feature maps: the same as mapping first, and kernels on a stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.neural_pdgd import NeuralPDGD
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.clicks.rankers.thompson import Thompson
from rankloop.clicks.users import make_user
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import best_first
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.kernel.features import KernelFeatures
from rankloop.rankers.model_files.saving import load, save
from rankloop.rankers.online.slam import Slam
from rankloop.rankers.wrappers.maps import map_rows
from rankloop.rankers.wrappers.prepared import Prepared

MAPS = ["minmax", "rank", "0*1"]
CLICKS = [False, True, False, True, False]


@pytest.mark.parametrize("inner", [PDGD(rate=0.5), NeuralPDGD(hidden=3), Thompson()], ids=repr)
def test_it_is_the_ranker_on_mapped_rows(inner, rng):
    mapped, plain = Prepared(inner, maps=MAPS), inner
    for t in range(6):
        X = rng.normal(size=(7, 3)).astype(np.float32)
        rows = map_rows(MAPS, X, np.array([0, 7]))
        shown, expected = (one.show(x, id=f"r{t}", k=5) for one, x in ((mapped, X), (plain, rows)))
        assert shown.order.tolist() == expected.order.tolist()
        assert np.array_equal(shown.scores, expected.scores)
        assert (shown.policy, shown.version) == (expected.policy, expected.version)
        grades = click_grades(shown, CLICKS)
        mapped.learn_ranking(shown, grades)
        plain.learn_ranking(expected, grades)
    assert mapped.ranker_.digest() == plain.digest()
    assert mapped.n_queries_seen_ == 6
    assert np.array_equal(mapped.predict(X, group=[7]), plain.predict(rows))


def test_it_plays_as_the_ranker_on_mapped_rows(rng):
    X = rng.normal(size=(120, 3)).astype(np.float32)
    data = QueryDataset.from_arrays(X, rng.integers(0, 3, 120), group=[12] * 10)
    rows = map_rows(MAPS, data.X, data.offsets)
    mapped, plain = Prepared(PDGD(), maps=MAPS), PDGD()
    user = make_user("informational")
    for ranker, seen in ((mapped, data), (plain, replace(data, X=rows, feature_names=None))):
        ranker.play(seen, user, np.random.default_rng(3), 50)
    assert mapped.ranker_.digest() == plain.digest()
    assert mapped.n_queries_seen_ == 50


@pytest.mark.slow
def test_a_kernel_learns_what_no_linear_ranker_can():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = (X[:, 0] * X[:, 1] > 0.1).astype(float) * 2
    data = QueryDataset.from_arrays(X, y, group=[10] * 60)
    kernels = ("nystrom(rbf(0.5),30)", "fourier(rbf(0.5),60)")
    rankers = [Prepared(PDGD(rate=1.0), maps=[kernel]) for kernel in kernels]
    reached = []
    for ranker in (*rankers, PDGD()):
        ranker.play(data, make_user("perfect"), np.random.default_rng(1), 1500)
        reached.append(evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"])
    assert min(reached[:2]) > 0.9 > reached[2] + 0.05


def test_landmarks_come_from_what_is_learnt_and_not_from_what_is_shown(rng):
    ranker = Prepared(PDGD(), maps=["nystrom(rbf(1),10)"])
    X = rng.normal(size=(5, 2)).astype(np.float32)
    first, second = (ranker.show(X, id=name) for name in ("r1", "r2"))
    ranker.learn_ranking(first, click_grades(first, CLICKS))
    (kept,) = ranker.features_.values()
    expected = KernelFeatures("nystrom(rbf(1),10)").partial_fit(X).to_dict()
    assert np.array_equal(kept["landmarks"], expected["landmarks"])
    ranker.show(rng.normal(size=(5, 2)), id="r3")
    ranker.learn_ranking(second, click_grades(second, CLICKS))
    assert np.array_equal(ranker.features_["nystrom(rbf(1),10)"]["landmarks"], kept["landmarks"])


def test_it_is_saved_with_its_landmarks(tmp_path, rng):
    ranker = Prepared(PDGD(), maps=["raw", "nystrom(rbf(1),4)"])
    X = rng.normal(size=(5, 2)).astype(np.float32)
    shown = ranker.show(X, id="r1")
    ranker.learn_ranking(shown, click_grades(shown, CLICKS))
    save(ranker, tmp_path / "m.rlm")
    again = load(tmp_path / "m.rlm")
    assert again.digest() == ranker.digest()
    assert again.show(X, id="r2") == ranker.show(X, id="r2")


def test_a_refused_ranking_changes_nothing(rng):
    X = rng.normal(size=(3, 2)).astype(np.float32)
    ranker = Prepared(PDGD(), maps=["nystrom(rbf(1),4)"])
    shown = ranker.show(X, id="r1")
    ranker.learn_ranking(shown, [1.0, 0.0, 0.0])
    before = ranker.digest()
    with pytest.raises(DataError, match="PDGD learns only from those made plackett-luce"):
        ranker.learn_ranking(best_first([1.0, 2.0, 3.0], id="r", X=X), [1, 0, 0])
    with pytest.raises(DataError, match="features"):
        ranker.show(np.ones((3, 5)), id="r2")
    assert ranker.digest() == before


def test_other_rankers_are_refused():
    assert not hasattr(Prepared(Slam()), "show")
    with pytest.raises(DataError, match="of the kind ClickRanker; found Slam"):
        Prepared(PDGD()).set_params(ranker=Slam()).show(np.eye(3), id="r1")
    with pytest.raises(DataError, match="too little to fit a scaler"):
        Prepared(PDGD(), "log").show(np.eye(3), id="r1")
