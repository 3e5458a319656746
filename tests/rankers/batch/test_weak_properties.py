"""What holds for all rankers built from weak rankers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop as rl
from rankloop.exceptions import DataError, MeasureError
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.batch.stumps import BinnedPairs, cut_points

from .weak_data import queries, repeated, trained

EVERY = {
    "adarank": rl.rankers.AdaRank(rounds=6),
    "rankboost": rl.rankers.RankBoost(rounds=12),
    "frank": rl.rankers.FRank(rounds=12),
    "frank-5": rl.rankers.FRank(rounds=8, thresholds=5, candidates=5),
    "coordinate-ascent": rl.rankers.CoordinateAscent(rounds=4, restarts=2, steps=6, tolerance=0.0),
    "single-feature": rl.rankers.SingleFeature(),
    "constant": rl.rankers.Constant(),
}
ROUNDS = [name for name, ranker in EVERY.items() if hasattr(ranker, "rounds")]
PAIRS = ["rankboost", "frank", "frank-5"]
every = pytest.mark.parametrize("name", EVERY)


def fresh(name, **changes):
    ranker = EVERY[name]
    return type(ranker)(**{**ranker.get_params(), **changes})


def same(one, other):
    for name, value in one._state().items():
        assert np.array_equal(value, other._state()[name]), name


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize("saved", [False, True])
def test_going_on_is_going_through(name, saved, tmp_path):
    data = rl.data.concat([queries(5, "real", n=30, ties=False)])
    rounds = EVERY[name].rounds
    whole = fresh(name).fit(data)
    assert whole.rounds_ > rounds // 2
    ranker = fresh(name, rounds=rounds // 2, warm_start=True).fit(data)
    assert ranker.rounds_ == rounds // 2
    if saved:
        ranker.save(tmp_path / "half")
        ranker = rl.load(tmp_path / "half")
    same(whole, ranker.set_params(rounds=rounds).fit(data))


@pytest.mark.parametrize("name", ROUNDS)
def test_the_objective_falls(name):
    _, told = trained(fresh(name, rounds=20), queries(7, "real", n=30))
    assert len(told) > 1
    assert (np.diff(told) <= 1e-12).all()


@pytest.mark.parametrize("name", ROUNDS)
def test_the_best_round_is_kept(name):
    train, valid = queries(1, n=40, ties=False), queries(2, n=40, ties=False)
    shuffled, told, models = valid.shuffle(np.random.default_rng(0)), [], []

    def watch(round_):
        told.append(round_.valid)
        models.append(ranker.predict(shuffled))

    ranker = fresh(name, rounds=20, valid_measure="AP", patience=3)
    ranker.fit(train, valid=valid, on_round=watch)
    assert told == [rl.evaluate(shuffled, scores, "AP")["AP"] for scores in models]
    assert ranker.rounds_ == 1 + int(np.argmax(told))
    assert len(told) <= ranker.rounds_ + 3
    assert np.array_equal(ranker.predict(shuffled), models[ranker.rounds_ - 1])


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_counts(name, seed):
    data = queries(seed, "real", n=30, weights="dq")
    one, other = fresh(name).fit(data), fresh(name).fit(repeated(data))
    assert one.features_.tolist() == other.features_.tolist()
    assert one.thresholds_.tolist() == other.thresholds_.tolist()
    assert one.alphas_ == pytest.approx(other.alphas_, abs=1e-8)


@pytest.mark.parametrize("name", ["adarank", "coordinate-ascent", "single-feature"])
def test_query_weights_are_counts(name):
    data = queries(4, n=15, ties=False, weights="q")
    one, other = fresh(name).fit(data), fresh(name).fit(repeated(data))
    assert one.predict(data) == pytest.approx(other.predict(data), abs=1e-9)
    with pytest.raises(DataError, match="cannot use document weights"):
        fresh(name).fit(queries(4, weights="d"))


@every
@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_permuting_documents_permutes_scores(name, seed):
    data = queries(seed, n=10)
    shuffled = data.shuffle(np.random.default_rng(seed))
    one, other = fresh(name).fit(data), fresh(name).fit(shuffled)
    assert other.predict(data) == pytest.approx(one.predict(data), abs=1e-7)


@every
def test_what_teaches_nothing(name):
    """No difference: no opinion."""
    flat = rl.QueryDataset.from_arrays(np.ones((4, 2)), [0, 1, 2, 0], group=[4])
    assert np.ptp(fresh(name).fit(flat).predict(flat)) == 0


@pytest.mark.parametrize("name", PAIRS)
def test_perfect_features_overflow_nothing(name):
    data = rl.QueryDataset.from_arrays(np.arange(12.0)[:, None], np.arange(12) % 4, group=[4] * 3)
    ranker, told = trained(fresh(name, rounds=400, thresholds=255), data)
    assert np.isfinite(ranker.alphas_).all()
    assert np.isfinite(told).all()
    assert rl.evaluate(data, ranker.predict(data), "nDCG")["nDCG"] == 1


@pytest.mark.parametrize("name", ROUNDS)
def test_what_it_explains(name):
    data = queries(1, n=30, ties=False)
    named = replace(data, feature_names=("a", "b", "c", "d"))
    rows = fresh(name).fit(named).explain()
    assert rows
    sizes = [abs(row.get("alpha", row.get("weight"))) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert {row["feature"] for row in rows} <= set("abcd")
    numbers = dict(zip("abcd", "1234", strict=True))
    numbered = fresh(name).fit(data).explain()
    assert [row["feature"] for row in numbered] == [numbers[row["feature"]] for row in rows]


def test_explained_weak_rankers_add_up():
    data = queries(1, n=30)
    ranker = rl.rankers.RankBoost(rounds=40).fit(data)
    scores = sum(
        row["alpha"] * (data.X[:, int(row["feature"]) - 1] > row["threshold"])
        for row in ranker.explain()
    )
    assert scores == pytest.approx(ranker.predict(data), abs=1e-12)


@pytest.mark.parametrize(
    ("ranker", "error", "says"),
    [
        (rl.rankers.AdaRank("DCG@5"), MeasureError, "between 0 and 1; found DCG@5"),
        (rl.rankers.AdaRank("Success"), MeasureError, "needs a cutoff"),
        (rl.rankers.AdaRank(tolerance=-1), DataError, "tolerance"),
        (
            rl.rankers.AdaRank(rounds=0),
            DataError,
            "rounds must be a whole number of at least 1; found 0",
        ),
        (rl.rankers.RankBoost(rounds=1.5), DataError, "rounds"),
        (
            rl.rankers.RankBoost(thresholds=256),
            DataError,
            "thresholds must be at most 255; found 256",
        ),
        (rl.rankers.FRank(thresholds=0), DataError, "thresholds"),
        (rl.rankers.FRank(candidates=0), DataError, "candidates"),
        (rl.rankers.CoordinateAscent("ERR(max=1)"), MeasureError, "expects grades up to 1"),
        (rl.rankers.CoordinateAscent(restarts=0), DataError, "restarts"),
        (rl.rankers.CoordinateAscent(steps=0), DataError, "steps"),
        (rl.rankers.CoordinateAscent(random_state=-1), DataError, "random_state"),
        (rl.rankers.SingleFeature("nDGC"), MeasureError, "unknown measure"),
        (rl.rankers.Constant(patience=0), DataError, "patience"),
    ],
)
def test_bad_parameters(ranker, error, says):
    good = type(ranker)().fit(queries())
    before = good._state()
    with pytest.raises(error, match=says):
        good.set_params(**ranker.get_params()).fit(queries(1))
    assert all(np.array_equal(value, before[name]) for name, value in good._state().items())


@pytest.mark.parametrize("measure", ["P@3", "RR", "ERR", "RBP", "AP@5", "AP(rel=2)", "PairAcc"])
@pytest.mark.parametrize("name", ["adarank", "coordinate-ascent", "single-feature"])
def test_any_measure(name, measure):
    data = queries(2, n=20, ties=False)
    ranker, told = trained(fresh(name, measure=measure), data)
    assert told
    assert 0 <= told[-1] <= 1
    assert np.isfinite(ranker.predict(data)).all()


def test_ties_do_not_know_the_file():
    """A feature that says nothing is worth chance, though the file has the best documents first."""
    y = np.tile([2.0, 1, 0, 0], 30)
    X = np.c_[np.zeros(120), np.random.default_rng(0).random(120) + 0.1 * y]
    assert rl.rankers.SingleFeature().fit(X, y, group=[4] * 30).choice_.tolist() == [1, 1]


@given(
    values=st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=60),
    most=st.integers(1, 20),
)
def test_thresholds_part_values(values, most):
    x = np.array(values, np.float32)
    cuts = cut_points(x, np.ones(len(x)), most)
    assert len(cuts) <= most
    assert (np.diff(cuts) > 0).all()
    distinct = len(np.unique(x))
    bins = np.searchsorted(cuts, x, side="left")
    assert len(np.unique(bins)) == len(cuts) + 1
    assert np.array_equal(bins[:, None] > np.arange(len(cuts)), x[:, None] > cuts)
    if distinct <= most + 1:
        assert len(cuts) == distinct - 1


def test_slopes_are_sums_over_documents(rng):
    data = keep_usable(queries(0, n=30, weights="dq"))
    pairs = BinnedPairs.make(data, 2)
    potentials = rng.normal(size=len(pairs.y))
    slopes = pairs.slopes(potentials)
    for feature, cuts in enumerate(pairs.cuts):
        for k, cut in enumerate(cuts):
            above = pairs.X[:, feature] > cut
            assert slopes[feature, k] == pytest.approx(potentials[above].sum(), abs=1e-12)


def test_an_interrupt_leaves_whole_rounds():
    """What is interrupted in a round is as the round before left it."""
    data = queries(1, n=30, ties=False)
    for name in ROUNDS:
        whole = fresh(name, rounds=2).fit(data)
        ranker = fresh(name)

        def stop(round_):
            if round_.number == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ranker.fit(data, on_round=stop)
        same(whole, ranker)


def test_validation_data_without_relevant_documents_is_an_error():
    data = queries(0, "binary")
    nothing = rl.QueryDataset(data.X, 0 * data.y, data.offsets, data.query_ids)
    ranker = rl.rankers.RankBoost(rounds=3)
    with pytest.raises(DataError, match="has no value on the validation data"):
        ranker.fit(data, valid=nothing)
