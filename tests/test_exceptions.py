"""Errors are caught by every name that fits them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn.exceptions

import rankloop as rl
from rankloop.exceptions import DataError, DataTypeError, NotFittedError, RankloopError
from rankloop.rankers.predtron.estimators import PredtronClassifier


@pytest.fixture
def unfitted():
    with pytest.raises(NotFittedError) as caught:
        rl.Slam().predict([[1.0]])
    return caught.value


def test_a_model_that_learnt_nothing_is_both_errors(unfitted):
    assert isinstance(unfitted, sklearn.exceptions.NotFittedError)
    assert isinstance(unfitted, RankloopError)
    assert repr(unfitted).startswith("NotFittedError('Slam has learnt nothing yet")
    assert f"{type(unfitted).__module__}.{type(unfitted).__qualname__}" == (
        "rankloop.exceptions.NotFittedError"
    )


@pytest.mark.parametrize("again", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_it_travels(unfitted, again):
    unfitted.add_note("in the second fold")
    twin = again(unfitted)
    assert type(twin) is type(unfitted)
    assert twin.args == unfitted.args
    assert twin.__notes__ == ["in the second fold"]
    assert type(type(unfitted)("again")) is type(unfitted)


@pytest.mark.slow
def test_scikit_learn_is_not_imported_for_it():
    code = (
        "import sys, pickle, rankloop as rl\n"
        "try: rl.Slam().predict([[1.0]])\n"
        "except rl.exceptions.NotFittedError as e:\n"
        "    assert type(pickle.loads(pickle.dumps(e))) is type(e)\n"
        "assert type(rl.exceptions.NotFittedError('x')) is rl.exceptions.NotFittedError\n"
        "assert not any(name.startswith('sklearn') for name in sys.modules)\n"
        "import sklearn.exceptions as theirs\n"
        "assert isinstance(rl.exceptions.NotFittedError('x'), theirs.NotFittedError)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wrong", [{"a": 1}, len, None])
def test_a_wrong_type_is_a_type_error_too(wrong):
    X = np.array([[1.0, wrong], [2.0, 3.0]], dtype=object)
    if wrong is not None:  # NumPy takes None for NaN
        with pytest.raises(TypeError, match="features must be numbers"):
            rl.Slam().fit(X, [0, 1], group=[2])
    with pytest.raises(DataError, match="row 0 is missing" if wrong is None else "must be numbers"):
        rl.Slam().fit(X, [0, 1], group=[2])
    with pytest.raises(DataTypeError, match="grades must be numbers"):
        rl.Slam().fit(np.eye(2), [0, {"a": 1}], group=[2])


def test_text_is_a_wrong_value():
    with pytest.raises(DataError, match="features must be numbers: could not convert") as caught:
        rl.Slam().fit([["a"]], [0], group=[1])
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("ranker", [rl.Slam(), rl.RankSVM(), rl.Prepared(scale="log"), rl.Blend()])
def test_nothing_to_learn_from(ranker):
    with pytest.raises(DataError, match=r"X has 0 row\(s\) \(shape=\(0, 3\)\)"):
        ranker.fit(np.zeros((0, 3)), [], group=[])
    with pytest.raises(DataError, match=r"X has 0 feature\(s\) \(shape=\(2, 0\)\)"):
        ranker.fit(np.zeros((2, 0)), [0, 1], group=[2])
    assert not ranker.is_fitted


def test_a_stream_may_begin_with_nothing():
    ranker = rl.Slam().partial_fit(np.zeros((0, 3)), [], group=[])
    assert ranker.partial_fit(np.eye(3), [0, 1, 2], group=[3]).n_queries_seen_ == 1


@pytest.mark.parametrize(
    ("weights", "kind"),
    [({"sample_weight": [0, 0, 0]}, "document"), ({"query_weight": [0, 0]}, "query")],
)
def test_weights_of_zero_alone(weights, kind):
    data = {"X": np.eye(3), "y": [0, 1, 1], "group": [2, 1]}
    with pytest.raises(DataError, match=f"every {kind} weight is zero"):
        rl.RankSVM().fit(**data, **weights)
    assert rl.RankSVM().fit(**data, query_weight=[1, 0]).is_fitted


def test_a_single_row_that_is_not_a_matrix():
    with pytest.raises(DataError, match=r"found shape \(3,\)\. Reshape your data: X\.reshape\(1"):
        rl.Slam().fit(np.eye(3), [0, 1, 2], group=[3]).predict(np.ones(3))


def test_a_column_of_labels_is_taken_with_a_warning():
    X, y = [[0.0, 1], [0, 2], [3, 0], [2, 0]], ["a", "a", "b", "b"]
    plain = PredtronClassifier().fit(X, y)
    with pytest.warns(sklearn.exceptions.DataConversionWarning, match=r"give y\.ravel\(\)"):
        column = copy.deepcopy(plain).fit(X, np.array(y)[:, None])
    assert column.predict(X).tolist() == plain.predict(X).tolist()
