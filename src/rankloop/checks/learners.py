"""What every learner must satisfy. Each check works on a fresh copy of the learner it is given."""

from __future__ import annotations

import contextlib
import copy
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.checks.hostile import hostile_queries, outlier
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError, RankloopError
from rankloop.learners.base import Ranker
from rankloop.metrics.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.checks.contracts import Learner, OnlineLearner
    from rankloop.data.dataset import QueryDataset


def easy_queries(n_queries: int = 60, seed: int = 0) -> QueryDataset:
    """Simulate queries that a linear ranker orders without a fault, grades 0 to 2."""
    simulated = separable(
        n_queries, np.random.default_rng(seed), n_documents=12, n_features=6, n_grades=3
    )
    return simulated.data


def fitted(learner: Learner, data: QueryDataset) -> Any:
    """Fit a copy of the learner."""
    return copy.deepcopy(learner).fit(data.X, data.y, qid=data.qid)


def check_fit_returns_itself(learner: Learner) -> None:
    """`fit` returns the learner, so that calls chain."""
    data = easy_queries(5)
    mine = copy.deepcopy(learner)
    assert mine.fit(data.X, data.y, qid=data.qid) is mine, "fit must return self"


def check_learns_easy_data(learner: Learner) -> None:
    """On separable data a learner ranks unseen queries far better than chance.

    Baselines say so (`baseline = True`), and need not.
    """
    if getattr(learner, "baseline", False):
        return
    train, test = easy_queries(80, seed=1), easy_queries(80, seed=1).select(slice(60, 80))
    model = fitted(learner, train.select(slice(0, 60)))
    shuffled = test.shuffled(np.random.default_rng(0))
    reached = evaluate(shuffled, model.predict(shuffled.X), "nDCG@10")["nDCG@10"]
    assert reached > 0.75, f"nDCG@10 on separable data is {reached:.3f}; chance is about 0.6"


def check_scores_are_finite(learner: Learner) -> None:
    """`predict` gives one finite number a row."""
    data = easy_queries(20)
    scores = np.asarray(fitted(learner, data).predict(data.X))
    assert scores.shape == (data.n_documents,), f"scores have shape {scores.shape}"
    assert np.isfinite(scores).all(), "scores are not finite"


def check_rows_are_scored_alone(learner: Learner) -> None:
    """A row's score does not depend on the other rows given with it.

    Learners that look at whole queries say so (`scores_rows_alone = False`); theirs must not depend
    on the order of a query's rows.
    """
    data = easy_queries(20)
    model = fitted(learner, data)
    rows = data.X[:12]  # one query
    together = model.predict(rows)
    if getattr(learner, "scores_rows_alone", True):
        alone = [model.predict(rows[i : i + 1])[0] for i in range(12)]
        assert np.allclose(together, alone, rtol=1e-5, atol=1e-6), "a score depends on its batch"
    backwards = model.predict(rows[::-1].copy())[::-1]
    assert np.allclose(together, backwards, rtol=1e-5, atol=1e-6), "a score depends on row order"


def check_same_data_same_model(learner: Learner) -> None:
    """Fitting twice gives the same scores, and forgets what came before."""
    data, other = easy_queries(20), easy_queries(20, seed=5)
    scores = fitted(learner, data).predict(data.X)
    assert np.array_equal(scores, fitted(learner, data).predict(data.X)), "fit is not deterministic"
    again = fitted(learner, other).fit(data.X, data.y, qid=data.qid).predict(data.X)
    assert np.array_equal(scores, again), "fit remembers earlier data"


def check_rows_in_any_order(learner: Learner) -> None:
    """Rows of queries may be mixed: a query is told by its id, not by its place."""
    data = easy_queries(10)
    mixed = np.argsort(np.arange(data.n_documents) % 12, kind="stable")
    scores = fitted(learner, data).predict(data.X)
    model = copy.deepcopy(learner).fit(data.X[mixed], data.y[mixed], qid=data.qid[mixed])
    assert np.allclose(model.predict(data.X), scores, rtol=1e-4, atol=1e-5), "row order counts"


def check_refuses_bad_input(learner: Learner) -> None:
    """NaN features, wrong lengths and another number of features are errors, not results."""
    data = easy_queries(10)
    model = fitted(learner, data)
    broken = data.X.copy()
    broken[3, 1] = np.inf
    calls: dict[str, Callable[[], Any]] = {
        "infinite features in fit": lambda: fitted(learner, data).fit(broken, data.y, qid=data.qid),
        "too few grades": lambda: fitted(learner, data).fit(data.X, data.y[:-1], qid=data.qid),
        "another number of features": lambda: model.predict(data.X[:, :-1]),
    }
    for what, call in calls.items():
        try:
            call()
        except (DataError, ValueError):
            continue
        raise AssertionError(f"{what} raised no error")


