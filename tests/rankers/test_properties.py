"""What holds for every online ranker, and the equivalences between them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, MeasureError, NotFittedError
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.registry import make_ranker

from .small import ONLINE
from .streams import KERNEL, LINEAR, stream

# PRank wants whole grades, which all streams here have
AVERAGED = [f"{name}:average=True" for name in (*LINEAR, *KERNEL)]
FULL = [
    f"kernel-slam:kernel=rbf(2),budget=20,removal={removal}"
    for removal in ("forgetron", "random", "least-loss", "projection", "merging")
]
EVERY = [
    *ONLINE,
    *AVERAGED,
    *FULL,
    "solar-ii:covariance=diagonal",
    "slam:decay=0.5",
    "kernel-slam:budget=none",
    "prepared:maps=['nystrom(rbf(2),30)','fourier(rbf(2),10)']",
]
WHOLE = {
    "described": "it learns what is usual from the first data given: a query, or all",
    "stacked": "`fit` trains the frozen model, and `partial_fit` goes on from there",
}


def same(one, other):
    """Whether two rankers, or parts of what they know, are the same, bit for bit."""
    if hasattr(one, "_state"):
        one, other = one._state(), other._state()
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name, value in one.items():
            same(value, other[name])
    elif isinstance(one, list):
        for a, b in zip(one, other, strict=True):
            same(a, b)
    else:
        assert np.array_equal(one, other)


@pytest.mark.matrix
@pytest.mark.parametrize("shape", ["short", "forty"])
@pytest.mark.parametrize("name", EVERY)
def test_learn_is_partial_fit_is_fit(name, shape):
    if name in WHOLE:
        pytest.skip(WHOLE[name])
    data = stream(shape, seed=1)
    looped = make_ranker(name)
    for query in data:
        looped.learn(query.X, query.y)
    whole = make_ranker(name).partial_fit(data)
    same(whole, looped)
    same(whole, make_ranker(name).fit(data))
    by_id = make_ranker(name).fit(data.X, data.y, group=data.sizes)
    assert np.array_equal(by_id.predict(data), whole.predict(data))


@pytest.mark.parametrize("name", ["solar-i", "pairwise"])
def test_preparing_queries_on_a_second_thread_changes_nothing(name):
    data = stream("many", seed=1)
    looped = make_ranker(name)
    for query in data:
        looped.learn(query.X, query.y)
    for _ in range(20):
        same(make_ranker(name).partial_fit(data), looped)


@pytest.mark.matrix
@pytest.mark.parametrize(
    "name",
    EVERY,
)
def test_progressive_scores_are_those_before_learning(name):
    data = stream("short", seed=2)
    ranker = make_ranker(name).partial_fit(stream("short", seed=3))
    other = copy.deepcopy(ranker)
    scores = ranker.predict_then_learn(data)
    before = []
    for query in data:
        before.append(other.predict(query))
        other.learn(query.X, query.y)
    same(ranker, other)
    before = np.concatenate(before)
    scale = max(np.abs(before).max(), 1e-30)
    assert np.abs(scores - before).max() < 1e-5 * scale


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_passes_and_seeds(name):
    if name == "stacked":
        pytest.skip(WHOLE[name])
    data = stream("short", seed=4)

    def with_passes(**params):
        ranker = make_ranker(name)
        if "passes" in ranker.get_params():
            return ranker.set_params(**params)
        return ranker.set_params(ranker=NewtonXENDCG(**params))  # a wrapper: those of its ranker

    if name in ("auto", "adaptive"):  # a shuffled fit tells nothing of change: see test_adaptive
        return
    twice = with_passes(passes=2).fit(data)
    same(twice, make_ranker(name).partial_fit(data).partial_fit(data))
    seeded = with_passes(passes=2, random_state=3)
    rng, by_hand = np.random.default_rng(3), make_ranker(name)
    for _ in range(2):
        by_hand.partial_fit(data.select(rng.permutation(len(data))))
    same(seeded.fit(data), by_hand)
    same(seeded.fit(data), by_hand)


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_arguments_are_left_alone(name):
    data = stream("short", seed=5)
    X, y = data.X.copy(), data.y.copy()
    ranker = make_ranker(name).fit(data)
    ranker.predict_then_learn(data)
    ranker.predict(data)
    assert np.array_equal(X, data.X)
    assert np.array_equal(y, data.y)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONLINE)
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_permuting_documents_permutes_scores(name, seed):
    rng = np.random.default_rng(seed)
    ranker = make_ranker(name).partial_fit(stream("short", seed=seed % 5))
    X = rng.normal(size=(6, 7)).astype(np.float32)
    order = rng.permutation(6)
    scores = ranker.predict(X, group=[6])
    assert np.allclose(ranker.predict(X[order], group=[6]), scores[order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["slam", "minimax", "online-listnet", "online-xendcg", "newton", "mix", "auto"]
)
def test_listwise_rankers_do_not_see_the_order_of_rows(name):
    """Away from ties; rankers that go from pair to pair or from row to row do depend on it."""
    data = stream("forty", seed=6, unjudged=0)
    first = data.select(slice(0, 1))
    members = make_ranker("slam:rate=0.1").partial_fit(first).last_weights_  # not tied any more
    ranker, other = make_ranker(name), make_ranker(name)
    for one in (ranker, other):
        one.partial_fit(first)
        if hasattr(one, "last_weights_"):
            one.last_weights_[:] = members
    rest = data.select(slice(1, 4))
    ranker.partial_fit(rest)
    other.partial_fit(rest.shuffle(np.random.default_rng(0)))
    assert np.allclose(ranker.predict(data), other.predict(data), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rate", [2.0**-10, 0.5, 64.0, 2.0**20])
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_minimax_rankings_do_not_depend_on_the_rate(rate, seed):
    """Rates are powers of 2, which scale without rounding: even the scores are multiples."""
    data = stream("short", seed=seed, whole=seed % 2 == 0)
    one, other = make_ranker("minimax"), make_ranker("minimax").set_params(rate=rate)
    assert np.array_equal(
        one.predict_then_learn(data) * np.float32(rate), other.predict_then_learn(data)
    )
    assert np.array_equal(one.weights_ * rate, other.weights_)
    assert one.updates_ == other.updates_


def test_slam_rankings_do_depend_on_the_rate():
    data = stream("forty", seed=0)
    one, other = make_ranker("slam"), make_ranker("slam:rate=100")
    assert not np.allclose(one.fit(data).weights_ * 1e4, other.fit(data).weights_)


@pytest.mark.parametrize("shape", ["short", "wide"])
@pytest.mark.parametrize("size", [1, 20])
def test_the_committee_learns_as_the_perceptron(shape, size):
    """Whatever its size, its current hypothesis is the pairwise perceptron's."""
    data = stream(shape, seed=8)
    committee = make_ranker(f"committee:size={size}").fit(data)
    perceptron = make_ranker("pairwise").fit(data)
    assert np.array_equal(committee.current_, perceptron.weights_)


