"""Every compiled ranker agrees with its plain twin, query after query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloop.exceptions import DataError
from rankloop.rankers.registry import make_ranker

from ..streams import GRADES, SHAPES, stream
from .twins import (
    CommitteeTwin,
    ListNetTwin,
    MinimaxTwin,
    NewtonTwin,
    PairwiseTwin,
    PRankTwin,
    SlamTwin,
    SolarIITwin,
    SolarITwin,
    XENDCGTwin,
)

# what to learn with, its twin, and how close they must be: kernels in float32 take steps that
# differ in the seventh digit, those in double only in how scores were rounded
TWINS = {
    "slam": (SlamTwin, {}, 1e-9),
    "slam:measure=AP,rate=0.3": (SlamTwin, {"measure": "AP", "rate": 0.3}, 1e-9),
    "slam:measure=nDCG@3,rate=0.3,decay=0.5": (
        SlamTwin,
        {"measure": "nDCG@3", "rate": 0.3, "decay": 0.5},
        1e-9,
    ),
    "slam:measure=nDCG@3,rate=0.3,steps_on=loss": (
        SlamTwin,
        {"measure": "nDCG@3", "rate": 0.3, "steps_on": "loss"},
        1e-9,
    ),
    "slam:within_grade=mean,rate=0.3": (SlamTwin, {"within_grade": "mean", "rate": 0.3}, 1e-9),
    "slam:measure=nDCG@3,rate=0.3,steps_on=loss,within_grade=mean": (
        SlamTwin,
        {"measure": "nDCG@3", "rate": 0.3, "steps_on": "loss", "within_grade": "mean"},
        1e-9,
    ),
    "slam:margin=0.25,rate=2": (SlamTwin, {"margin": 0.25, "rate": 2.0}, 1e-9),
    "minimax": (MinimaxTwin, {}, 1e-12),
    "minimax:rate=0.3,decay=1": (MinimaxTwin, {"rate": 0.3, "decay": 1.0}, 1e-12),
    "online-listnet": (ListNetTwin, {"rate": 0.03}, 1e-4),
    "online-listnet:rate=0.1,decay=0.5": (ListNetTwin, {"rate": 0.1, "decay": 0.5}, 1e-4),
    "online-xendcg": (XENDCGTwin, {"rate": 0.03}, 1e-4),
    "online-xendcg:rate=0.1,decay=0.5,gamma=0.5": (
        XENDCGTwin,
        {"rate": 0.1, "decay": 0.5, "gamma": 0.5},
        1e-4,
    ),
    "newton": (NewtonTwin, {}, 1e-6),
    "newton:prior=30,steps=1,power=0,gamma=0.5": (
        NewtonTwin,
        {"prior": 30.0, "steps": 1, "power": 0.0, "gamma": 0.5},
        1e-6,
    ),
    "newton:covariance=diagonal": (NewtonTwin, {"covariance": "diagonal"}, 1e-6),
    "newton:covariance=low-rank,directions=40": (NewtonTwin, {}, 1e-6),  # as many as features
    "newton:wide=2": (NewtonTwin, {"wide": 2}, 1e-6),
    "newton:steps=30": (NewtonTwin, {"steps": None}, 1e-6),
    "prank": (PRankTwin, {}, 1e-12),
    "pairwise": (PairwiseTwin, {}, 1e-4),
    "committee": (CommitteeTwin, {}, 1e-4),
    "pairwise:pair_order=rows": (PairwiseTwin, {"pair_order": "rows"}, 1e-4),
    "committee:pair_order=rows": (CommitteeTwin, {"pair_order": "rows"}, 1e-4),
    "committee:size=3": (CommitteeTwin, {"size": 3}, 1e-4),
    "solar-i": (SolarITwin, {}, 1e-4),
    "solar-i:C=0.1": (SolarITwin, {"C": 0.1}, 1e-4),
    "solar-ii": (SolarIITwin, {}, 1e-5),
    "solar-ii:gamma=1": (SolarIITwin, {"gamma": 1.0}, 1e-4),
    "solar-ii:covariance=low-rank,directions=40": (SolarIITwin, {}, 1e-5),
    "solar-ii:covariance=diagonal,gamma=10": (
        SolarIITwin,
        {"covariance": "diagonal", "gamma": 10.0},
        1e-5,
    ),
}


def make_twin(name, d):
    twin, parameters, _ = TWINS[name]
    return twin(d, **parameters)


def close(found, expected, rtol):
    """Whether two vectors agree, as a share of the largest number in them."""
    return np.abs(found - expected).max(initial=0) <= rtol * np.abs(expected).max(initial=0)


def learnt(ranker):
    """The weights that learn; a ranker may rank by their mean."""
    return ranker.last_weights_ if ranker.average else ranker.weights_


def check_agreement(name, data):
    """Run both; return them. After every query the weights must agree."""
    ranker, twin = make_ranker(name), make_twin(name, data.n_features)
    updates = 0
    for number, query in enumerate(data):
        ranker.learn(query.X, query.y)
        updates += twin.learn(query.X, query.y)
        assert close(learnt(ranker), twin.w, TWINS[name][2]), f"after query {number}"
    if name.partition(":")[0] not in ("committee", "prank"):  # they have a test of their own
        assert ranker.updates_ == updates
    assert ranker.n_queries_seen_ == len(data)
    return ranker, twin


@pytest.mark.matrix
@pytest.mark.parametrize("shape", [s for s in SHAPES if s != "many"])  # rounding adds up
@pytest.mark.parametrize("name", TWINS)
def test_normal_features(name, shape):
    check_agreement(name, stream(shape, seed=1))


@pytest.mark.matrix
@pytest.mark.parametrize("shape", ["short", "forty"])
@pytest.mark.parametrize(
    ("name", "grades"),
    [(n, g) for n in TWINS for g in GRADES if g != "five" and (n, g) != ("prank", "real")],
)
def test_other_grades(name, shape, grades):
    ranker, _ = check_agreement(name, stream(shape, grades, seed=2))
    assert (ranker.updates_ > 0) == (grades != "one")


@pytest.mark.matrix
@pytest.mark.parametrize("shape", ["short", "forty", "long"])
@pytest.mark.parametrize("name", TWINS)
def test_tied_scores(name, shape):
    """Whole features: scores tie often, and the perceptrons' arithmetic is exact."""
    check_agreement(name, stream(shape, seed=3, whole=True))


