"""Data as people have it: text, dates, gaps, parts, patterns, databases, remote stores."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankloop as rl
from rankloop.data.io.format_names import detect, format_for
from rankloop.data.io.formats import read_batches, write_batches
from rankloop.data.io.locations import data_files
from rankloop.exceptions import DataError, MissingExtraError, ParseError

SHOP = pd.DataFrame(
    {
        "query_id": ["b", "a", "b", "a"],
        "product_id": ["p1", "p2", "p3", "p4"],
        "grade": [2, 0, 1, 1],
        "price": [9.5, None, 3.25, 4.0],
        "brand": ["acme", "best", None, "acme"],
        "in_stock": [True, False, None, True],
        "added": pd.to_datetime(["2026-01-01", "2026-01-03", None, "2026-01-02"]),
    }
)


def check_shop(data):
    assert data.query_ids.tolist() == ["b", "a"]
    assert data.doc_ids.tolist() == ["p1", "p3", "p2", "p4"]
    assert data.y.tolist() == [2, 1, 0, 1]
    assert data.feature_names == ("price", "brand", "in_stock", "added")
    kinds = [column.kind for column in data.features]
    assert kinds == ["number", "category", "boolean", "date"]
    brand = data.features.columns[1].categories
    words = [None if np.isnan(code) else brand[int(code)] for code in data.X[:, 1]]
    assert words == ["acme", None, "best", "acme"]
    np.testing.assert_array_equal(data.X[:, 0], np.array([9.5, 3.25, np.nan, 4.0], np.float32))
    np.testing.assert_array_equal(data.X[:, 2], [1, np.nan, 0, 1])
    assert (data.X[2:, 3] - data.X[0, 3]).tolist() == [2, 1]
    assert data.has_missing


def write(folder, name):
    path = folder / name
    text = SHOP.to_csv(index=False, sep="\t" if ".tsv" in name else ",").encode()
    if name.endswith(".parquet"):
        SHOP.to_parquet(path)
    elif name.endswith(".feather"):
        SHOP.to_feather(path)
    elif name.endswith(".jsonl"):
        SHOP.to_json(path, orient="records", lines=True, date_format="iso")
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(text))
    elif name.endswith(".xz"):
        path.write_bytes(lzma.compress(text))
    elif name.endswith(".zst"):
        import zstandard

        path.write_bytes(zstandard.compress(text))
    else:
        path.write_bytes(text)
    return path


NAMES = ["a.parquet", "a.feather", "a.csv", "a.tsv", "a.csv.gz", "a.csv.xz", "a.csv.zst", "a.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_file_reads_the_same(tmp_path, name):
    check_shop(rl.read(write(tmp_path, name)))


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_left_out(tmp_path, name):
    data = rl.read(write(tmp_path, name), drop=["brand", "added"])
    assert data.feature_names == ("price", "in_stock")


def test_the_suffix_is_not_needed(tmp_path):
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        path = write(tmp_path, name).rename(tmp_path / f"{name[2:]}.txt")
        check_shop(rl.read(path))


def test_other_delimiters_and_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('qid;label;brand;x\n1;1;"a;b";1.5\n1;0;"NA";2\n1;0;NA;3\n')
    data = rl.read(path)
    assert data.features.columns[0].categories == ("a;b", "NA")  # a quoted NA is a word
    np.testing.assert_array_equal(data.X[:, 0], [0, 1, np.nan])
    assert data.X[:, 1].tolist() == [1.5, 2, 3]


def test_a_later_row_may_need_a_wider_type(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"1,0,{k}\n" for k in range(60_000))
    path.write_text(f"qid,label,x\n{rows}1,1,0.5\n")
    assert rl.read(path).X[-1, 0] == 0.5
    path.write_text(f"qid,label,x\n{rows}1,1,many\n")
    with pytest.raises(DataError, match=r"99.99% of its values are numbers; row 60000 has 'many'"):
        rl.read(path)


def test_grades_keep_all_their_digits(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("qid,label,x\n1,0.1,0.1\n1,0,0.2\n")
    data = rl.read(path)
    assert data.y[0] == 0.1
    assert data.X[0, 0] == np.float32(0.1)


@pytest.mark.parametrize("frame", [SHOP, pl.from_pandas(SHOP), pa.Table.from_pandas(SHOP)])
def test_frames(frame):
    check_shop(rl.from_table(frame, allow_nan=True))


def test_what_was_read_is_written_again(tmp_path):
    data = rl.read(write(tmp_path, "a.parquet"))
    for name in ("again.parquet", "again.feather", "again.csv", "again.tsv.gz"):
        write_batches([data], tmp_path / name)
        check_shop(rl.read(tmp_path / name))
    with pytest.raises(DataError, match=r"LETOR text holds numbers only.*'brand', 'added'"):
        write_batches([data], tmp_path / "again.txt")
    assert not (tmp_path / "again.txt").exists()


def test_parts_are_one_table(tmp_path):
    for k, part in enumerate((SHOP[:1], SHOP[1:3][SHOP.columns[::-1]], SHOP[3:])):
        part.to_parquet(tmp_path / f"part-{k}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden.parquet").touch()
    check_shop(rl.read(tmp_path))
    check_shop(rl.read(str(tmp_path / "part-*.parquet")))
    check_shop(rl.read(*(tmp_path / f"part-{k}.parquet" for k in range(3))))


def test_partitions_in_folders(tmp_path):
    for k in range(2):
        (tmp_path / f"day={k}").mkdir()
        SHOP[2 * k : 2 * k + 2].to_parquet(tmp_path / f"day={k}" / "part.parquet")
    check_shop(rl.read(tmp_path))


def test_parts_with_other_columns_are_refused(tmp_path):
    SHOP.to_parquet(tmp_path / "a.parquet")
    SHOP.drop(columns="price").to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ParseError, match=r"b.parquet: it lacks 'price', unlike .*a.parquet"):
        rl.read(tmp_path)


def test_a_pattern_that_fits_nothing(tmp_path):
    with pytest.raises(ParseError, match="no file matches this pattern"):
        data_files(tmp_path / "*.parquet")


def test_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "shop.db")) as base:
        base.register("frame", SHOP)
        base.execute("create table shop as select * from frame")
    check_shop(rl.read(f"duckdb:{tmp_path}/shop.db?select * from shop"))
    check_shop(rl.read(f"duckdb:?select * from '{write(tmp_path, 'a.parquet')}'"))
    with pytest.raises(ParseError, match=r"DuckDB says: .*nothing"):
        rl.read(f"duckdb:{tmp_path}/shop.db?select * from nothing")
    with pytest.raises(DataError, match="names a database but no query"):
        rl.read(f"duckdb:{tmp_path}/shop.db")


def test_an_unreachable_postgres_is_named_without_its_password():
    pytest.importorskip("psycopg")
    with pytest.raises(
        ParseError, match="postgresql://localhost:1/shop: PostgreSQL says"
    ) as caught:
        rl.read("postgresql://me:secret@localhost:1/shop?select 1")
    assert "secret" not in str(caught.value)


def test_remote_stores(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    for name in ("a.parquet", "b.csv"):
        with fsspec.open(f"memory://shop/{name}", "wb") as file:
            file.write(write(tmp_path, name).read_bytes())
    check_shop(rl.read("memory://shop/a.parquet"))
    check_shop(rl.read("memory://shop/*.csv"))
    with pytest.raises(ParseError, match=r"memory://shop/c.csv: cannot read it"):
        rl.read("memory://shop/c.csv")
    with pytest.raises(DataError, match="nowhere"):
        rl.read("nowhere://shop/a.csv")


@pytest.mark.parametrize(
    ("module", "place", "extra"),
    [("duckdb", "duckdb:a.db?select 1", "duckdb"), ("fsspec", "s3://a/b.csv", "remote")],
)
def test_what_to_install(monkeypatch, module, place, extra):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'rankloop\[{extra}\]'"):
        rl.read(place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; expected a line of column names"),
        ("\n", "the file is empty"),
        ("1,2,3\n4,5,6\n", "the first line holds numbers .1, 2, 3, ....; expected the names"),
        ("qid,label,x\n", "it has no rows"),
        ("qid,label,x\n1,2\n", "found 2 fields, expected 3"),
        ("qid,label,x,x\n1,2,3,4\n", "two columns are named 'x'"),
        ("qid,x\n1,2\n", "no column is named 'label'.*pass label="),
        ("label,x\n1,2\n", "no column is named 'qid'.*pass query="),
        ("qid,label,x\n1,2,1e39\n", "feature x of row 0 is inf"),
        ("qid,label,x\n1,,1\n", "'label' is null in row 0"),
        ("qid,label,x\n,2,1\n", "'qid' is null in row 0"),
        ("qid,label,x\n1,good,1\n", "'label' of row 0 is 'good'; a label must be a number"),
    ],
)
def test_bad_csv(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ParseError, match=message):
        rl.read(path)


def test_bad_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"qid": 1, "label": 1, "x": 1}\n{"qid": 1,\n')
    with pytest.raises(ParseError, match=r"a.jsonl: cannot read it"):
        rl.read(path)


def test_text_that_is_an_id_is_no_category():
    n = 300
    table = pa.table(
        {
            "qid": np.repeat(np.arange(30), 10),
            "label": np.zeros(n),
            "url": [f"u{k}" for k in range(n)],
            "title": [f"t{k}" for k in range(n)],
            "x": np.zeros(n),
        }
    )
    with pytest.raises(DataError, match=r"'url' \(300 different\), 'title' \(300 .*drop="):
        rl.from_table(table)
    assert rl.from_table(table, drop=["url", "title"]).feature_names == ("x",)


def test_names_are_suggested():
    with pytest.raises(DataError, match=r"did you mean 'grade'?"):
        rl.from_table(SHOP, label="grad")
    with pytest.raises(DataError, match="there are no columns 'u', 'v'"):
        rl.from_table(SHOP, drop=["u", "v"])
    with pytest.raises(DataError, match="tables have no option 'lable'"):
        rl.from_table(SHOP, lable="grade")


def test_no_grades_are_needed_to_score():
    data = rl.from_table(SHOP.drop(columns="grade"), labelled=False, allow_nan=True)
    assert data.y.tolist() == [-1, -1, -1, -1]


def test_numbers_that_are_categories():
    table = pa.table({"qid": [1, 1, 1], "label": [0, 1, 2], "shop": [7.0, None, 9.0]})
    data = rl.from_table(table, category=["shop"], allow_nan=True)
    assert data.features.columns[0].categories == ("7", "9")


def test_the_codes_of_a_model_are_kept():
    learnt = rl.features.Features.learn(rl.from_table(SHOP, allow_nan=True))
    other = SHOP.assign(brand=["new", "best", "acme", None])[SHOP.columns[::-1]]
    data = rl.from_table(other, features=learnt, allow_nan=True)
    assert data.feature_names == learnt.names
    words = learnt.columns[1].categories
    expected = [np.nan, words.index("acme"), words.index("best"), np.nan]
    np.testing.assert_array_equal(data.X[:, 1], expected)


def test_options_that_fit_no_file_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(DataError, match="label= is for tables with named columns, but the data is"):
        rl.read(tmp_path / "a.txt", label="grade")
    with pytest.raises(DataError, match="n_features= is for LETOR text, but the data is parquet"):
        rl.read(write(tmp_path, "a.parquet"), n_features=9)


def test_batches_of_csv(tmp_path):
    path = tmp_path / "a.csv"
    SHOP.sort_values("query_id").to_csv(path, index=False)
    (batch,) = read_batches(path)
    assert batch.n_queries == 2


def test_formats(tmp_path):
    assert detect(write(tmp_path, "a.tsv")) == "tsv"
    assert [format_for(name) for name in ("a", "a.txt.gz", "a.csv", "-")] == [
        "letor",
        "letor",
        "csv",
        "letor",
    ]
    with pytest.raises(DataError, match=r"cannot tell from the suffix '.xlsx'"):
        format_for("a.xlsx")
    with pytest.raises(DataError, match="JSON lines are read, but not written"):
        write_batches([], tmp_path / "a.jsonl")


def test_empty_tables_hold_nothing_to_learn(tmp_path):
    pq.write_table(pa.Table.from_pandas(SHOP[:0]), tmp_path / "a.parquet")
    with pytest.raises(ParseError, match="it has no rows"):
        rl.read(tmp_path / "a.parquet")


def test_a_series_with_another_index_is_refused():
    X = pd.DataFrame({"x": [1.0, 2, 3]}, index=[5, 6, 7])
    y = pd.Series([1, 0, 2], index=[7, 6, 5])
    with pytest.raises(DataError, match="X and y have different pandas indices: row 0 is 5 in X"):
        rl.QueryDataset.from_arrays(X, y, group=[3])
    assert rl.QueryDataset.from_arrays(X, y.loc[X.index], group=[3]).y.tolist() == [2, 0, 1]
    with pytest.raises(DataError, match="X and qid have different pandas indices"):
        rl.QueryDataset.from_arrays(X, [1, 0, 2], qid=pd.Series([1, 1, 1]))


def test_frames_with_categories_as_arrays():
    X = SHOP[["price", "brand"]]
    data = rl.QueryDataset.from_arrays(X, SHOP["grade"], qid=SHOP["query_id"], allow_nan=True)
    assert [column.kind for column in data.features] == ["number", "category"]


def test_a_query_of_a_real_postgres(postgres, tmp_path):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as connection:
        connection.execute(
            "create table judged (query_id text, bm25 real, price float8, label int)"
        )
        connection.execute(
            "insert into judged values ('b', 1.5, 2, 1), ('a', 3, 4, 0), ('b', 5, null, 2)"
        )
    data = rl.read(f"{postgres}?select * from judged order by label")
    assert data.query_ids.tolist() == ["a", "b"]
    assert data.feature_names == ("bm25", "price")
    assert data.y.tolist() == [0, 1, 2]
    assert data.X[0].tolist() == [3, 4]
    assert np.isnan(data.X[2, 1])
    with pytest.raises(ParseError, match=r"PostgreSQL says: .*nowhere"):
        rl.read(f"{postgres}?select * from nowhere")
    with pytest.raises(ParseError, match="read-only"):
        rl.read(f"{postgres}?with gone as (delete from judged returning *) select * from gone")
    assert len(rl.read(f"{postgres}?select * from judged").y) == 3
