"""SQL of wide models has a row for each value; it computes the same as a column for each value."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.export import export, program_of, to_sql, verify
from rankloop.export.originals import Originals
from rankloop.export.running import run_sql
from rankloop.rankers.boosting.lambdamart import LambdaMART
from rankloop.rankers.registry import make_ranker
from rankloop.rankers.wrappers.described import Described

from .rankers import ALONE, CATEGORIES, LISTS, TREES, data, fitted

NARROW = {**ALONE, **LISTS, **TREES}
WIDE = "auto"


@pytest.fixture
def long(monkeypatch):
    """Write all models as wide ones are written."""
    monkeypatch.setattr(to_sql, "_WIDE", 0)


def _options(dialect, request):
    if dialect == "duckdb":
        pytest.importorskip("duckdb")
    server = {"database": request.getfixturevalue("postgres")} if dialect == "postgresql" else {}
    return {"dialect": dialect, **server}


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("name", NARROW)
def test_every_node_is_computed_in_sqlite(name):
    found = verify(fitted(NARROW[name]), "sql", data(), dialect="sqlite")
    assert found.largest <= (2e-5 if name == "fourier" else 1e-6)


@pytest.mark.usefixtures("long")
@pytest.mark.matrix
@pytest.mark.parametrize("name", ["log", "products", "maps", "auto", "ranknet", "trees"])
@pytest.mark.parametrize("dialect", ["duckdb", "postgresql"])
def test_the_other_databases(dialect, name, request):
    found = verify(fitted(NARROW[name]), "sql", data(), **_options(dialect, request))
    assert found.rows_apart == 0


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgresql"])
@pytest.mark.parametrize("name", ["xendcg", "lambdamart:trees=5"])
def test_categories_dates_and_missing_values(dialect, name, request):
    pd = pytest.importorskip("pandas")
    rows = data(True)
    frame = pd.DataFrame(np.asarray(rows.X[:, :3], np.float64), columns=["price", "stock", "kind"])
    frame["kind"] = frame["kind"].map(lambda code: None if code != code else f"k{int(code)}")
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
    frame.loc[frame.index % 5 == 0, "day"] = pd.NaT
    ranker = Described(make_ranker(name)).fit(frame, rows.y, group=rows.sizes)
    # Numbers beyond those of the training data are limited to their range.
    frame["price"] = frame["price"].to_numpy() * np.where(np.arange(len(frame)) % 2, 9.0, -9.0)
    X = ranker.copy()._rows(frame)
    program = program_of(ranker)
    options = _options(dialect, request)
    text = to_sql.render(program, dialect, to_sql.SqlNames("rankloop_documents"))
    originals = Originals.from_codes(program.columns, X, rows.offsets)
    theirs = run_sql(text, dialect, program, originals, options.get("database"))
    ours = ranker.copy()._score_rows(X, rows.offsets)
    assert np.abs(theirs - ours).max() <= 1e-6 * np.abs(ours).max()


@pytest.mark.usefixtures("long")
def test_a_feature_that_never_varied():
    """It is 0 for the ranker, whatever its value is later."""
    rows = data()
    X = rows.X.copy()
    X[:, 4] = 3
    ranker = make_ranker("prepared:scale=standard").fit(
        QueryDataset.from_arrays(X, rows.y, group=rows.sizes)
    )
    assert verify(ranker, "sql", rows, dialect="sqlite").rows_apart == 0


@pytest.mark.usefixtures("long")
def test_trees_on_categories():
    ranker = LambdaMART(**CATEGORIES).fit(data(True))
    assert any(tree.members for tree in program_of(ranker).all_trees())
    assert verify(ranker, "sql", data(True), dialect="sqlite").rows_apart == 0


@pytest.mark.usefixtures("long")
def test_a_missing_value_gives_no_score():
    """A sum that left it out would be a wrong score."""
    ranker = fitted(ALONE["slam"])
    rows = data(True)
    program = program_of(ranker)
    text = to_sql.render(program, "sqlite", to_sql.SqlNames("rankloop_documents"))
    originals = Originals.from_codes(program.columns, rows.X, rows.offsets)
    scores = run_sql(text, "sqlite", program, originals, None)
    np.testing.assert_array_equal(np.isnan(scores), np.isnan(rows.X).any(axis=1))


def _wide(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, d)).astype(np.float32)
    return QueryDataset.from_arrays(X, rng.integers(0, 3, 24), group=[6] * 4)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgresql"])
def test_wide_models(dialect, request):
    """With a column for each value SQLite refuses 136 features, and PostgreSQL 600."""
    rows = _wide(600)
    found = verify(make_ranker(WIDE).fit(rows), "sql", rows, **_options(dialect, request))
    assert (found.rows_apart, found.queries_reordered) == (0, 0)


@pytest.mark.parametrize(("dialect", "most"), [("postgresql", "1,664"), ("sqlite", "2,000")])
def test_more_features_than_a_query_can_have_columns(dialect, most):
    rows = _wide(2000)
    ranker = make_ranker("slam").fit(rows)
    with pytest.raises(DataError, match=f"reads 2,000 features, .* can have {most} columns; .* c "):
        export(ranker, "sql", dialect=dialect)
    assert export(ranker, "sql", dialect="duckdb")
