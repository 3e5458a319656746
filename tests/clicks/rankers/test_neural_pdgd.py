"""PDGD for a network: the linear one's steps, sent back through the hidden units."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.neural_pdgd import NeuralPDGD
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.clicks.users import make_user
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import best_first
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.model_files.saving import load, save


def network(w, b, V, X):
    return np.tanh(X @ V + b) @ w


def test_a_step_is_the_linear_one_sent_back(rng):
    X = rng.normal(size=(7, 3)).astype(np.float32)
    ranker = NeuralPDGD(hidden=5, rate=0.3)
    ranker.learn(X, rng.integers(0, 3, 7))
    w, b, V = (ranker.weights_, ranker.hidden_bias_, ranker.hidden_weights_)
    shown = ranker.show(X, id="r1", k=5)
    grades = click_grades(shown, [False, True, False, True, False])
    ranker.learn_ranking(shown, grades)

    unit = PDGD(rate=0.3, clip=0)  # documents are unit vectors: its weights are the scores
    unit.learn(np.zeros((2, 7)), [1, 0])  # one ranking behind, for the decay
    unit.__dict__["last_weights_"] = network(w, b, V, X.astype(float))
    eye = type(shown)("r1", shown.order, shown.scores, X=np.eye(7, dtype=np.float32),
                      policy=shown.policy)  # fmt: skip
    slopes = unit.learn_ranking(eye, grades).weights_ - network(w, b, V, X.astype(float))

    def change(name, flat):  # by finite differences of slopes . s
        parts = {"w": w, "b": b, "V": V}
        wide = {**parts, name: parts[name] + flat}
        return slopes @ network(wide["w"], wide["b"], wide["V"], X.astype(float))

    for name, old, new in (
        ("w", w, ranker.weights_),
        ("b", b, ranker.hidden_bias_),
        ("V", V, ranker.hidden_weights_),
    ):
        for at in np.ndindex(old.shape):
            step = np.zeros_like(old)
            step[at] = 1e-6
            slope = (change(name, step) - change(name, -step)) / 2e-6
            assert new[at] - old[at] == pytest.approx(slope, rel=1e-4, abs=1e-9)


def test_it_learns_what_no_linear_ranker_can():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = (X[:, 0] * X[:, 1] > 0.1).astype(float) * 2
    data = QueryDataset.from_arrays(X, y, group=[10] * 60)
    reached = []
    for ranker in (NeuralPDGD(hidden=16, rate=0.5), PDGD()):
        ranker.play(data, make_user("perfect"), np.random.default_rng(1), 2000)
        reached.append(evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"])
    assert reached[0] > 0.9 > reached[1] + 0.05


def test_it_is_saved(tmp_path, rng):
    ranker = NeuralPDGD(hidden=3)
    X = rng.normal(size=(4, 2)).astype(np.float32)
    shown = ranker.show(X, id="r1")
    ranker.learn_ranking(shown, click_grades(shown, [True, False, False, False]))
    save(ranker, tmp_path / "m.rlm")
    assert load(tmp_path / "m.rlm").digest() == ranker.digest()


def test_other_policies_and_bad_settings_are_refused(rng):
    X = rng.normal(size=(3, 2)).astype(np.float32)
    with pytest.raises(DataError, match="NeuralPDGD learns only from those made plackett-luce"):
        NeuralPDGD().learn_ranking(best_first([1.0, 2.0, 3.0], id="r", X=X), [1, 0, 0])
    with pytest.raises(DataError, match="hidden must be a whole number"):
        NeuralPDGD(hidden=0).learn(X, [1, 0, 0])
