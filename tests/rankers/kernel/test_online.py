"""Online rankers with kernels: the linear kernel is the primal, and mistakes alone count."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.rankers.kernel.kernels import RBF
from rankloop.rankers.registry import make_ranker

from ..streams import KERNEL, stream

PRIMAL = {
    "slam:rate=0.5,average=False": "kernel-slam:rate=0.5",
    "slam:measure=AP,rate=0.3,decay=0.5,average=False": "kernel-slam:measure=AP,rate=0.3,decay=0.5",
    "slam:measure=nDCG@3,margin=0.25,average=False": "kernel-slam:measure=nDCG@3,margin=0.25",
    "minimax": "kernel-minimax",
    "minimax:rate=0.3,decay=1": "kernel-minimax:rate=0.3,decay=1",
    "solar-i": "kernel-solar-i",
    "solar-i:C=0.5": "kernel-solar-i:C=0.5",
    "predtron": "kernel-predtron",
    "predtron:f=1/i,rule=loss-driven,rate=0.3": "kernel-predtron:f=1/i,rule=loss-driven,rate=0.3",
}


def in_kernel(text):
    return f"{text}{',' if ':' in text else ':'}kernel=linear,budget=none"


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("shape", ["short", "forty", "wide"])
@pytest.mark.parametrize("primal", PRIMAL)
def test_linear_kernel_is_the_primal(primal, shape, average):
    data = stream(shape, seed=1)
    linear = make_ranker(primal).set_params(average=average)
    kernel = make_ranker(in_kernel(PRIMAL[primal])).set_params(average=average)
    expected, found = linear.predict_then_learn(data), kernel.predict_then_learn(data)
    scale = np.abs(expected).max()
    assert np.allclose(found, expected, rtol=0, atol=1e-5 * scale)
    assert kernel.updates_ == linear.updates_ > 0
    weights = kernel.coefficients_ @ kernel.support_.astype(float)
    assert np.allclose(weights, linear.weights_, atol=1e-5 * np.abs(linear.weights_).max())


@pytest.mark.parametrize("grades", ["five", "binary", "one", "real"])
def test_exactly_where_all_numbers_are_whole(grades):
    """No rounding: the very same scores, ties and all."""
    data = stream("short", grades, seed=2, whole=True)
    linear, kernel = make_ranker("minimax"), make_ranker(in_kernel("kernel-minimax"))
    assert np.array_equal(linear.predict_then_learn(data), kernel.predict_then_learn(data))
    assert linear.updates_ == kernel.updates_


@pytest.mark.parametrize("name", KERNEL)
def test_a_perfect_ranking_adds_nothing(name):
    data = separable(5, np.random.default_rng(0), n_documents=6, n_features=4).data
    ranker = make_ranker(f"{name}:kernel=rbf(0.01),budget=none").set_params(passes=300)
    if name == "kernel-solar-i":
        ranker.set_params(C=100.0)
    held = ranker.fit(data).held_
    ranker.partial_fit(data)
    slack = name == "kernel-solar-i"  # pairs come closer to their margin for ever
    assert ranker.held_ == held or slack
    assert rl.evaluate(data, ranker.predict(data), "nDCG")["nDCG"] == 1.0


def test_it_is_the_sum_over_its_support():
    data = stream("short", seed=3)
    ranker = make_ranker("kernel-slam:kernel=rbf(3),rate=1,budget=50").fit(data)
    K = RBF(3.0)(data.X, ranker.support_)
    assert len(ranker.support_) == len(ranker.coefficients_) == 50
    assert np.allclose(ranker.predict(data), K @ ranker.coefficients_, atol=1e-6)


@pytest.mark.parametrize("name", KERNEL)
def test_a_kernel_learns_what_no_line_can(name):
    """A document is good where it is near the middle: linear rankers are at chance."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2)).astype(np.float32)
    y = (np.hypot(*X.T) < 0.5) + 0.0
    data = rl.QueryDataset.from_arrays(X, y, group=[20] * 200)
    linear, kernel = (
        rl.evaluate(data, make_ranker(text).predict_then_learn(data), "AP")["AP"]
        for text in (name.removeprefix("kernel-"), f"{name}:kernel=rbf(0.1)")
    )
    assert linear < 0.5
    assert kernel > 0.8


BAD = [
    ("kernel-slam:kernel=cube", "unknown kernel 'cube'"),
    ("kernel-slam:budget=0", "budget must be a whole number of at least 1; found 0"),
    (f"kernel-slam:budget={2**63}", "budget must be a whole number below 2\\^63; found"),
    ("kernel-slam:removal=oldest", "removal must be one of forgetron, random, .*; found 'oldest'"),
    ("kernel-slam:kernel=linear,removal=merging", "merging needs an rbf kernel; found linear"),
    ("kernel-slam:rate=0", "rate must be a number above 0"),
    ("kernel-minimax:decay=3", "decay must be a number from 0 to 1"),
    ("kernel-solar-i:C=0", "C must be a number above 0"),
    ("kernel-slam:kernel=chi2", "chi2 kernel needs features of at least 0"),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_bad_parameters(text, says):
    with pytest.raises(DataError, match=says):
        make_ranker(text).fit(stream())


def test_a_larger_budget_later_is_refused():
    ranker = make_ranker("kernel-slam:budget=10").fit(stream())
    with pytest.raises(DataError, match="the budget was 10 when learning began, but is 20 now"):
        ranker.set_params(budget=20).partial_fit(stream())
    smaller = ranker.set_params(budget=4).partial_fit(stream(seed=1))
    assert smaller.held_ == 4
