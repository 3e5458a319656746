"""Checks that every ranker must pass. Each check uses a new copy of the given ranker."""

from __future__ import annotations

import contextlib
import copy
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.checks.contracts import OnlineRankerLike
from rankloop.checks.hostile import hostile_queries, outlier
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError, RankloopError
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.base import Ranker
from rankloop.rankers.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from numpy.typing import ArrayLike, NDArray

    from rankloop.checks.contracts import RankerLike
    from rankloop.data.dataset import QueryDataset

    L = TypeVar("L", bound=RankerLike)
    Scores = NDArray[np.float32 | np.float64]


def traits_of(ranker: object) -> Traits:
    """Return the traits of a ranker, which need not be one of ours; the usual ones by default."""
    traits = getattr(ranker, "traits", None)
    return traits if isinstance(traits, Traits) else Traits()


def easy_queries(n_queries: int = 60, seed: int = 0) -> QueryDataset:
    """Simulate queries with grades 0 to 2 that a linear ranker can rank perfectly."""
    simulated = separable(
        n_queries, np.random.default_rng(seed), n_documents=12, n_features=6, n_grades=3
    )
    return simulated.data


def fit_copy(ranker: L, data: QueryDataset) -> L:
    """Fit a copy of the ranker."""
    return copy.deepcopy(ranker).fit(data.X, data.y, qid=data.qid)


def score_rows(model: Any, X: NDArray[np.float32], qid: ArrayLike | None = None) -> Scores:
    """Score rows; a ranker that looks at whole queries gets the query ids (default: one query)."""
    if traits_of(model).scores_rows_alone:
        return np.asarray(model.predict(X))
    return np.asarray(model.predict(X, qid=np.zeros(len(X), int) if qid is None else qid))


def check_fit_returns_itself(ranker: RankerLike) -> None:
    """`fit` returns the ranker, so that calls can be chained."""
    data = easy_queries(5)
    mine = copy.deepcopy(ranker)
    assert mine.fit(data.X, data.y, qid=data.qid) is mine, "fit must return self"


def check_learns_easy_data(ranker: RankerLike) -> None:
    """On separable data, a ranker ranks held-out queries far better than chance.

    Baselines (`traits.is_baseline`) need not pass this check.
    """
    if traits_of(ranker).is_baseline:
        return
    train, test = easy_queries(80, seed=1), easy_queries(80, seed=1).select(slice(60, 80))
    model = fit_copy(ranker, train.select(slice(0, 60)))
    shuffled = test.shuffle(np.random.default_rng(0))
    reached = evaluate(shuffled, score_rows(model, shuffled.X, shuffled.qid), "nDCG@10")["nDCG@10"]
    assert reached > 0.75, f"nDCG@10 on separable data is {reached:.3f}; chance is about 0.6"


def check_scores_are_finite(ranker: RankerLike) -> None:
    """`predict` returns one finite number per row."""
    data = easy_queries(20)
    scores = score_rows(fit_copy(ranker, data), data.X, data.qid)
    assert scores.shape == (data.n_documents,), f"scores have shape {scores.shape}"
    assert np.isfinite(scores).all(), "scores are not finite"


def check_rows_are_scored_alone(ranker: RankerLike) -> None:
    """The score of a row does not depend on the other rows in the call.

    Rankers that look at whole queries (`traits.scores_rows_alone` false) pass if the scores do not
    depend on the order of a query's rows.
    """
    data = easy_queries(20)
    model = fit_copy(ranker, data)
    rows = data.X[:12]  # one query
    together = score_rows(model, rows)
    if traits_of(ranker).scores_rows_alone:
        alone = [score_rows(model, rows[i : i + 1])[0] for i in range(12)]
        assert np.allclose(together, alone, rtol=1e-5, atol=1e-6), "a score depends on its batch"
    backwards = score_rows(model, rows[::-1].copy())[::-1]
    assert np.allclose(together, backwards, rtol=1e-5, atol=1e-6), "a score depends on row order"