@pytest.mark.matrix
@pytest.mark.parametrize("shape", ["short", "forty", "long"])
@pytest.mark.parametrize("name", [name for name in TWINS if name != "prank"])
def test_documents_that_are_all_alike(name, shape):
    """No two rows differ, so no pair teaches anything."""
    ranker = make_ranker(name).partial_fit(stream(shape, seed=4, ties=True))
    assert np.abs(ranker.weights_).max() < 1e-6


@pytest.mark.parametrize("name", TWINS)
def test_nothing_to_learn(name):
    X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    ranker = make_ranker(name).learn(X, [2.0, 0.0, 1.0, 0.0])
    before, updates = learnt(ranker).copy(), ranker.updates_
    ranker.learn(X[:0], []).learn(X, [-1.0, -1.0, -1.0, -1.0])
    ranker.learn(X[:1], [-1.0])
    if name != "prank":
        ranker.learn(X, [1.0, 1.0, 1.0, 1.0]).learn(X, [0.0] * 4).learn(X[:1], [3.0])
    assert np.array_equal(learnt(ranker), before)
    assert ranker.updates_ == updates


@st.composite
def whole_queries(draw):
    d = draw(st.integers(1, 4))
    small = st.integers(-2, 2).map(float)
    return [
        (
            draw(arrays(np.float32, (m, d), elements=small)),
            draw(arrays(np.float64, m, elements=st.integers(-1, 3).map(float))),
        )
        for m in draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    ]


EXACT = ["minimax", "prank", "pairwise", "pairwise:pair_order=rows", "committee:size=3"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=60)
@given(queries=whole_queries())
def test_perceptrons_are_exact_on_whole_numbers(name, queries):
    ranker, twin = make_ranker(name), make_twin(name, queries[0][0].shape[1])
    ranker.set_params(clip=0)  # the twins have no bound on what one query can do
    for X, y in queries:
        ranker.learn(X, y)
        twin.learn(X, y)
        assert np.allclose(ranker.weights_, twin.w, rtol=1e-14, atol=0)


