"""Rankers inside scikit-learn: clones, pipelines and searches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankloop
from rankloop.data import QueryKFold
from rankloop.data.simulate import separable
from rankloop.rankers.registry import make_ranker

from ..tiny import Tiny
from .small import EVERY, ONLINE, small


@pytest.fixture(scope="module")
def data():
    return separable(30, np.random.default_rng(0)).data


def agreement(estimator, X, y):
    """A score that needs no query ids."""
    return float(np.corrcoef(estimator.predict(X), y)[0, 1])


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_clones(name, data):
    own = {
        "stacked": {"prior": 50.0},
        "prepared": {"maps": ["rank"]},
        "described": {"missing": "median"},
        "lifted": {"random_state": 1},
    }
    usual = {"passes": 2, "random_state": 1} if name in ONLINE else {"valid_measure": "AP"}
    changes = own.get(name, usual)
    ranker = small(name).set_params(**changes).fit(data)
    twin = clone(ranker)
    assert repr(twin.get_params()) == repr(ranker.get_params())
    assert not twin.is_fitted
    assert np.array_equal(twin.fit(data).predict(data), ranker.predict(data))


def test_clones_inside_clones():
    ranker = rankloop.Prepared(rankloop.Slam(rate=0.5), maps=["raw"])
    twin = clone(ranker)
    assert twin.ranker is not ranker.ranker
    assert twin.ranker.rate == 0.5


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_pipelines(name, data):
    pipeline = make_pipeline(StandardScaler(), small(name))
    pipeline.fit(data.X, data.y, **{f"{pipeline.steps[-1][0]}__qid": data.qid})
    scaled = StandardScaler().fit_transform(data.X)
    by_hand = small(name).fit(scaled, data.y, qid=data.qid)
    assert by_hand.n_queries_seen_ == len(data)
    scores = pipeline.predict(data.X, qid=data.qid)
    assert np.array_equal(scores, by_hand.predict(scaled, qid=data.qid))


class Spy(rankloop.Slam):
    """Counts the queries it is told of."""

    told: list[int] = []  # noqa: RUF012

    def fit(self, X, y=None, *, qid=None, group=None):
        self.told.append(1 if qid is None else len(set(qid)))
        return super().fit(X, y, qid=qid, group=group)


def test_searches(data):
    Spy.told.clear()
    search = GridSearchCV(Spy(), {"rate": [0.01, 1.0]}, cv=QueryKFold(3), scoring=agreement)
    search.fit(data.X, data.y, groups=data.qid, qid=data.qid)
    assert Spy.told == [20] * 6 + [30]
    assert search.best_estimator_.n_queries_seen_ == 30
    assert search.best_score_ > 0.5


def test_searches_over_pipelines(data):
    Spy.told.clear()
    pipeline = make_pipeline(StandardScaler(), Spy())
    search = GridSearchCV(pipeline, {"spy__rate": [0.01, 1.0]}, cv=QueryKFold(3), scoring=agreement)
    search.fit(data.X, data.y, groups=data.qid, spy__qid=data.qid)
    assert Spy.told == [20] * 6 + [30]


def test_cross_validation(data):
    scores = cross_val_score(
        rankloop.Slam(),
        data.X,
        data.y,
        groups=data.qid,
        params={"qid": data.qid},
        cv=QueryKFold(3),
        scoring=agreement,
    )
    assert scores.min() > 0.5


@pytest.mark.parametrize("piped", [False, True])
def test_routing(data, piped):
    """With metadata routing on, `qid` goes where it is asked for."""
    Spy.told.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = Spy().set_fit_request(qid=True)
        estimator = make_pipeline(StandardScaler(), ranker) if piped else ranker
        grid = {"spy__rate" if piped else "rate": [0.01, 1.0]}
        search = GridSearchCV(estimator, grid, cv=QueryKFold(3), scoring=agreement)
        search.fit(data.X, data.y, groups=data.qid, qid=data.qid)
    assert Spy.told == [20] * 6 + [30]


def test_requests_survive_clones():
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = clone(rankloop.Slam().set_fit_request(qid="queries"))
        assert ranker.get_metadata_routing().fit.requests["qid"] == "queries"


@pytest.fixture(scope="module")
def mixed():
    """Rows of queries in any order."""
    data = separable(30, np.random.default_rng(1), n_documents=8, n_grades=3).data
    rows = np.random.default_rng(2).permutation(data.n_documents)
    X = data.X + np.random.default_rng(3).normal(size=data.X.shape)
    return X[rows], data.y[rows], data.qid[rows]


class TestScorer:
    """A ranking measure as scoring=, with query ids routed to it."""

    @pytest.fixture(autouse=True)
    def routing(self):
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    def test_it_is_evaluate(self, mixed):
        X, y, qid = mixed
        ranker = rankloop.SolarII().fit(X, y, qid=qid)
        data = rankloop.QueryDataset.from_arrays(X, y, qid=qid)
        for measure, convention in (("AP", "standard"), ("nDCG@3", "letor3")):
            expected = rankloop.evaluate(data, ranker.predict(data), measure, convention)[measure]
            found = rankloop.scorer(measure, convention=convention)(ranker, X, y, qid=qid)
            assert found == pytest.approx(expected)

    def test_ties_do_not_know_the_order_of_rows(self):
        y = np.tile([1.0, 0.0, 0.0, 0.0], 200)
        ranker = rankloop.Slam().fit(np.ones((800, 1)), y, group=[4] * 200)
        score = rankloop.scorer("P@1")(ranker, np.ones((800, 1)), y, qid=np.repeat(range(200), 4))
        assert 0.15 < score < 0.35

    @pytest.mark.parametrize("name", ["slam", "auto"])
    def test_cross_validate(self, mixed, name):
        X, y, qid = mixed
        done = cross_validate(
            make_ranker(name),
            X,
            y,
            params={"qid": qid, "groups": qid},
            cv=QueryKFold(3),
            scoring={"ndcg": rankloop.scorer("nDCG@5"), "ap": rankloop.scorer("AP")},
        )
        for i, (train, test) in enumerate(QueryKFold(3).split(X, y, qid)):
            model = make_ranker(name).fit(X[train], y[train], qid=qid[train])
            expected = rankloop.scorer("AP")(model, X[test], y[test], qid=qid[test])
            assert done["test_ap"][i] == expected

    @pytest.mark.parametrize("name", ["slam", "auto", "newton"])
    def test_searches_over_pipelines(self, mixed, name):
        X, y, qid = mixed
        pipeline = make_pipeline(StandardScaler(), make_ranker(name))
        grid = {f"{pipeline.steps[-1][0]}__passes": [1, 2]}
        scoring = rankloop.scorer("nDCG@5")
        search = GridSearchCV(pipeline, grid, cv=QueryKFold(3), scoring=scoring)
        search.fit(X, y, qid=qid, groups=qid)
        assert search.best_score_ > 0.6
        assert search.score(X, y, qid=qid) == scoring(search.best_estimator_, X, y, qid=qid)

    def test_other_estimators(self, mixed):
        X, y, qid = mixed
        done = cross_validate(
            make_pipeline(StandardScaler(), Ridge()),
            X,
            y,
            params={"qid": qid, "groups": qid},
            cv=QueryKFold(3),
            scoring=rankloop.scorer(),
        )
        assert done["test_score"].min() > 0.5

    def test_under_another_name(self, mixed):
        X, y, qid = mixed
        done = cross_validate(
            rankloop.Slam().set_fit_request(qid="queries"),
            X,
            y,
            params={"queries": qid, "groups": qid},
            cv=QueryKFold(3),
            scoring=rankloop.scorer().set_score_request(qid="queries"),
        )
        assert len(done["test_score"]) == 3

    def test_without_query_ids(self, mixed):
        X, y, qid = mixed
        ranker = rankloop.Slam().fit(X, y, qid=qid)
        with pytest.raises(rankloop.DataError, match="enable_metadata_routing=True"):
            rankloop.scorer()(ranker, X, y)

    def test_several_processes_may_use_it(self):
        again = pickle.loads(pickle.dumps(rankloop.scorer("AP", convention="letor3")))
        assert repr(again) == "Scorer('AP', convention='letor3')"

    def test_weights_are_routed_to_batch_rankers(self, mixed):
        X, y, qid = mixed
        weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
        spy = WeightSpy().set_fit_request(sample_weight=True)
        search = GridSearchCV(spy, {"shrink": [0.5]}, cv=QueryKFold(3), scoring=rankloop.scorer())
        WeightSpy.told.clear()
        search.fit(X, y, qid=qid, groups=qid, sample_weight=weights)
        folds = [weights[train] for train, _ in QueryKFold(3).split(X, y, qid)]
        assert all(map(np.array_equal, WeightSpy.told, [*folds, weights]))

    @pytest.mark.parametrize("ranker", [Tiny(), rankloop.Slam()])
    def test_weights_are_not_routed_unasked(self, ranker):
        requests = {"qid": True, "group": None, "sample_weight": None, "query_weight": None}
        assert ranker.get_metadata_routing().fit.requests == requests


class WeightSpy(Tiny):
    """Keeps the weights it is given."""

    told: list[np.ndarray] = []  # noqa: RUF012

    def fit(self, X, y=None, *, qid=None, group=None, sample_weight=None):
        self.told.append(sample_weight)
        return super().fit(X, y, qid=qid, group=group, sample_weight=sample_weight)


def test_folds_that_split_queries_are_warned_of():
    from sklearn.model_selection import KFold

    data = separable(30, np.random.default_rng(0)).data
    measure = rankloop.scorer("nDCG@10")
    train, test = next(KFold(3, shuffle=True, random_state=0).split(data.X))
    ranker = rankloop.Slam().fit(data.X[train], data.y[train], qid=data.qid[train])
    with pytest.warns(rankloop.exceptions.LeakWarning, match="have rows both in the training"):
        measure(ranker, data.X[test], data.y[test], qid=data.qid[test])
    assert measure(ranker, data.X[train], data.y[train], qid=data.qid[train]) > 0  # no warning
    train, test = next(QueryKFold(3).split(data.X, data.y, data.qid))
    ranker = rankloop.Slam().fit(data.X[train], data.y[train], qid=data.qid[train])
    assert measure(ranker, data.X[test], data.y[test], qid=data.qid[test]) > 0