def check_same_data_same_model(ranker: RankerLike) -> None:
    """Fitting twice gives the same scores, and `fit` forgets earlier data."""
    data, other = easy_queries(20), easy_queries(20, seed=5)
    scores = score_rows(fit_copy(ranker, data), data.X, data.qid)
    assert np.array_equal(scores, score_rows(fit_copy(ranker, data), data.X, data.qid)), (
        "fit is not deterministic"
    )
    refitted = fit_copy(ranker, other).fit(data.X, data.y, qid=data.qid)
    again = score_rows(refitted, data.X, data.qid)
    assert np.array_equal(scores, again), "fit remembers earlier data"


def check_rows_in_any_order(ranker: RankerLike) -> None:
    """Rows of different queries may be mixed: the query id counts, not the position."""
    data = easy_queries(10)
    mixed = np.argsort(np.arange(data.n_documents) % 12, kind="stable")
    scores = score_rows(fit_copy(ranker, data), data.X, data.qid)
    model = copy.deepcopy(ranker).fit(data.X[mixed], data.y[mixed], qid=data.qid[mixed])
    assert np.allclose(score_rows(model, data.X, data.qid), scores, rtol=1e-4, atol=1e-5), (
        "row order counts"
    )


def check_refuses_bad_input(ranker: RankerLike) -> None:
    """NaN features, wrong lengths and a wrong number of features raise errors."""
    data = easy_queries(10)
    model = fit_copy(ranker, data)
    broken = data.X.copy()
    broken[3, 1] = np.inf
    calls: dict[str, Callable[[], object]] = {
        "infinite features in fit": lambda: fit_copy(ranker, data).fit(
            broken, data.y, qid=data.qid
        ),
        "too few grades": lambda: fit_copy(ranker, data).fit(data.X, data.y[:-1], qid=data.qid),
        "another number of features": lambda: score_rows(model, data.X[:, :-1]),
    }
    for what, call in calls.items():
        try:
            call()
        except (DataError, ValueError):
            continue
        raise AssertionError(f"{what} raised no error")


def check_learning_goes_on(ranker: OnlineRankerLike) -> None:
    """A loop of `learn` gives the same scores as `partial_fit`, in one call or several."""
    data = easy_queries(20)
    whole = copy.deepcopy(ranker).partial_fit(data.X, data.y, qid=data.qid)
    looped, halves = copy.deepcopy(ranker), copy.deepcopy(ranker)
    for query in data:
        looped.learn(query.X, query.y)
    for part in (data.select(slice(0, 10)), data.select(slice(10, 20))):
        halves.partial_fit(part.X, part.y, qid=part.qid)
    scores = score_rows(whole, data.X, data.qid)
    assert np.array_equal(scores, score_rows(looped, data.X, data.qid)), (
        "learn differs from partial_fit"
    )
    assert np.array_equal(scores, score_rows(halves, data.X, data.qid)), (
        "partial_fit does not continue from the current state"
    )


def check_sparse_rows(ranker: RankerLike) -> None:
    """A ranker learns the same from sparse rows as from dense ones, up to rounding.

    A ranker that does not accept sparse rows (`traits.takes_sparse` false) must raise an error.
    """
    if not isinstance(ranker, Ranker):
        return
    data = easy_queries(20)
    data = replace(data, X=np.where(np.arange(data.X.size).reshape(data.X.shape) % 3, data.X, 0))
    sparse = data.to_sparse()
    model = copy.deepcopy(ranker)
    if not model._is_sparse_taken():
        with contextlib.suppress(DataError):
            model.fit(sparse)
            raise AssertionError("sparse rows were taken, but takes_sparse is False")
        assert not model.is_fitted, "a fit that was refused changed the model"
        return
    dense = copy.deepcopy(ranker).fit(data)
    model.fit(sparse)
    if isinstance(model, OnlineRankerLike):
        for query in sparse:
            model.learn(query.X, query.y)
        dense.partial_fit(data)  # type: ignore[attr-defined]
    expected = dense.predict(data)
    assert np.allclose(model.predict(sparse), expected, rtol=1e-4, atol=1e-5), (
        "from sparse rows, the ranker learns something else than from dense ones"
    )
    assert np.array_equal(dense.predict(sparse), expected), "sparse rows score differently"