def test_a_committee_of_one_is_the_best_hypothesis_and_the_current_one():
    data = stream("forty", seed=9)
    committee = make_ranker("committee:size=1").fit(data)
    say, own = committee.lasted_[0], committee.streak_[0]
    mean = (say * committee.members_[0] + own * committee.current_) / (say + own)
    assert say > 0
    assert np.allclose(committee.weights_, mean, rtol=1e-12)


def test_slam_of_two_grades_and_one_relevant_document_is_the_same_for_all_measures():
    """One relevant document has all the weight under nDCG, nDCG@k and AP."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.tile([0, 0, 1, 0, 0, 0], 10)
    data = QueryDataset.from_arrays(X, y, group=[6] * 10)
    weights = [
        make_ranker(f"slam:measure={measure}").fit(data).weights_
        for measure in ("nDCG", "nDCG@3", "AP")
    ]
    assert np.allclose(weights[0], weights[1], rtol=1e-12)
    assert np.allclose(weights[0], weights[2], rtol=1e-12)


def test_information_of_solar_ii_is_additive():
    """Apart in features, parts of a stream add their information, in any order."""
    rng = np.random.default_rng(1)
    left, right = np.zeros((2, 40, 8), np.float32)
    left[:, :4], right[:, 4:] = rng.normal(size=(2, 40, 4))
    y = rng.integers(0, 3, 40).astype(float)
    parts = [QueryDataset.from_arrays(X, y, group=[8] * 5) for X in (left, right)]
    alone = [make_ranker("solar-ii:gamma=10").fit(part) for part in parts]
    for order in (parts, parts[::-1]):
        both = make_ranker("solar-ii:gamma=10")
        for part in order:
            both.partial_fit(part)
        total = alone[0].precision_ + alone[1].precision_ - np.eye(8)
        assert np.allclose(both.precision_, total, rtol=1e-10)
        h = [one.precision_ @ one.last_weights_ for one in (*alone, both)]
        assert np.allclose(h[2], h[0] + h[1], rtol=1e-10)
        assert np.allclose(both.weights_, alone[0].weights_ + alone[1].weights_, rtol=1e-6)


def test_precision_of_solar_ii_is_sound():
    ranker = make_ranker("solar-ii:gamma=5").fit(stream("forty"))
    assert np.array_equal(ranker.root_, np.triu(ranker.root_))
    assert np.allclose(ranker.precision_, ranker.precision_.T, rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(ranker.precision_).min() >= 1 - 1e-9


def test_precision_of_newton_only_grows():
    ranker, data = make_ranker("newton"), stream("short")
    before = 10 * np.eye(data.n_features)
    for query in data:
        ranker.learn(query.X, query.y)
        assert np.linalg.eigvalsh(ranker.precision_ - before).min() > -1e-9
        before = ranker.precision_.copy()


@pytest.mark.parametrize("name", LINEAR)
def test_weights_are_scores(name):
    data = stream("short", seed=1)
    ranker = make_ranker(name).fit(data)
    scores = data.X.astype(float) @ ranker.weights_
    scale = np.abs(scores).max()
    assert np.allclose(ranker.predict(data.X), scores, rtol=1e-5, atol=1e-6 * scale)


BAD = [
    ("slam:rate=0", DataError, "rate must be a number above 0; found 0"),
    ("slam:rate=1e999", DataError, "rate must be a number above 0; found inf"),
    ("online-listnet:decay=2", DataError, "decay must be a number from 0 to 1; found 2"),
    ("slam:margin=-1", DataError, "margin must be a number above 0; found -1"),
    ("slam:measure=P@5", MeasureError, "Slam learns nDCG, nDCG@k or AP; found P@5"),
    ("online-xendcg:gamma=2", DataError, "gamma must be a number from 0 to 1; found 2"),
    ("newton:prior=0", DataError, "prior must be a number above 0; found 0"),
    ("newton:steps=0", DataError, "steps must be a whole number of at least 1; found 0"),
    ("committee:size=0", DataError, "size must be a whole number of at least 1; found 0"),
    ("solar-i:C=0", DataError, "C must be a number above 0; found 0"),
    ("solar-ii:gamma=0", DataError, "gamma must be a number above 0; found 0"),
    (
        "solar-ii:covariance=none",
        DataError,
        "covariance must be one of full, low-rank, diagonal; found None",
    ),
    ("mix:weighting=best", DataError, "weighting must be exponential or uniform; found 'best'"),
    ("slam:passes=0", DataError, "passes must be a whole number of at least 1; found 0"),
]


@pytest.mark.parametrize(("text", "error", "says"), BAD)
def test_bad_parameters(text, error, says):
    with pytest.raises(error, match=says):
        make_ranker(text).fit(stream())


@pytest.mark.parametrize("text", ["slam:rate=0", "newton:prior=0", "solar-i:C=0"])
def test_a_refused_fit_is_no_fit(text):
    ranker = make_ranker(text)
    with pytest.raises(DataError):
        ranker.fit(stream())
    with pytest.raises(NotFittedError):
        ranker.predict(stream())


@pytest.mark.parametrize(
    "text", ["slam:rate=fast", "slam:rate=none", "newton:steps=2.5", "committee:size=2.5"]
)
def test_parameters_of_another_type_are_data_errors(text):
    with pytest.raises(DataError):
        make_ranker(text).fit(stream())


@pytest.mark.parametrize("name", ONLINE)
def test_bad_input(name):
    data = stream("short", seed=1)
    ranker = make_ranker(name)
    with pytest.raises(NotFittedError, match="has learnt nothing yet; call fit or learn"):
        ranker.predict(data)
    ranker.fit(data)
    with pytest.raises(DataError, match=r"6 features, but .* is expecting 7 features"):
        ranker.predict(data.X[:, :6])
    with pytest.raises(DataError, match=r"6 features, but .* is expecting 7 features"):
        ranker.learn(data.X[:, :6], data.y)
    with pytest.raises(DataError, match="y has 2 values for 3 rows"):
        ranker.learn(data.X[:3], data.y[:2])
    if not ranker.traits.takes_nan:
        with pytest.raises(DataError, match="feature 0 of row 1 is missing"):
            ranker.learn([[0.0] * 7, [np.nan] * 7], [0, 1])
    with pytest.raises(DataError, match="grade of row 1 is nan"):
        ranker.learn(data.X[:2], [0, np.nan])
    with pytest.raises(DataError, match="contains its own grades"):
        ranker.fit(data, data.y)
    with pytest.raises(DataError, match="but the target y is None: give one grade per row"):
        ranker.fit(data.X)
    assert ranker.n_queries_seen_ == len(data), "a refused query counts"


def test_top_level_names():
    assert rankloop.Slam is type(make_ranker("slam"))
    assert rankloop.make_ranker is make_ranker
