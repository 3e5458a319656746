"""Exports read the user's own table: texts of categories, dates and booleans, in real engines."""

from __future__ import annotations

import datetime
import itertools
import json
import shutil
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pytest

from rankloop.data.io.formats import read
from rankloop.data.io.tables.reading import from_table
from rankloop.exceptions import DataError
from rankloop.export import export, program_of, verify
from rankloop.export.evaluate import evaluate
from rankloop.export.originals import Originals
from rankloop.export.running import load_c, scoring_function
from rankloop.export.targets import target
from rankloop.features.column import Feature
from rankloop.features.columns import Features
from rankloop.feedback.compute_features import compute_features
from rankloop.rankers.registry import make_ranker
from rankloop.rankers.training import read_like
from rankloop.rankers.wrappers.described import Described

from .rankers import ALONE, CATEGORIES, LISTS, TREES, fitted

BRANDS = ["Levi's", "été", 'a "b"', "ACME", "acme", "?", "back\\slash", "1.5", "", "ẞ"]
RANKERS = {
    "linear": "xendcg",
    "trees": "lambdamart:trees=8,leaves=5,min_data_in_leaf=2",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Give a table as a shop has it, with texts that the model does not know in its last rows."""
    rng = np.random.default_rng(3)
    n = 160
    brand = rng.integers(0, len(BRANDS), n)
    day = rng.integers(0, 900, n)
    size = rng.integers(36, 46, n)
    lines = []
    for k in range(n):
        moment = datetime.datetime(2021, 3, 1) + datetime.timedelta(
            days=int(day[k]), seconds=int(rng.integers(0, 86400))
        )
        label = int(np.clip(brand[k] % 3 + day[k] // 400 + size[k] % 2, 0, 4))
        row = {
            "qid": k // 8,
            "doc": k,
            "label": label,
            "price": round(float(rng.gamma(2, 20)), 2) if k % 7 else None,
            "brand": BRANDS[brand[k]] if k % 11 else None,
            "size": int(size[k]),
            "listed": moment.isoformat(" ") if k % 13 else None,
            "sale": bool(rng.integers(2)) if k % 17 else None,
        }
        lines.append(row)
    for k, row in enumerate(lines[-16:]):
        row["brand"] = ["unknown", "Acme", " acme", "levi's"][k % 4]
    folder = tmp_path_factory.mktemp("shop")
    path = folder / "shop.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in lines))
    train = folder / "train.jsonl"
    train.write_text("".join(json.dumps(row) + "\n" for row in lines[:-16]))
    options = {"drop": ["doc"], "category": ["size"]}
    return path, lines, read(train, **options), read(path, **options)


@pytest.fixture(scope="module", params=RANKERS)
def ranker(request, shop):
    text = RANKERS[request.param]
    inner = make_ranker(text)
    if request.param == "trees":
        inner.set_params(params=CATEGORIES["params"])
    return Described(inner).fit(shop[2])


def _scores(ranker, shop):
    return np.asarray(ranker.predict(shop[3]), np.float64)


def _close(theirs, ours):
    assert np.ptp(ours) > 0
    assert np.abs(theirs - ours).max() <= 1e-6 * np.abs(ours).max()


@pytest.mark.matrix
@pytest.mark.parametrize("dialect", ["json", "c", "onnx", "sqlite", "duckdb", "postgresql"])
def test_verify_gives_the_engine_texts_and_dates(dialect, ranker, shop, request):
    options = {}
    if dialect in ("sqlite", "duckdb", "postgresql"):
        options["dialect"] = dialect
    if dialect == "postgresql":
        options["database"] = request.getfixturevalue("postgres")
    found = verify(ranker, "sql" if options else dialect, shop[3], **options)
    assert found.rows_apart == 0


def test_sqlite_on_the_users_table(ranker, shop):
    """The table has the types that a user may choose, and a collation that ignores case."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE TABLE documents (qid INTEGER, doc INTEGER, label, price REAL, "
            "brand TEXT COLLATE NOCASE, size REAL, listed TEXT, sale BOOLEAN)"
        )
        connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [tuple(row.values()) for row in shop[1]],
        )
        rows = connection.execute(export(ranker, "sql", dialect="sqlite")).fetchall()
    _close(
        np.array([score for _, _, score in sorted(rows, key=lambda r: r[1])]), _scores(ranker, shop)
    )