def check_learning_goes_on(learner: OnlineLearner) -> None:
    """A loop of `learn` is one pass of `partial_fit`, in one call or several."""
    data = easy_queries(20)
    whole = copy.deepcopy(learner).partial_fit(data.X, data.y, qid=data.qid)
    looped, halves = copy.deepcopy(learner), copy.deepcopy(learner)
    for query in data:
        looped.learn(query.X, query.y)
    for part in (data.select(slice(0, 10)), data.select(slice(10, 20))):
        halves.partial_fit(part.X, part.y, qid=part.qid)
    scores = whole.predict(data.X)
    assert np.array_equal(scores, looped.predict(data.X)), "learn differs from partial_fit"
    assert np.array_equal(scores, halves.predict(data.X)), "partial_fit does not go on"


def check_missing_values_are_refused(learner: Learner) -> None:
    """A data set with missing values is an error that changes nothing, unless they are taken."""
    if getattr(learner, "takes_nan", False):
        return
    data = easy_queries(10)
    X = data.X.copy()
    X[3, 1] = np.nan
    missing = replace(data, X=X)
    model = fitted(learner, data)
    before = model.predict(data.X)
    for method in ("fit", "partial_fit"):
        try:
            learns = getattr(model, method, model.fit)
            if isinstance(learner, Ranker):
                learns(missing)
            else:
                learns(X, data.y, qid=data.qid)
        except (DataError, ValueError):
            pass
        else:
            raise AssertionError(f"{method} took a missing value without a word")
        assert np.array_equal(model.predict(data.X), before), f"a failed {method} changed the model"


def check_survives_hostile_streams(learner: OnlineLearner) -> None:
    """Whatever comes, a query is learnt or refused, and scores stay finite."""
    mine: Any = copy.deepcopy(learner)
    rng = np.random.default_rng(0)
    rows = rng.random((20, 8), np.float32)
    for i, (X, y) in enumerate(hostile_queries(150, rng)):
        before = mine.predict(rows) if i else None
        try:
            mine.learn(X, y)
        except RankloopError:
            if before is not None:
                assert np.array_equal(mine.predict(rows), before), "an error changed the learner"
            continue
        assert np.isfinite(mine.predict(rows)).all(), f"query {i} made scores that are not finite"


def check_learns_after_outliers(learner: OnlineLearner) -> None:
    """After an outlier, which it may refuse, a learner soon ranks about as well as without it.

    Those that an outlier can spoil say so (`is_robust = False`).
    """
    if not getattr(learner, "is_robust", True):
        return
    data = easy_queries(200, seed=1)

    def reached(value: float | None) -> float:
        """Measure the last 100 queries, each before it is learnt from."""
        mine: Any = fitted(learner, data.select(slice(0, 50)))
        if value is not None:
            bad = outlier(data, 50, value)
            with contextlib.suppress(RankloopError):
                mine.learn(bad.X, bad.y)
        between, last = data.select(slice(50, 100)), data.select(slice(100, 200))
        mine.partial_fit(between.X, between.y, qid=between.qid)
        scores = []
        for query in last:
            scores.append(mine.predict(query.X))
            mine.learn(query.X, query.y)
        return evaluate(last, np.concatenate(scores), "nDCG@5")["nDCG@5"]

    usual = reached(None)
    for value in (1e20, 3e38):
        after = reached(value)
        assert after > 0.8 * usual, f"after a cell of {value:g}, nDCG@5 is {after:.2f}: {usual:.2f}"


def check_threads_see_one_state(learner: OnlineLearner) -> None:
    """While one thread learns, others rank by a state before or after a query."""
    data = easy_queries(40)
    states: list[Any] = [copy.deepcopy(learner)]
    for query in data:
        states.append(copy.deepcopy(states[-1]).learn(query.X, query.y))
    del states[0]
    possible = {np.asarray(state.predict(data.X)).tobytes() for state in states}
    shared = copy.deepcopy(states[0])
    seen: list[bytes] = []

    def look() -> None:
        while not done.is_set():
            seen.append(np.asarray(shared.predict(data.X)).tobytes())

    done = threading.Event()
    looking = threading.Thread(target=look)
    looking.start()
    try:
        for query in data.select(slice(1, 40)):
            shared.learn(query.X, query.y)
    finally:
        done.set()
        looking.join()
    assert set(seen) <= possible, "a thread saw a state that never was"


for _check in (
    check_learning_goes_on,
    check_survives_hostile_streams,
    check_learns_after_outliers,
    check_threads_see_one_state,
):
    _check.online = True  # type: ignore[attr-defined]
