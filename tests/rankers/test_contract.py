"""What every ranker promises: names of features, versions, snapshots, states, merging."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, ModelError, NotFittedError
from rankloop.rankers.model_files.saving import dumps, load, loads
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.registry import make_ranker

from .small import EVERY, FEWER, ONLINE
from .streams import stream

NAMES = tuple("abcdefg")


def made(name):
    return make_ranker(name).set_params(**FEWER.get(name, {}))


@pytest.fixture(scope="module")
def data():
    return replace(stream("short", seed=1), feature_names=NAMES)


# Features have names


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_columns_in_another_order_are_found_by_name(name, data):
    ranker = made(name).fit(data)
    assert ranker.feature_names_in_ == NAMES
    order = np.array([3, 1, 0, 6, 5, 2, 4])
    other = replace(data, X=data.X[:, order].copy(), feature_names=tuple(NAMES[j] for j in order))
    expected = ranker.predict(data)
    assert np.array_equal(ranker.predict(other), expected)
    frame = pd.DataFrame(other.X, columns=list(other.feature_names))
    assert np.array_equal(ranker.predict(frame, qid=data.qid), expected)
    assert ranker.rank(other.query(0), id="r").order.tolist() == (
        ranker.rank(data.query(0), id="r").order.tolist()
    )
    assert np.array_equal(ranker.predict(data.X, group=data.sizes), expected)  # names left out


@pytest.mark.slow
@pytest.mark.parametrize("name", ONLINE)
def test_learning_goes_on_by_name(name, data):
    order = np.array([3, 1, 0, 6, 5, 2, 4])
    names = tuple(NAMES[j] for j in order)
    other = replace(data, X=data.X[:, order].copy(), feature_names=names)
    first, second = made(name).fit(data), made(name).fit(data)
    first.partial_fit(data).learn(data.query(0).X, data.query(0).y)
    frame = pd.DataFrame(other.query(0).X, columns=list(names))
    second.partial_fit(other).learn(frame, data.query(0).y)
    assert first.digest() == second.digest()
    assert second.feature_names_in_ == NAMES


def test_other_names_are_refused(data):
    ranker = rl.SolarI().fit(data)
    digest = ranker.digest()
    renamed = replace(data, feature_names=("a", "b", "c", "d", "e", "f", "price"))
    said = r"missing: 'g'; not known: 'price'\); rename, add or drop columns"
    for call in (ranker.predict, ranker.partial_fit, ranker.predict_then_learn):
        with pytest.raises(DataError, match=said):
            call(renamed)
    with pytest.raises(DataError, match=said):
        ranker.learn(pd.DataFrame(data.query(0).X, columns=renamed.feature_names), data.query(0).y)
    with pytest.raises(DataError, match=said):
        rl.RankSVM().fit(data, valid=renamed)
    fewer = replace(data, X=data.X[:, :6].copy(), feature_names=NAMES[:6])
    with pytest.raises(DataError, match=r"\(missing: 'g'\)"):
        ranker.predict(fewer)
    twice = replace(data, feature_names=("a", "a", "b", "c", "d", "e", "f"))
    ranker = rl.SolarI().fit(twice)
    with pytest.raises(DataError, match="several columns have the same name"):
        ranker.predict(replace(twice, feature_names=("a", "b", "a", "c", "d", "e", "f")))
    assert rl.SolarI().fit(data).digest() == digest


def test_names_travel(data, tmp_path):
    ranker = rl.Auto().fit(data)
    ranker.save(tmp_path / "m")
    for again in (load(tmp_path / "m"), copy.deepcopy(ranker), loads(dumps(ranker))):
        assert again.feature_names_in_ == NAMES
    assert rl.Auto().fit(stream("short", seed=1)).feature_names_in_ == ()


@pytest.mark.parametrize("name", EVERY)
def test_rows_without_queries_are_refused(name, data):
    ranker = made(name)
    with pytest.raises(DataError, match=r"pass qid=.*group="):
        ranker.fit(data.X, data.y)
    assert not ranker.is_fitted


# State as a value


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_every_way_to_copy_gives_the_same_ranker(name, data, tmp_path):
    ranker = made(name).fit(data)
    ranker.save(tmp_path / "m")
    copies = [
        copy.deepcopy(ranker),
        pickle.loads(pickle.dumps(ranker)),
        load(tmp_path / "m"),
        loads(ranker.dumps()),
        ranker.copy(),
    ]
    restored = made(name)
    restored._restore(ranker._state())
    assert restored.digest() == ranker.digest()
    assert (tmp_path / "m").read_bytes() == ranker.dumps()
    for again in copies:
        assert again.digest() == ranker.digest()
        assert again.version_ == ranker.version_ > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_state_is_a_copy(name, data):
    ranker = made(name).fit(data)
    digest = ranker.digest()
    for value in ranker._state().values():
        if isinstance(value, np.ndarray) and value.size:
            value[...] = 0
    assert ranker.digest() == digest


@pytest.mark.matrix
@pytest.mark.parametrize("name", ONLINE)
def test_a_copy_stays_while_the_ranker_goes_on(name, data):
    ranker = made(name).fit(data)
    before, digest, version = ranker.predict(data), ranker.digest(), ranker.version_
    kept = ranker.copy()
    ranker.partial_fit(stream("short", seed=2))
    assert np.array_equal(kept.predict(data), before)
    assert (kept.digest(), kept.version_) == (digest, version)
    assert kept.rank(data.query(0)).version == version < ranker.version_
    continued = kept.copy().partial_fit(stream("short", seed=2))
    assert continued.digest() == ranker.digest()
    assert kept.digest() == digest


def test_versions_change_with_every_change(data):
    ranker = rl.SolarI()
    seen = [ranker.version_]
    for change in (
        lambda: ranker.fit(data),
        lambda: ranker.fit(data),
        lambda: ranker.partial_fit(data),
        lambda: ranker.learn(data.query(0).X, data.query(0).y),
        lambda: ranker.discount_past(0.5),
        lambda: ranker.merge([ranker.copy()]),
        lambda: ranker._restore(ranker._state()),
    ):
        change()
        seen.append(ranker.version_)
    assert seen == sorted(set(seen))
    with pytest.raises(DataError):
        ranker.fit(data.X, data.y)
    assert ranker.version_ == seen[-1]


def test_a_file_must_hold_what_was_asked_for(data, tmp_path):
    rl.RankSVM().fit(data).save(tmp_path / "m")
    assert isinstance(load(tmp_path / "m", rl.RankSVM), rl.RankSVM)
    with pytest.raises(ModelError, match="contains a RankSVM, but a OnlineRanker is needed"):
        load(tmp_path / "m", OnlineRanker)
    with pytest.raises(DataError, match="is a RankSVM, but a OnlineRanker is needed"):
        make_ranker("ranksvm", OnlineRanker)
    for damaged in (b"", b"abc", rl.Slam().fit(data).dumps()[:-20]):
        with pytest.raises(ModelError):
            loads(damaged)


# Every ranker explains itself, and says what features add to a score


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_contributions_add_up(name, data):
    ranker = made(name).fit(data)
    query = max(data, key=len)
    found = ranker.contributions(query)
    assert found.shape == (len(query), 8)
    assert np.allclose(found.sum(axis=1), ranker.predict(query), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_parts_name_features_as_the_data_does(name, data):
    for part in made(name).fit(data).explain():
        for feature in [part["feature"]] if "feature" in part else part.get("features", []):
            assert set(NAMES) & set(re.findall(r"\w+", feature)) or "score of" in feature, part


def test_contributions_of_a_linear_ranker(data):
    ranker = rl.SolarII().fit(data)
    query = max(data, key=len)
    found = ranker.contributions(query)
    expected = ranker.weights_ * (query.X - query.X.mean(axis=0))
    assert np.allclose(found[:, :-1], expected, atol=1e-5)
    assert ranker.explain()[0]["feature"] in NAMES


def test_score_is_a_mean_over_queries(data):
    ranker = rl.SolarII().fit(data)
    expected = rl.evaluate(data, ranker.predict(data), "AP")["AP"]
    assert ranker.score(data, measure="AP") == expected
    assert ranker.score(data.X, data.y, qid=data.qid, measure="AP") == expected


# Merging


def parts(data, n):
    return [data.select(np.arange(k, len(data), n)) for k in range(n)]


@pytest.mark.parametrize("name", ["slam", "perceptron", "solar-i", "solar-i:average=true"])
def test_first_order_rankers_take_the_mean(name, data):
    one, two, three = [made(name).partial_fit(part) for part in parts(data, 3)]
    counts = np.array([x.n_queries_seen_ for x in (one, two, three)])
    expected = sum(c * x.last_weights_ for c, x in zip(counts, (one, two, three), strict=True))
    updates = one.updates_ + two.updates_ + three.updates_
    merged = one.copy().merge([two, three])
    assert np.allclose(merged.last_weights_, expected / counts.sum())
    assert merged.n_queries_seen_ == len(data)
    assert merged.updates_ == updates
    merged.partial_fit(data)


@pytest.mark.parametrize("name", ["solar-ii", "newton", "auto", "mix"])
def test_merging_with_what_brought_nothing_changes_little(name, data):
    base = made(name).fit(data)
    one, other = base.copy().partial_fit(data), base.copy()
    before = one.predict(data)
    one.merge([other], base)
    assert np.allclose(one.predict(data), before, atol=1e-5)
    assert one.n_queries_seen_ == 2 * len(data)


@pytest.mark.parametrize("name", ["solar-ii", "newton", "auto"])
def test_second_order_rankers_add_up_what_they_know(name, data):
    one, other = [made(name).partial_fit(part) for part in parts(data, 2)]
    both = one.copy().merge([other])
    again = other.copy().merge([one])
    assert np.allclose(both.predict(data), again.predict(data), atol=1e-5)
    assert both.n_queries_seen_ == len(data)
    if hasattr(both, "precision_"):
        start = made(name)
        start._reset(7)
        expected = one.precision_ + other.precision_ - start.precision_
        assert np.allclose(both.precision_, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONLINE)
def test_a_merge_is_whole_or_refused(name, data):
    one, other = made(name).fit(data), made(name).fit(stream("short", seed=2))
    digest = one.digest()
    try:
        one.merge([other])
    except DataError:
        assert one.digest() == digest
    else:
        assert np.isfinite(one.predict(data)).all()
        assert loads(one.dumps()).digest() == one.digest() != digest


def test_what_cannot_be_merged_is_said(data):
    ranker = rl.SolarI().fit(data)
    for other, said in (
        (rl.SolarI(C=1), "must have the same class"),
        (rl.Slam().fit(data), "must have the same class"),
        (rl.SolarI(), "has learnt nothing"),
        (rl.SolarI().learn([[1.0], [2.0]], [0, 1]), "1 features"),
    ):
        with pytest.raises(DataError, match=said):
            ranker.merge([other])
    with pytest.raises(NotFittedError):
        rl.SolarI().merge([ranker])