@pytest.mark.parametrize("kind", ["seconds", "julian"])
def test_sqlite_reads_the_other_forms_of_dates(kind, shop):
    ranker = Described(make_ranker(RANKERS["trees"])).fit(shop[2])
    forms = {
        "seconds": "CAST(STRFTIME('%s', listed) AS INTEGER)",
        "julian": "JULIANDAY(listed)",
    }
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (qid, doc, label, price, brand, size, listed, sale)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [tuple(row.values()) for row in shop[1]],
        )
        connection.execute(
            "CREATE TABLE documents AS SELECT qid, doc, price, brand, size, "
            f"{forms[kind]} AS listed, "
            "CASE sale WHEN 1 THEN 'true' WHEN 0 THEN 'FALSE' END AS sale FROM t"
        )
        rows = connection.execute(export(ranker, "sql", dialect="sqlite")).fetchall()
    _close(
        np.array([score for _, _, score in sorted(rows, key=lambda r: r[1])]), _scores(ranker, shop)
    )


@pytest.mark.parametrize("moment", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_duckdb_reads_the_users_file(moment, ranker, shop):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            "CREATE TABLE documents AS SELECT * REPLACE (CAST(listed AS "
            f"{moment}) AS listed) FROM read_json('{shop[0]}')"
        )
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        rows = connection.execute(export(ranker, "sql", dialect="duckdb")).fetchall()
    _close(
        np.array([score for _, _, score in sorted(rows, key=lambda r: r[1])]), _scores(ranker, shop)
    )


def test_postgresql_on_the_users_table(ranker, shop, postgres):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMP TABLE documents (qid int, doc int, label int, price float8, "
            "brand varchar(40), size float8, listed timestamptz, sale boolean)"
        )
        cursor.execute("SET TIME ZONE 'UTC'")
        cursor.executemany(
            "INSERT INTO documents VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [tuple(row.values()) for row in shop[1]],
        )
        cursor.execute("SET TIME ZONE 'America/Lima'")
        rows = cursor.execute(export(ranker, "sql").encode()).fetchall()
        connection.rollback()
    _close(
        np.array([score for _, _, score in sorted(rows, key=lambda r: r[1])]), _scores(ranker, shop)
    )


def test_onnx_takes_texts_and_moments(ranker, shop):
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(export(ranker, "onnx"))
    properties = session.get_modelmeta().custom_metadata_map
    names = {name: properties[name].split("\n") for name in ("features", "categories", "dates")}
    assert names == {
        "features": ["price", "sale"],
        "categories": ["brand", "size"],
        "dates": ["listed"],
    }
    rows = shop[1]
    given = {
        "features": [
            [np.nan if row[k] is None else row[k] for k in names["features"]] for row in rows
        ],
        "categories": [
            ["?unknown" if row[k] is None else str(row[k]) for k in names["categories"]]
            for row in rows
        ],
        "dates": [[np.datetime64(row[k] or "NaT", "us") for k in names["dates"]] for row in rows],
    }
    scores = session.run(
        None,
        {
            "features": np.array(given["features"], np.float32),
            "categories": np.array(given["categories"]),
            "dates": np.array(given["dates"]).astype(np.int64),
        },
    )[0]
    _close(scores, _scores(ranker, shop))


def test_json_names_the_categories(ranker, shop):
    text = json.loads(export(ranker, "json"))
    columns = dict(zip(text["features"], text["columns"], strict=True))
    assert set(columns["brand"]["categories"]) == set(BRANDS)
    assert columns["listed"]["kind"] == "date"
    assert columns["sale"]["kind"] == "boolean"


def test_codes_of_another_data_set_are_translated(ranker, shop):
    """Data that was read alone numbers its categories by itself."""
    path, _, _, alone = shop
    like = read(path, labelled=False, **read_like(ranker))
    program = program_of(ranker)
    ours, theirs = (Originals.of(program, ranker, rows) for rows in (alone, like))
    assert alone.features.columns[1].categories != ranker.features.columns[1].categories
    np.testing.assert_array_equal(ours.codes, theirs.codes)
    known = ~np.isnan(ours.codes[:, 1])
    assert ours.columns[1][known].tolist() == theirs.columns[1][known].tolist()
    assert "unknown" in ours.columns[1].tolist()
    _close(evaluate(program, ours.codes, alone.offsets), _scores(ranker, shop))


def test_every_kind_is_in_its_own_way_a_feature_of_c(shop, tmp_path):
    ranker = Described(make_ranker(RANKERS["trees"])).fit(shop[2])
    program = program_of(ranker)
    for level, source in itertools.product((0, 2), [target("c").render(program)]):
        library = load_c(source, tmp_path, f"level{level}", level)
        assert scoring_function(library)(np.full((2, 5), np.nan, np.float32)).shape == (2,)