@pytest.mark.matrix
@pytest.mark.parametrize("name", TWINS)
def test_the_mean_of_the_weights(name):
    data = stream("short", seed=5)
    ranker, twin = make_ranker(name).set_params(average=True), make_twin(name, data.n_features)
    total = np.zeros(data.n_features)
    for query in data:
        ranker.learn(query.X, query.y)
        twin.learn(query.X, query.y)
        total += twin.w
    rtol = 10 * TWINS[name][2]
    assert close(ranker.weights_, total / len(data), rtol)
    assert close(ranker.last_weights_, twin.w, rtol)


def test_thresholds_of_prank():
    data = stream("short", seed=6, whole=True)
    ranker, twin = check_agreement("prank", data)
    assert ranker.thresholds_.tolist() == twin.b
    assert (np.diff(ranker.thresholds_) >= 0).all()
    assert len(ranker.thresholds_) == data.y.max()


def test_seats_of_the_committee():
    ranker, twin = check_agreement("committee:size=3", stream("forty", seed=7, whole=True))
    assert np.array_equal(ranker.current_, twin.current)
    assert ranker.lasted_.tolist() == [say for say, _ in twin.seats]
    assert np.array_equal(ranker.members_, [w for _, w in twin.seats])
    assert ranker.streak_[0] == twin.streak


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("gamma", [1.0, 1e4])
def test_information_of_solar_ii(shape, gamma):
    """L and h are sums over the violated pairs, and L is the inverse of the paper's S."""
    name = "solar-ii:gamma=1" if gamma == 1 else "solar-ii"
    ranker, twin = check_agreement(name, stream(shape, seed=8))
    assert close(ranker.precision_, twin.L, 1e-6)
    assert close(ranker.precision_ @ ranker.last_weights_, twin.h, 1e-6)
    assert np.allclose(ranker.precision_ @ twin.S, np.eye(len(twin.S)), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "d", "grades"), [(512, 40, 4), (600, 9, 4), (531, 200, 2)])
