"""Learners inside scikit-learn: its own checks, clones, pipelines and searches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import rankloop
from rankloop import QueryKFold
from rankloop.data.simulate import separable
from rankloop.learners.registry import NAMES, ONLINE_NAMES, learner_class, make_learner

EXPECTED = {
    "check_estimators_unfitted": "raises our NotFittedError: scikit-learn's cannot be imported",
    "check_dtype_object": "a wrong type is a DataError, not a TypeError",
    "check_fit2d_predict1d": "says what was found in words of its own",
    "check_requires_y_none": "says what was found in words of its own",
    "check_estimators_empty_data_messages": "a stream may begin with no rows at all",
}
BY_QUERY = {
    "check_methods_subset_invariance": "scores are relative to the other documents of the query",
}
BATCH = {
    "check_all_zero_sample_weights_error": "a weight of 0 teaches nothing, which is no error",
}
IN_ORDER = {
    f"check_sample_weight_equivalence_on_{kind}_data": "it learns row by row: their order counts"
    for kind in ("dense", "sparse")
}
NO_WEIGHTS = {
    f"check_sample_weight{check}": "what it lifts learns online, without weights"
    for check in ("s_not_overwritten", "_equivalence_on_dense_data", "_equivalence_on_sparse_data")
}
LAST_DIGITS = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}
NAMED = {"keeprank": IN_ORDER, "lifted": NO_WEIGHTS}


def expected_failures(name):
    more = {} if learner_class(name).scores_rows_alone else BY_QUERY
    return {**EXPECTED, **more, **({} if name in ONLINE_NAMES else BATCH), **NAMED.get(name, {})}


def own_checks():
    """Every check of scikit-learn's for every learner; those expected to fail must fail."""
    for name in NAMES:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", ".*does not inherit from `sklearn.base.BaseEstimator`"
            )
            checks = list(estimator_checks_generator(make_learner(name)))
        for estimator, check in checks:
            what = getattr(check, "func", check).__name__
            reason = expected_failures(name).get(what)
            marks = () if reason is None else pytest.mark.xfail(reason=reason)
            if what in LAST_DIGITS and learner_class(name).__module__.count(".kernel."):
                marks = pytest.mark.xfail(reason="BLAS rounds by a row's place", strict=False)
            yield pytest.param(estimator, check, id=f"{name}-{what}", marks=marks)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(own_checks()))
def test_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return separable(30, np.random.default_rng(0)).data


def agreement(estimator, X, y):
    """A score that needs no query ids."""
    return float(np.corrcoef(estimator.predict(X), y)[0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_clones(name, data):
    other = {"passes": 2, "random_state": 1} if name in ONLINE_NAMES else {"metric": "AP"}
    learner = make_learner(name).set_params(**other).fit(data)
    twin = clone(learner)
    assert twin.get_params() == learner.get_params()
    assert not twin.is_learnt
    assert np.array_equal(twin.fit(data).predict(data), learner.predict(data))


def test_clones_inside_clones():
    learner = rankloop.Mapped(rankloop.Slam(rate=0.5), ["raw"])
    twin = clone(learner)
    assert twin.learner is not learner.learner
    assert twin.learner.rate == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_pipelines(name, data):
    pipeline = make_pipeline(StandardScaler(), make_learner(name))
    pipeline.fit(data.X, data.y, **{f"{pipeline.steps[-1][0]}__qid": data.qid})
    scaled = StandardScaler().fit_transform(data.X)
    by_hand = make_learner(name).fit(scaled, data.y, qid=data.qid)
    assert by_hand.queries_ == len(data)
    assert np.array_equal(pipeline.predict(data.X), by_hand.predict(scaled))


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
    assert search.best_estimator_.queries_ == 30
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
        learner = Spy().set_fit_request(qid=True)
        estimator = make_pipeline(StandardScaler(), learner) if piped else learner
        grid = {"spy__rate" if piped else "rate": [0.01, 1.0]}
        search = GridSearchCV(estimator, grid, cv=QueryKFold(3), scoring=agreement)
        search.fit(data.X, data.y, groups=data.qid, qid=data.qid)
    assert Spy.told == [20] * 6 + [30]


def test_requests_survive_clones():
    with sklearn.config_context(enable_metadata_routing=True):
        learner = clone(rankloop.Slam().set_fit_request(qid="queries"))
        assert learner.get_metadata_routing().fit.requests["qid"] == "queries"
