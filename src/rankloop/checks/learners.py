"""What every learner must satisfy. Each check works on a fresh copy of the learner it is given."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
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


check_learning_goes_on.online = True  # type: ignore[attr-defined]