def check_missing_values_are_refused(ranker: RankerLike) -> None:
    """Missing values raise an error that changes nothing, unless the ranker accepts them."""
    if traits_of(ranker).takes_nan:
        return
    data = easy_queries(10)
    X = data.X.copy()
    X[3, 1] = np.nan
    missing = replace(data, X=X)
    model = fit_copy(ranker, data)
    before = score_rows(model, data.X, data.qid)
    for method in ("fit", "partial_fit"):
        try:
            learns: Callable[..., object] = getattr(model, method, model.fit)
            if isinstance(ranker, Ranker):
                learns(missing)
            else:
                learns(X, data.y, qid=data.qid)
        except (DataError, ValueError):
            pass
        else:
            raise AssertionError(f"{method} accepted a missing value without an error")
        assert np.array_equal(score_rows(model, data.X, data.qid), before), (
            f"a failed {method} changed the model"
        )


def check_survives_hostile_streams(ranker: OnlineRankerLike) -> None:
    """Every difficult query is learnt from or raises an error, and scores stay finite."""
    mine = copy.deepcopy(ranker)
    rng = np.random.default_rng(0)
    rows = rng.random((20, 8), np.float32)
    for i, (X, y) in enumerate(hostile_queries(150, rng)):
        before = score_rows(mine, rows) if i else None
        try:
            mine.learn(X, y)
        except RankloopError:
            if before is not None:
                assert np.array_equal(score_rows(mine, rows), before), "an error changed the ranker"
            continue
        assert np.isfinite(score_rows(mine, rows)).all(), f"after query {i}, scores are not finite"


def check_learns_after_outliers(ranker: OnlineRankerLike) -> None:
    """After an outlier, which it may reject, a ranker soon ranks about as well as without it.

    Rankers that an outlier can harm (`traits.is_robust` false) need not pass this check.
    """
    if not traits_of(ranker).is_robust:
        return
    data = easy_queries(200, seed=1)

    def measure_last(value: float | None) -> float:
        """Measure the last 100 queries, each before the ranker learns from it."""
        mine = fit_copy(ranker, data.select(slice(0, 50)))
        if value is not None:
            bad = outlier(data, 50, value)
            with contextlib.suppress(RankloopError):
                mine.learn(bad.X, bad.y)
        between, last = data.select(slice(50, 100)), data.select(slice(100, 200))
        mine.partial_fit(between.X, between.y, qid=between.qid)
        scores = []
        for query in last:
            scores.append(score_rows(mine, query.X))
            mine.learn(query.X, query.y)
        return evaluate(last, np.concatenate(scores), "nDCG@5")["nDCG@5"]

    usual = measure_last(None)
    for value in (1e20, 3e38):
        after = measure_last(value)
        assert after > 0.8 * usual, f"after a cell of {value:g}, nDCG@5 is {after:.2f}: {usual:.2f}"


def check_threads_see_one_state(ranker: OnlineRankerLike) -> None:
    """While one thread learns, other threads see the state before or after a whole query."""
    data = easy_queries(40)
    states = [copy.deepcopy(ranker)]
    for query in data:
        states.append(copy.deepcopy(states[-1]).learn(query.X, query.y))
    del states[0]
    possible = {score_rows(state, data.X, data.qid).tobytes() for state in states}
    shared = copy.deepcopy(states[0])
    seen: list[bytes] = []

    def look() -> None:
        while not done.is_set():
            seen.append(score_rows(shared, data.X, data.qid).tobytes())

    done = threading.Event()
    looking = threading.Thread(target=look)
    looking.start()
    try:
        for query in data.select(slice(1, 40)):
            shared.learn(query.X, query.y)
    finally:
        done.set()
        looking.join()
    assert set(seen) <= possible, "a thread saw an incomplete state"


for _check in (
    check_learning_goes_on,
    check_survives_hostile_streams,
    check_learns_after_outliers,
    check_threads_see_one_state,
):
    _check.online = True  # type: ignore[attr-defined]
