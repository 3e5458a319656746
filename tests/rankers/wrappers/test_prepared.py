"""Prepared features in front of a ranker, and the one way to train any ranker."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError
from rankloop.rankers.training import new_ranker
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.lifted import Lifted
from rankloop.rankers.wrappers.maps import map_names, map_rows
from rankloop.rankers.wrappers.prepared import Prepared
from rankloop.rankers.wrappers.stacked import Stacked

from ...tiny import Tiny


def made(seed):
    return mslr_like(30, np.random.default_rng(seed), n_features=5, mean_length=8).data


@pytest.fixture(scope="module")
def data():
    return made(1)


@pytest.fixture(scope="module")
def valid():
    return made(2)


@pytest.mark.parametrize("scale", ["standard", "log", "query-minmax"])
@pytest.mark.parametrize("ranker", [Tiny(shrink=0.3), rl.SolarI()], ids=["batch", "online"])
def test_it_is_the_ranker_on_scaled_data(data, valid, ranker, scale):
    model = rl.Prepared(ranker, scale).fit(data)
    scaler = {"standard": rl.data.Standard, "log": rl.data.RobustLog}.get(
        scale, rl.data.QueryMinMax
    )().fit(data)
    alone = type(ranker)(**ranker.get_params()).fit(scaler.transform(data))
    expected = alone.predict(scaler.transform(valid))
    assert np.array_equal(model.predict(valid), expected)
    assert not ranker.is_fitted
    assert model.explain() == alone.explain()


@pytest.mark.parametrize("maps", [("minmax", "rank"), ("raw", "square", "0*3")])
def test_maps_follow_the_scaler(data, valid, maps):
    model = rl.Prepared(rl.RankSVM(), "standard", maps).fit(data)
    scaler = rl.data.Standard().fit(data)

    def seen(part):
        part = scaler.transform(part)
        return dataclasses.replace(part, X=map_rows(maps, part.X, part.offsets))

    alone = rl.RankSVM().fit(seen(data))
    assert np.array_equal(model.predict(valid), alone.predict(seen(valid)))
    named = {part["feature"]: part["weight"] for part in model.explain()}
    columns = map_names(maps, None, data.n_features)
    assert np.array_equal([named[column] for column in columns], alone.weights_)


def test_columns_are_named_by_their_maps(data):
    named = dataclasses.replace(data, feature_names=tuple("abcde"))
    ranker = rl.LambdaMART(trees=3, increasing=["rank of b", 9])
    model = rl.Prepared(ranker, "none", ["raw", "rank"]).fit(named)
    assert model.ranker_.feature_names_in_[5:7] == ("rank of a", "rank of b")


@pytest.mark.parametrize(
    ("scale", "maps", "alone"),
    [("log", ["raw", "square"], True), ("query-minmax", ["raw"], False), ("none", ["rank"], False)],
)
def test_whether_rows_are_scored_alone(data, scale, maps, alone):
    model = rl.Prepared(rl.RankSVM(), scale, maps).fit(data)
    assert model.traits.scores_rows_alone == alone
    row_by_row = np.concatenate([model.predict(data.X[[k]], group=[1]) for k in range(20)])
    assert np.allclose(row_by_row, model.predict(data)[:20]) == alone


def test_mapped_rankers_travel(data, valid, tmp_path):
    model = rl.Prepared(rl.RankSVM(), "none", ["minmax", "rank"]).fit(data)
    model.save(tmp_path / "model")
    again = rl.load(tmp_path / "model")
    assert np.array_equal(again.predict(valid), model.predict(valid))
    assert again.explain() == model.explain()


def test_early_stopping_is_the_rankers(data, valid):
    scaler = rl.data.RobustLog().fit(data)
    rounds, told = [], []
    alone = Tiny(rounds=20, patience=3)
    alone.fit(scaler.transform(data), valid=scaler.transform(valid), on_round=rounds.append)
    model = rl.Prepared(Tiny(rounds=20, patience=3), "log")
    model.fit(data, valid=valid, on_round=told.append)
    assert told == rounds
    assert model.rounds_ == alone.rounds_ < len(told)


def test_the_measure_is_the_rankers(data):
    assert rl.Prepared(Tiny(valid_measure="P@1"), "log").fit(data).ranker_.valid_measure == "P@1"


def test_an_interrupt_leaves_what_was_learnt(data):
    def stop(done):
        if done.number == 2:
            raise KeyboardInterrupt

    model = rl.Prepared(Tiny(rounds=9), "log")
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, on_round=stop)
    assert model.rounds_ == 2
    whole = rl.Prepared(Tiny(rounds=2), "log").fit(data)
    assert np.array_equal(model.predict(data), whole.predict(data))


def test_it_goes_on_with_the_scaler_it_has(data, valid):
    model = rl.Prepared(Tiny(rounds=2, warm_start=True), "log").fit(data)
    before = model.scaler_
    model.fit(data)
    assert model.rounds_ == 4
    whole = rl.Prepared(Tiny(rounds=4), "log").fit(data)
    assert np.allclose(model.predict(valid), whole.predict(valid))
    assert model.fit(valid).scaler_ == before


def test_it_travels(tiny, data, valid, tmp_path):
    model = rl.Prepared(Tiny(shrink=0.25), "standard").fit(data)
    model.save(tmp_path / "a")
    again = rl.load(tmp_path / "a")
    assert repr(again) == "Prepared(ranker=Tiny(shrink=0.25), scale='standard')"
    assert np.array_equal(again.predict(valid), model.predict(valid))
    assert again.rounds_ == model.rounds_


def test_errors_change_nothing(data):
    model = rl.Prepared(Tiny(), "log").fit(data)
    before = model.predict(data)
    for params, says in (
        ({"scale": "x"}, "no scaler"),
        ({"maps": ["x"]}, "unknown map 'x'"),
        ({"maps": ["0*5"]}, "there are 5 features, numbered from 0 to 4"),
        ({"maps": []}, "at least one"),
        ({"maps": ["nystrom(rbf(1),9)"]}, "use Lifted"),
        ({"ranker": rl.LambdaMART(increasing=["a"]), "maps": ["rank"]}, "no feature 'a'"),
        ({"ranker": Tiny(shrink=2)}, "shrink"),
    ):
        changed = rl.Prepared(Tiny(), "log").fit(data).set_params(**params)
        with pytest.raises(DataError, match=says):
            changed.fit(data)
        assert np.array_equal(changed.predict(data), before)


def test_bad_validation_data_loses_nothing(data, valid):
    for ranker in (rl.Prepared(rl.XENDCG(), "log"), rl.XENDCGBoost(trees=3), rl.RankSVM()):
        before = ranker.fit(data).predict(valid)
        narrow = dataclasses.replace(valid, X=valid.X[:, :2])
        no_use = dataclasses.replace(valid, y=np.zeros_like(valid.y))
        for judge in (narrow, no_use):
            with pytest.raises(DataError):
                ranker.fit(data, valid=judge)
            assert np.array_equal(ranker.predict(valid), before)


def test_a_ranker_that_looks_at_whole_queries(data):
    assert not rl.Prepared(rl.Blend([rl.RankSVM()]), "log").traits.scores_rows_alone


def test_a_mix_behind_a_scaler_explains_itself(data):
    parts = rl.Prepared(rl.Auto(adapt=False), "log").fit(data).explain()
    assert [part["weight"] for part in parts] == [0.5, 0.5]
    adaptive = rl.Prepared(rl.Auto(), "log").fit(data).explain()
    assert sum(part["weight"] for part in adaptive) == pytest.approx(1)
    assert parts[1]["features"][0].split(" of ")[0] in ("minmax", "rank")


def test_new_rankers(tiny):
    assert new_ranker(Tiny, {}, "AP").valid_measure == "AP"
    assert new_ranker(Tiny, {"valid_measure": "P@1"}, "AP").valid_measure == "P@1"
    assert repr(new_ranker(rl.Slam, {}, "AP", "log")).startswith("Prepared(ranker=Slam(), scale")
    assert isinstance(new_ranker(Tiny, {}, "AP", "log").ranker, Tiny)


def test_training_goes_on(data, valid):
    model = Tiny(rounds=2, patience=None).fit(data, valid=valid).go_on(data)
    whole = Tiny(rounds=4, patience=None).fit(data)
    assert np.allclose(model.predict(valid), whole.predict(valid))
    assert model.warm_start is False
    with pytest.raises(DataError, match="does not learn online"):
        model.discount_past(0.5)


def test_linear_rankers_explain_themselves(data):
    model = rl.SolarII().fit(data)
    parts = model.explain()
    assert sorted(int(part["feature"]) for part in parts) == [1, 2, 3, 4, 5]
    assert all(part["weight"] == model.weights_[int(part["feature"]) - 1] for part in parts)
    sizes = [abs(part["weight"]) for part in parts]
    assert sizes == sorted(sizes, reverse=True)


def test_missing_values_stay_missing_and_rank_lowest(data):
    """For rankers that accept them; others are asked for numbers."""
    X = data.X.copy()
    X[::4, 2] = np.nan
    told = rl.QueryDataset.from_arrays(X, data.y, qid=data.qid, allow_nan=True)
    model = rl.Prepared(rl.XENDCGBoost(trees=5), "none", ["raw", "rank"]).fit(told)
    seen = model._transform(told)
    assert np.array_equal(seen.X[:, :5], told.X, equal_nan=True)
    ranks = seen.X[:, 5:]
    low = np.where(np.isnan(told.X), -1e30, told.X).astype(np.float32)
    assert np.array_equal(ranks, map_rows(["rank"], low, told.offsets))
    assert np.isfinite(model.predict(told)).all()
    for ranker, maps in ((rl.RankSVM(), ["raw", "rank"]), (rl.XENDCGBoost(), ["minmax"])):
        with pytest.raises(DataError, match="needs finite numbers"):
            rl.Prepared(ranker, "none", maps).fit(told)


@pytest.mark.parametrize("wrapper", [Prepared, Described, Lifted, Stacked])
def test_what_is_no_ranker_is_refused(wrapper):
    with pytest.raises(DataError, match=r"ranker must be .* found 'linear'"):
        wrapper("linear").fit(np.eye(4), [0, 1, 0, 1], group=[4])
