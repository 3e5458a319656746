"""Exported rankers score as the rankers do, in the real engines where one runs."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.export import TARGETS, export, program_of, to_json, to_sql, verify
from rankloop.export.evaluate import evaluate
from rankloop.export.originals import Originals
from rankloop.export.targets import target as engine
from rankloop.rankers.boosting.lambdamart import LambdaMART
from rankloop.rankers.registry import make_ranker, ranker_names
from rankloop.rankers.wrappers.described import Described

from .rankers import ALONE, CATEGORIES, KERNELS, LISTS, TREES, data, fitted

EVERYWHERE = {**ALONE, **KERNELS, **LISTS, **TREES}
SINGLE = 1e-6  # float32 sums in another order, as a share of the largest score
KERNEL = 2e-5  # Rankloop's kernels are float32, exports are double


def nearness(name):
    return KERNEL if name in KERNELS or name == "fourier" else SINGLE


@pytest.mark.parametrize("name", EVERYWHERE)
def test_json_reads_back_bit_for_bit(name):
    found = verify(fitted(EVERYWHERE[name]), "json", data())
    assert found.largest <= (nearness(name) if name in {*KERNELS, "fourier", "ranknet"} else 0.0)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_c_adds_up_as_we_do(name):
    found = verify(fitted(EVERYWHERE[name]), "c", data())
    if name in {*KERNELS, "fourier", "ranknet", "log"}:
        assert found.largest <= nearness(name)
    else:
        assert found.rows_different == 0


@pytest.mark.parametrize("name", EVERYWHERE)
def test_onnx_runtime(name):
    pytest.importorskip("onnxruntime")
    found = verify(fitted(EVERYWHERE[name]), "onnx", data())
    assert found.largest <= nearness(name)
    assert found.rows_different == 0 or name not in TREES


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        *(("sqlite", name) for name in (*ALONE, *LISTS, *TREES)),
        *itertools.product(("duckdb", "postgresql"), ("slam", "log", "ranknet", "auto", "trees")),
    ],
)
def test_databases(dialect, name, request):
    options = {"dialect": dialect}
    if dialect == "duckdb":
        pytest.importorskip("duckdb")
    if dialect == "postgresql":
        options["database"] = request.getfixturevalue("postgres")
    found = verify(fitted(EVERYWHERE[name]), "sql", data(), **options)
    assert found.largest <= nearness(name)
    assert found.rows_different == 0 or name not in TREES


@pytest.mark.parametrize("target", ["elasticsearch", "opensearch", "solr", "vespa"])
@pytest.mark.parametrize("name", ["slam", "ranksvm", "single-feature", "constant", "standard"])
def test_search_engines_compute_weighted_sums(name, target):
    assert verify(fitted(ALONE[name]), target, data()).largest <= SINGLE


@pytest.mark.parametrize(
    "target", ["elasticsearch", "opensearch", "elasticsearch-native", "solr", "vespa"]
)
@pytest.mark.parametrize("missing", [False, True])
def test_search_engines_compute_trees(target, missing):
    found = verify(fitted(TREES["trees"], missing), target, data(missing))
    assert found.largest <= SINGLE


@pytest.mark.parametrize("target", ["json", "c", "onnx", "sqlite", "duckdb"])
def test_missing_values_and_categories_go_where_they_went(target):
    ranker = LambdaMART(**CATEGORIES).fit(data(True))
    assert any(tree.members for tree in program_of(ranker).all_trees())
    options = {"dialect": target} if target in to_sql.DIALECTS else {}
    found = verify(ranker, "sql" if options else target, data(True), **options)
    assert found.rows_different == 0


@pytest.mark.parametrize("target", ["json", "c", "onnx", "sqlite"])
@pytest.mark.parametrize("name", ["xendcg", "lambdamart:trees=5"])
def test_descriptions_of_features_are_exported(target, name):
    pd = pytest.importorskip("pandas")
    rows = data(True)
    frame = pd.DataFrame(np.asarray(rows.X[:, :3], np.float64), columns=["price", "stock", "kind"])
    frame["kind"] = frame["kind"].map(lambda code: None if code != code else f"k{int(code)}")
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
    ranker = Described(make_ranker(name)).fit(frame, rows.y, group=rows.sizes)
    X = ranker.copy()._rows(frame)
    coded = replace(rows, X=X, feature_names=None, features=None)
    ours = ranker.copy()._score_rows(X, rows.offsets)
    program = program_of(ranker)
    theirs = _scores(target, program, coded)
    assert np.abs(theirs - ours).max() <= SINGLE * np.abs(ours).max()


def _scores(target, program, rows):
    options = {"dialect": target} if target in to_sql.DIALECTS else {}
    originals = Originals.from_codes(program.columns, rows.X, rows.offsets)
    return engine("sql" if options else target).run(program, originals, **options)


@pytest.mark.parametrize("target", ["c", "onnx", "sqlite", "elasticsearch", "solr", "vespa"])
def test_rows_on_and_beside_thresholds_go_the_same_way(target):
    ranker = fitted(TREES["trees"])
    program = program_of(ranker)
    rows = [np.zeros(5, np.float32)]
    for tree in program.all_trees():
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            if target == "solr" and abs(threshold) < 1e-3:
                continue  # a float32 plus 1e-6 cannot be any float32 near 0
            on = np.float32(threshold)
            for x in (on, np.nextafter(on, np.float32(-9e9)), np.nextafter(on, np.float32(9e9))):
                row = data().X[len(rows) % len(data().X)].copy()
                row[feature] = x
                rows.append(row)
    placed = QueryDataset.from_arrays(np.array(rows), np.zeros(len(rows)), group=[len(rows)])
    options = {"dialect": target} if target in to_sql.DIALECTS else {}
    found = verify(ranker, "sql" if options else target, placed, **options)
    assert found.rows_apart == 0


@pytest.mark.parametrize("name", ranker_names())
def test_every_ranker_is_described(name):
    ranker = make_ranker(name)
    for parameter, few in (("trees", 3), ("rounds", 3), ("restarts", 1), ("seeds", 1)):
        if parameter in ranker._parameters():
            ranker.set_params(**{parameter: few})
    if name == "blend":
        ranker.set_params(members=[make_ranker("xendcg"), fitted(TREES["trees"]).copy()])
    ranker = ranker.fit(data())
    ours = np.asarray(ranker.predict(data()), np.float64)
    theirs = evaluate(program_of(ranker), data().X, data().offsets)
    assert np.abs(theirs - ours).max() <= KERNEL * max(np.abs(ours).max(), 1e-9)


REFUSED = [
    ("auto", "solr", "one document at a time"),
    ("minmax", "elasticsearch", "one document at a time"),
    ("rbf", "solr", "by a kernel"),
    ("rbf", "sql", "by a kernel"),
    ("log", "solr", "logarithms"),
    ("slam", "elasticsearch-native", "only trees"),
    ("ranknet", "vespa", "only weighted sums and trees"),
]


@pytest.mark.parametrize(("name", "target", "reason"), REFUSED)
def test_what_does_not_fit_is_refused_with_a_way_that_works(name, target, reason):
    with pytest.raises(DataError, match=reason) as refusal:
        export(fitted(EVERYWHERE[name]), target)
    assert "export it to" in str(refusal.value)


def test_categories_are_refused_by_search_engines():
    ranker = LambdaMART(**CATEGORIES).fit(data())
    with pytest.raises(DataError, match="split by categories"):
        export(ranker, "elasticsearch")


def test_a_changed_export_is_found_out():
    """The proof can fail: a program with another weight is reported."""
    ranker = fitted(ALONE["ranksvm"])
    other = fitted(ALONE["slam"])
    exact = verify(ranker, "json", data())
    with patch("rankloop.export.exporting.program_of", lambda *_: program_of(other)):
        changed = verify(ranker, "json", data())
    assert (exact.verdict, exact.queries_reordered) == ("exact", 0)
    assert changed.verdict == "differs"
    assert changed.rows_apart > 0


def test_json_has_weights_by_name():
    ranker = fitted(ALONE["ranksvm"])
    told = json.loads(export(ranker, "json", features=["a", "b", "c", "d", "e"]))
    weights = next(node["weights"] for node in told["nodes"] if node["node"] == "LinearMap")
    assert weights == [dict(zip("abcde", ranker.weights_.tolist(), strict=True))]
    with pytest.raises(Exception, match="not a scoring program"):
        to_json.parse("{}")


def test_the_file_is_what_is_returned(tmp_path):
    ranker = fitted(ALONE["slam"])
    content = export(ranker, "c", tmp_path / "slam.c")
    assert (tmp_path / "slam.c").read_text() == content


def test_wrong_arguments_are_explained():
    ranker = fitted(ALONE["slam"])
    with pytest.raises(DataError, match="there is no target 'lucene'"):
        export(ranker, "lucene")
    with pytest.raises(DataError, match="no option 'table'"):
        export(ranker, "c", table="x")
    with pytest.raises(DataError, match="expected 5 different names"):
        export(ranker, "c", features=["a", "a", "b", "c", "d"])
    with pytest.raises(DataError, match="dialect"):
        export(ranker, "sql", dialect="oracle")


def test_targets_are_known():
    assert set(TARGETS) == {
        *("json", "c", "sql", "onnx", "elasticsearch", "opensearch"),
        *("elasticsearch-native", "solr", "vespa"),
    }


@pytest.mark.parametrize("target", ["c", "onnx", "sqlite", "elasticsearch", "solr", "vespa"])
def test_a_split_of_missing_from_known_values(target):
    """LightGBM writes it as a threshold that is larger than any float32."""
    rows = data(True)
    X = np.where(np.isnan(rows.X), np.nan, 1.0).astype(np.float32)
    y = np.isnan(X[:, 0]).astype(float)
    seen = QueryDataset.from_arrays(X, y, group=rows.sizes, allow_nan=True)
    ranker = LambdaMART(trees=2, leaves=3, min_data_in_leaf=1).fit(seen)
    assert np.ptp(ranker.predict(seen)) > 0
    options = {"dialect": target} if target in to_sql.DIALECTS else {}
    found = verify(ranker, "sql" if options else target, seen, **options)
    assert found.rows_apart == 0


def test_elasticsearch_native_refuses_features_below_0():
    rows = data()
    shifted = QueryDataset.from_arrays(rows.X - 3, rows.y, group=rows.sizes)
    ranker = LambdaMART(trees=8, leaves=4, min_data_in_leaf=2).fit(shifted)
    with pytest.raises(DataError, match=r"must not be negative, but \d of these 5 features"):
        export(ranker, "elasticsearch-native")
    assert export(ranker, "elasticsearch")


def test_names_that_vespa_cannot_read_are_refused():
    ranker = fitted(TREES["trees"])
    names = ["price", "bm25(title)", "attribute(age)", "nativeRank", "fieldMatch(title).proximity"]
    assert json.loads(export(ranker, "vespa", features=names))["feature_names"] == names
    for name in ("unit price", "a-b", "1st"):
        with pytest.raises(DataError, match="cannot be the name of a function in Vespa"):
            export(ranker, "vespa", features=[name, *names[1:]])


def test_solr_warns_of_features_near_0():
    rows = data()
    tiny = QueryDataset.from_arrays(rows.X * np.float32(1e-30), rows.y, group=rows.sizes)
    ranker = LambdaMART(trees=8, leaves=4, min_data_in_leaf=2).fit(tiny)
    with pytest.warns(UserWarning, match=r"Solr adds 1e-6 .* multiply"):
        export(ranker, "solr")
    export(fitted(TREES["trees"]), "solr")