@pytest.mark.parametrize("to", ["c", "sql"])
def test_a_text_that_cannot_be_written_is_refused(to, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"brand": ["a\0b", "c"] * 4})
    ranker = Described(make_ranker("xendcg")).fit(frame, [0, 1] * 4, group=[4, 4])
    with pytest.raises(Exception, match="NUL"):
        export(ranker, to)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["slam", "products", "fourier", "ranknet", "auto", "trees", "shop"]
)
def test_c_compiles_without_warnings(name, shop, tmp_path):
    rankers = {**ALONE, **LISTS, **TREES}
    made = (
        Described(make_ranker(RANKERS["linear"])).fit(shop[2])
        if name == "shop"
        else fitted(rankers[name])
    )
    file = tmp_path / "score.c"
    names = None if name == "shop" else ["a*/b", "/* c", "d\\", "e\nf", "g??/"]
    export(made, "c", file, features=names)
    for level in ("-O0", "-O2", "-O3"):
        flags = [
            "-std=c99",
            level,
            "-Wall",
            "-Wextra",
            "-Werror",
            "-c",
            "-o",
            str(tmp_path / "x.o"),
        ]
        done = subprocess.run(
            [shutil.which("cc"), *flags, str(file)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_onnx_takes_negative_and_huge_numbers_beside_a_category():
    """A cast of such a number to an index has no defined result."""
    pytest.importorskip("onnxruntime")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = rng.normal(size=24) * np.tile([1e30, 1, 1e-3], 8)
    frame = pd.DataFrame({"x": x, "kind": ["a", "b", None] * 8})
    y = rng.integers(0, 3, 24)
    ranker = Described(make_ranker("xendcg")).fit(frame, y, group=[8] * 3)
    table = frame.assign(qid=np.repeat([0, 1, 2], 8), label=y)
    rows = from_table(table, allow_nan=True)
    assert (rows.X[:, 0] < -1e9).any()
    assert verify(ranker, "onnx", rows).rows_apart == 0


@pytest.mark.parametrize("to", ["c", "sql", "onnx"])
def test_hashed_categories_are_refused(to):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"brand": [f"b{k}" for k in range(12)] * 2})
    few = Features((Feature("brand", "category", limit=4, buckets=3),))
    ranker = Described(make_ranker("xendcg"), description=few).fit(frame, [0, 1] * 12, group=[24])
    with pytest.raises(DataError, match=r"cannot compute the hash .* of 'brand'"):
        export(ranker, to)
    assert json.loads(export(ranker, "json"))["columns"][0]["buckets"] == 3


def _log_of_a_shop(path):
    """Write rankings of items with six brands."""
    rng = np.random.default_rng(0)
    events = [
        {"id": f"i{k}", "fields": {"brand": f"b{k % 6}", "price": float(k)}, "timestamp": 1000}
        for k in range(12)
    ]
    for r in range(30):
        items = [f"i{k}" for k in rng.choice(12, 5, replace=False)]
        events.append({"ranking_id": f"r{r}", "items": items, "timestamp": 1001 + 2 * r})
        events.append({"ranking_id": f"r{r}", "item": items[0], "timestamp": 1002 + 2 * r})
    path.write_text("\n".join(map(json.dumps, events)))
    return path


def test_computed_features_are_columns_of_the_users_table(tmp_path):
    """Brands are read as texts and rates as numbers; a brand that is hashed has no text at all."""
    path = _log_of_a_shop(tmp_path / "log.jsonl")
    fields = {"item": {"brand": "category", "price": "number"}}
    rate = {"rate": "click", "prior": 1}
    price = {"number": "item.price"}

    def learn(**brand):
        features = {"brand": {"category": "item.brand", **brand}, "price": price, "ctr": rate}
        rows = compute_features(path, fields=fields, features=features)
        return Described(make_ranker("xendcg")).fit(rows), rows

    ranker, rows = learn()
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE documents (qid, doc, brand TEXT, price REAL, ctr REAL)")
        connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
            [
                (k // 5, k, f"b{int(item[1:]) % 6}", *(None if v != v else v for v in row))
                for k, (item, row) in enumerate(
                    zip(rows.doc_ids, rows.X[:, 1:].tolist(), strict=True)
                )
            ],
        )
        text = export(ranker, "sql", dialect="sqlite")
        scores = {doc: score for _, doc, score in connection.execute(text)}
    ours = np.asarray(ranker.predict(rows), np.float64)
    _close(np.array([scores[k] for k in range(len(ours))]), ours)

    hashed, _ = learn(limit=2, buckets=3)
    for to in ("c", "sql", "onnx"):
        with pytest.raises(DataError, match=r"the hash .* of 'brand'; .* a larger limit"):
            export(hashed, to)
    assert json.loads(export(hashed, "json"))["columns"][0]["buckets"] == 3
