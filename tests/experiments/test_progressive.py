"""Progressive validation: honest, repeatable, the same for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError
from rankloop.experiments.progressive import Stream, permute, stream

CONVENTIONS = ["standard", "letor3"]


@pytest.fixture(scope="module")
def data():
    made = mslr_like(60, np.random.default_rng(3), n_features=8, mean_length=12).data
    return rl.data.RobustLog().fit(made).transform(made)


def rankers():
    return {name: rl.make_ranker(name) for name in ("slam:rate=0.1", "solar-ii", "mix", "auto")}


def by_hand(ranker, stream, measure, convention):
    """Rank with what is known, measure, learn; one query after the other."""
    values = []
    for query in stream:
        scores = ranker.predict(query) if ranker.is_fitted else np.zeros(len(query))
        alone = rl.QueryDataset.from_arrays(query.X, query.y, group=[len(query)])
        values.append(rl.evaluate(alone, scores, measure, convention).results[0].values[0])
        ranker.learn(query.X, query.y)
    return np.array(values)


@pytest.mark.parametrize("name", ["solar-i", "newton", "committee", "slam:average=True"])
def test_it_is_the_loop_of_rank_measure_learn(data, name):
    found = stream(data, {"it": rl.make_ranker(name)}, "AP", permutations=2, seed=5)[0]
    for p in range(2):
        expected = by_hand(rl.make_ranker(name), permute(data, 5, p), "AP", "standard")
        assert np.allclose(found.values[p], expected, atol=0.02, equal_nan=True)
        assert np.isclose(found.means[p], np.nanmean(expected), atol=2e-3)


def test_results_do_not_depend_on_threads_or_company(data):
    def values(chosen, jobs):
        found = stream(
            data, chosen, ["nDCG@5", "P@1"], CONVENTIONS, permutations=3, seed=1, jobs=jobs
        )
        return {(s.ranker, str(s.measure), s.convention): s.values for s in found}

    alone = values(rankers(), 1)
    many = values(rankers(), 4)
    assert all(np.array_equal(alone[key], many[key], equal_nan=True) for key in alone)
    one = values({"solar-ii": rl.make_ranker("solar-ii")}, 2)
    assert all(np.array_equal(one[key], alone[key], equal_nan=True) for key in one)


def test_rankers_given_are_left_alone_and_go_on(data):
    trained = rl.SolarII().fit(data)
    before = trained.weights_.copy()
    found = stream(data, {"new": rl.SolarII(), "old": trained}, permutations=2)
    assert np.array_equal(trained.weights_, before)
    assert found[1].mean > found[0].mean  # it has seen these queries


def test_a_new_ranker_starts_from_chance_not_from_file_order():
    grades = np.tile([2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 300)  # the file is sorted
    data = rl.QueryDataset.from_arrays(np.ones((2400, 1)), grades, group=[8] * 300)
    value = stream(data, {"slam": rl.Slam()}, "P@1")[0].mean
    assert 0.15 < value < 0.35  # 2 of 8 by chance; 1 in file order


def test_curves():
    values = np.array([[1.0, np.nan, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]])
    stream = Stream("l", rl.nDCG, "standard", values)
    assert stream.means.tolist() == [2 / 3, 0.5]
    cumulative = [(1 + 0) / 2, (1 + 0.5) / 2, (0.5 + 2 / 3) / 2, (2 / 3 + 0.5) / 2]
    assert np.allclose(stream.curve(), cumulative)
    windowed = [(1 + 0) / 2, (1 + 0.5) / 2, (0 + 1) / 2, (0.5 + 0.5) / 2]
    assert np.allclose(stream.curve(window=2), windowed)
    assert stream.to_dict()["permutations"] == 2
    with pytest.raises(DataError, match="window"):
        stream.curve(0)


def test_errors(data):
    with pytest.raises(DataError, match="at least one ranker"):
        stream(data, {})
    with pytest.raises(DataError, match="permutations"):
        stream(data, rankers(), permutations=0)


def test_published_numbers_of_solar(data_dir):
    """Table 2 of the SOLAR paper, MQ2008 under LETOR's discount: within .01 (10 orders there)."""
    mq2008 = rl.read(data_dir / "MQ2008")
    found = stream(
        mq2008,
        {"solar-i": rl.SolarI(C=1e-5), "solar-ii": rl.SolarII(gamma=1e4)},
        ["nDCG@5", "nDCG@10"],
        "letor3",
        permutations=3,
    )
    published = [0.4584, 0.5022, 0.4680, 0.5107]
    assert np.allclose([s.mean for s in found], published, atol=0.01)