def test_long_lists_of_solar_i(m, d, grades):
    """More than 512 judged documents: pairs come in tiles; the last document is not judged."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(m + 1, d)).astype(np.float32) + 5
    y = rng.integers(0, grades, m + 1).astype(float)
    y[-1] = -1
    ranker = make_ranker("solar-i:C=0.001")
    twin = SolarITwin(d, 0.001, tile=None if m <= 512 else 32)
    for _ in range(2):
        ranker.learn(X, y)
        twin.learn(X, y)
        assert close(ranker.weights_, twin.w, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", "low-rank"])
@pytest.mark.parametrize(("m", "d", "grades"), [(600, 9, 4), (530, 540, None)])
def test_long_lists_of_solar_ii(m, d, grades, covariance):
    """More than 512 documents: pairs come in tiles; with fewer documents than features too."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(m, d)).astype(np.float32)
    y = np.zeros(m)
    if grades is not None:
        y[: m // 8] = rng.integers(0, grades, m // 8)
        rng.shuffle(y)
    y[:2], y[-1] = [2, 1], -1
    ranker = make_ranker(f"solar-ii:gamma=100,covariance={covariance},directions={d}")
    twin = SolarIITwin(d, 100.0, tile=32)
    ranker.learn(X, y)
    twin.learn(X, y)
    assert close(ranker.weights_, twin.w, 1e-5)
    assert close(ranker.precision_, twin.L, 1e-6)


@pytest.mark.parametrize("name", ["newton", "solar-ii"])
def test_low_rank_keeps_the_diagonal_and_the_largest_directions(name):
    data = stream("wide", seed=4)
    query = next(iter(data))
    full = make_ranker(name).learn(query.X, query.y).precision_
    prior = np.diag(full).min() if name == "solar-ii" else 10.0
    errors = []
    for directions in (1, 3, 6):
        ranker = make_ranker(f"{name}:covariance=low-rank,directions={directions}")
        found = ranker.learn(query.X, query.y).precision_
        assert np.allclose(np.diag(found), np.diag(full), rtol=1e-9)
        assert np.linalg.eigvalsh(found).min() > 0.999 * min(prior, 10.0)
        added = ranker.directions_.T @ ranker.directions_
        best = np.sort(np.linalg.eigvalsh(full))[-directions:] - np.linalg.eigvalsh(full).min()
        assert np.trace(added) >= 0.95 * best.sum()  # hardly less than the best so many
        errors.append(np.abs(found - full).max())
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("name", ["newton", "solar-ii"])
def test_another_covariance_after_learning_is_refused(name):
    data = stream("forty")
    ranker = make_ranker(name).fit(data)
    before = ranker.digest()
    with pytest.raises(DataError, match="covariance or directions were changed after learning"):
        ranker.set_params(covariance="low-rank").partial_fit(data)
    assert ranker.set_params(covariance="full").digest() == before
    with pytest.raises(DataError, match="covariance must be one of full, low-rank, diagonal"):
        ranker.set_params(covariance="half").partial_fit(data)


def test_variances_of_diagonal_solar_ii():
    ranker, twin = check_agreement("solar-ii:covariance=diagonal,gamma=10", stream("forty"))
    assert np.allclose(ranker.variances_, np.diag(twin.S), rtol=1e-5)
    assert (ranker.variances_ > 0).all()


def test_precision_of_newton():
    ranker, twin = check_agreement("newton", stream("forty", seed=9))
    assert np.allclose(ranker.precision_, twin.L, rtol=1e-5, atol=1e-6)


def test_newton_reaches_the_minimum_with_a_weak_prior():
    rng = np.random.default_rng(0)
    ranker, twin = make_ranker("newton:prior=1,steps=30"), NewtonTwin(5, prior=1.0, steps=None)
    for _ in range(10):
        X = (5 * rng.normal(size=(10, 5))).astype(np.float32)
        y = rng.integers(0, 5, 10).astype(float)
        ranker.learn(X, y)
        twin.learn(X, y)
    assert close(ranker.weights_, twin.w, 1e-3)


def test_slam_needs_a_margin():
    with pytest.raises(DataError, match="margin must be a number above 0; found 0"):
        make_ranker("slam:margin=0").partial_fit(stream("forty"))


@pytest.mark.parametrize("name", [n for n in TWINS if not n.startswith(("prank", "newton"))])
def test_huge_grades_overflow_nothing(name):
    X = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    weights = make_ranker(name).learn(X, [2000.0, 0.0]).weights_
    assert np.isfinite(weights).all()
    assert weights[0] > weights[1]


def test_newton_refuses_huge_grades():
    with pytest.raises(DataError, match="the grade 2000 has a gain"):
        make_ranker("newton").learn(np.eye(2, dtype=np.float32), [2000.0, 0.0])


def test_prank_refuses_grades_between():
    X = np.eye(2, dtype=np.float32)
    for grade in (0.5, 65.0):
        with pytest.raises(ValueError, match=f"whole grades from 0 to 64; found {grade:g}"):
            make_ranker("prank").learn(X, [grade, 0.0])


def test_listnet_on_queries_of_one_grade_as_printed():
    """The target is uniform, and scores are drawn together."""
    data = stream("short", "one", seed=2)
    ranker = make_ranker("online-listnet:one_grade=True,rate=1")
    twin = ListNetTwin(data.n_features, one_grade=True)
    for one in (ranker, twin):  # weights of 0 have nothing to draw together
        one.learn(data.X[:4], [3.0, 0.0, 1.0, 0.0])
    for query in data:
        ranker.learn(query.X, query.y)
        twin.learn(query.X, query.y)
        assert close(ranker.weights_, twin.w, 1e-4)
    assert ranker.updates_ > 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pairwise:pair_order=file", "pair_order must be grades or rows; found 'file'"),
        ("committee:pair_order=file", "pair_order must be grades or rows; found 'file'"),
        ("slam:steps_on=never", "steps_on must be mistakes or loss; found 'never'"),
        ("slam:within_grade=sum", "within_grade must be score or mean; found 'sum'"),
    ],
)
def test_choices_are_named(text, message):
    with pytest.raises(DataError, match=message):
        make_ranker(text).learn(np.eye(2, dtype=np.float32), [1.0, 0.0])
