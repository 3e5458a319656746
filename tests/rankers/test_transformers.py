"""Scalers and features of kernels as scikit-learn transformers, alone and in pipelines."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as theirs

import rankloop as rl
from rankloop.data.scaling import NoScaling, QueryMinMax, RobustLog, Standard
from rankloop.data.simulate import mslr_like
from rankloop.rankers.kernel.features import KernelFeatures

from .estimator_checks import one_query

TRANSFORMERS = {
    "query-minmax": one_query(QueryMinMax)(),
    "standard": Standard(),
    "log": RobustLog(),
    "none": NoScaling(),
    "nystrom": KernelFeatures("nystrom(rbf(1),6)"),
    "fourier": KernelFeatures("fourier(rbf(1),6)", random_state=1),
}
EXPECTED = {
    ("query-minmax", "check_methods_subset_invariance"): "a value is relative to its query",
}
ON_FRAMES = [
    theirs.check_transformer_get_feature_names_out,
    theirs.check_transformer_get_feature_names_out_pandas,
    theirs.check_get_feature_names_out_error,
    theirs.check_set_output_transform,
    theirs.check_set_output_transform_pandas,
    theirs.check_set_output_transform_polars,
    theirs.check_global_output_transform_pandas,
    theirs.check_global_set_output_transform_polars,
]


def checks():
    for name, transformer in TRANSFORMERS.items():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*does not inherit from `sklearn.base.BaseEst")
            found = list(theirs.estimator_checks_generator(transformer))
        for estimator, check in found:
            what = getattr(check, "func", check).__name__
            if what == "check_array_api_input":
                continue  # it needs SCIPY_ARRAY_API=1 before SciPy is imported
            reason = EXPECTED.get((name, what))
            marks = () if reason is None else pytest.mark.xfail(reason=reason, strict=True)
            yield pytest.param(estimator, check, id=f"{name}-{what}", marks=marks)


@pytest.mark.matrix
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("transformer", "check"), list(checks()))
def test_check(transformer, check):
    check(transformer)


@pytest.mark.matrix
@pytest.mark.parametrize("check", ON_FRAMES, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_check_of_frames(name, check):
    check(name, clone(TRANSFORMERS[name]))


@pytest.fixture(scope="module")
def rows():
    """Rows of queries in any order."""
    data = mslr_like(30, np.random.default_rng(1), n_features=5, mean_length=10).data
    order = np.random.default_rng(0).permutation(data.n_documents)
    return np.log1p(np.abs(data.X[order])), data.y[order], data.qid[order]


PLAIN = [QueryMinMax(), Standard(), RobustLog(), NoScaling(), KernelFeatures("nystrom(rbf(1),6)")]


@pytest.mark.parametrize("transformer", PLAIN, ids=repr)
def test_rows_become_what_a_data_set_becomes(transformer, rows):
    X, y, qid = rows
    data = rl.QueryDataset.from_arrays(X, y, qid=qid)
    by_rows = clone(transformer).fit_transform(X, y, qid=qid)
    fitted = clone(transformer).fit(X)
    of_data = fitted.transform(data)
    assert isinstance(of_data, rl.QueryDataset)
    np.testing.assert_array_equal(by_rows, of_data.in_row_order(of_data.X))
    sparse = fitted.transform(scipy.sparse.csr_array(X), qid=qid)
    np.testing.assert_array_equal(by_rows, sparse)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(by_rows, again.transform(X, qid=qid))


@pytest.mark.parametrize("transformer", PLAIN, ids=repr)
def test_columns_are_found_by_name(transformer, rows):
    X, _, qid = rows
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) + 7)
    fitted = clone(transformer).fit(frame).set_output(transform="pandas")
    assert fitted.feature_names_in_ == tuple("abcde")
    out = fitted.transform(frame[list("ebdca")], qid=qid)
    assert out.index.equals(frame.index)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    pd.testing.assert_frame_equal(out, fitted.transform(frame, qid=qid))
    polars = clone(fitted).set_output(transform="polars").fit(frame).transform(frame, qid=qid)
    assert isinstance(polars, pl.DataFrame)
    np.testing.assert_array_equal(polars.to_numpy(), out.to_numpy())
    with pytest.raises(rl.DataError, match="missing: 'e'"):
        fitted.transform(frame.rename(columns={"e": "f"}), qid=qid)


def test_names_of_results(rows):
    X, y, qid = rows
    assert Standard().fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4"]
    named = rl.QueryDataset.from_arrays(X, y, qid=qid, feature_names=list("abcde"))
    kernel = KernelFeatures("nystrom(rbf(1),3)").fit(named)
    assert kernel.transform(named).feature_names == (
        "kernelfeatures0",
        "kernelfeatures1",
        "kernelfeatures2",
    )
    assert Standard().fit(named).transform(named).feature_names == tuple("abcde")


@pytest.mark.matrix
@pytest.mark.parametrize("transformer", PLAIN, ids=repr)
@pytest.mark.parametrize("ranker", [rl.SolarII(), rl.Auto(), rl.RankSVM()], ids=repr)
def test_in_front_of_a_ranker(transformer, ranker, rows):
    X, y, qid = rows
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(clone(transformer), clone(ranker)).fit(X, y, qid=qid)
        scores = pipeline.predict(X, qid=qid)
        reached = pipeline.score(X, y, qid=qid)
    data = rl.QueryDataset.from_arrays(X, y, qid=qid)
    seen = clone(transformer).fit(X).transform(data)  # landmarks depend on the order of rows
    by_hand = clone(ranker).fit(seen)
    np.testing.assert_array_equal(scores, seen.in_row_order(by_hand.predict(seen)))
    assert reached == by_hand.score(seen)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, rl.scorer("nDCG@10")])
def test_searches_over_pipelines(scoring, rows):
    X, y, qid = rows
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(QueryMinMax(), KernelFeatures(), rl.NewtonXENDCG())
        grid = {"kernelfeatures__text": ["nystrom(rbf(1),4)", "nystrom(rbf(1),20)"]}
        search = GridSearchCV(pipeline, grid, cv=rl.data.QueryKFold(3), scoring=scoring)
        search.fit(X, y, qid=qid, groups=qid)
        assert search.score(X, y, qid=qid) > 0.5
    for k, text in enumerate(grid["kernelfeatures__text"]):
        for fold, (train, test) in enumerate(rl.data.QueryKFold(3).split(X, y, qid)):
            known, new = (QueryMinMax().transform(X[i], qid=qid[i]) for i in (train, test))
            features = KernelFeatures(text).fit(known)
            ranker = rl.NewtonXENDCG().fit(features.transform(known), y[train], qid=qid[train])
            given = features.transform(new), y[test]
            measured = ranker.score if scoring is None else partial(scoring, ranker)
            expected = measured(*given, qid=qid[test])
            assert search.cv_results_[f"split{fold}_test_score"][k] == expected


def test_some_columns_in_a_column_transformer(rows):
    X, _, qid = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    with sklearn.config_context(enable_metadata_routing=True):
        columns = ColumnTransformer(
            [("query", QueryMinMax(), ["a", "b"]), ("log", RobustLog(), ["c"])]
        )
        out = columns.set_output(transform="pandas").fit_transform(frame, qid=qid)
    assert list(out.columns) == ["query__a", "query__b", "log__c"]
    np.testing.assert_array_equal(out["query__a"], QueryMinMax().transform(X[:, :1], qid=qid)[:, 0])


def test_misuse(rows):
    X, y, qid = rows
    data = rl.QueryDataset.from_arrays(X, y, qid=qid)
    with pytest.raises(rl.DataError, match="pass qid=, one query id per row"):
        QueryMinMax().fit(X).transform(X)
    with pytest.raises(rl.DataError, match="qid has 3 values"):
        Standard().fit(X).transform(X, qid=qid[:3])
    with pytest.raises(rl.DataError, match="contains its own grades and queries"):
        Standard().fit(data, y)
    with pytest.raises(rl.DataError, match="contains its own grades and queries"):
        QueryMinMax().transform(data, qid=qid)
    with pytest.raises(rl.DataError, match="must be default, pandas, polars; found 'arrow'"):
        Standard().set_output(transform="arrow")
    with pytest.raises(NotFittedError, match="Standard is not fitted"):
        Standard().get_feature_names_out()
    with pytest.raises(rl.DataError, match="has no parameter 'rate'"):
        Standard().set_params(rate=1)
    without = make_pipeline(QueryMinMax(), rl.SolarII())
    with pytest.raises(rl.DataError, match="enable_metadata_routing=True"):
        without.fit(X, y, solarii__qid=qid)


def test_a_failed_fit_changes_nothing(rows):
    X = rows[0]
    features = KernelFeatures("nystrom(chi2(1),4)").fit(X)
    before = features.transform(X)
    with pytest.raises(rl.DataError):
        features.fit(-1 - X)
    np.testing.assert_array_equal(features.transform(X), before)


def test_scikit_learn_is_not_imported():
    code = (
        "import sys, rankloop as rl\n"
        "s = rl.data.Standard().set_output(transform='default')\n"
        "s.fit_transform([[1.0], [2.0]]), s.get_params(), s.get_feature_names_out()\n"
        "sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
