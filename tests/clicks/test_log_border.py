"""Click logs as they come: parts, bad rows, duplicates, composite pages, and foreign formats."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.log.parts import read_rows
from rankloop.clicks.log.reading import detect_format, read_clicks
from rankloop.clicks.log.relpred import read_relpred
from rankloop.clicks.log.shown import features_of_items, features_of_table
from rankloop.clicks.log.simulate import simulate_log
from rankloop.clicks.log.table import ClickTable, from_click_table, read_click_table
from rankloop.clicks.log.tiangong import read_tiangong
from rankloop.clicks.training import ShownFeatures, train_on_clicks
from rankloop.clicks.users import ultra_user
from rankloop.data.simulate import mslr_like
from rankloop.exceptions import DataError, ParseError
from rankloop.rankers.registry import make_ranker

ROWS = [
    ("p", "tv", "a", 1, 0),
    ("p", "tv", "b", 2, 1),
    ("p", "tv", "c", 3, 0),
    ("r", "radio", "b", 1, 0),
    ("r", "radio", "a", 2, 1),
]
NAMES = ("page", "query", "product_id", "position", "click")


def csv(rows, names=NAMES, delimiter=","):
    lines = [names, *rows]
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


def json_lines(rows, names=NAMES):
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def as_pages(log):
    for p in range(len(log)):
        rows = slice(log.offsets[p], log.offsets[p + 1])
        documents = log.document_ids[log.documents[rows]]
        yield (
            str(log.query_ids[log.queries[p]]),
            documents.tolist(),
            log.positions[rows].tolist(),
            documents[log.clicks[rows]].tolist(),
        )


WHOLE = [("tv", ["a", "b", "c"], [1, 2, 3], ["b"]), ("radio", ["b", "a"], [1, 2], ["a"])]


def test_every_form_of_a_table_is_the_same_log(tmp_path):
    (tmp_path / "log.csv").write_text(csv(ROWS))
    (tmp_path / "semicolons.csv").write_text(csv(ROWS, delimiter=";"))
    (tmp_path / "log.tsv").write_text(csv(ROWS, delimiter="\t"))
    (tmp_path / "log.jsonl").write_text(json_lines(ROWS))
    (tmp_path / "log.ndjson.gz").write_bytes(gzip.compress(json_lines(ROWS).encode()))
    rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    (tmp_path / "log.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    for file in sorted(tmp_path.iterdir()):
        assert detect_format(file) == "table", file.name
        assert list(as_pages(read_clicks([file]))) == WHOLE, file.name


def test_parts_of_a_folder_are_one_log(tmp_path):
    """A page goes on in the next part, with ids as text and columns in another order."""
    folder = tmp_path / "clicks"
    folder.mkdir()
    first = [(1, *row[1:]) for row in ROWS[:2]]
    rest = [(1, *ROWS[2][1:]), *(("r", *row[1:]) for row in ROWS[3:])]
    (folder / "part-0.csv").write_text(csv(first))
    (folder / "part-1.csv").write_text(csv([row[::-1] for row in rest], NAMES[::-1]))
    (folder / "_SUCCESS").write_text("")
    assert list(as_pages(read_clicks([folder]))) == WHOLE
    assert list(as_pages(read_clicks([tmp_path / "clicks" / "part-*.csv"]))) == WHOLE
    (folder / "part-2.csv").write_text("page,query,product_id,click\n2,x,a,1\n")
    with pytest.raises(ParseError, match=r"part-2.csv: it lacks the column 'position'"):
        read_clicks([folder])


BAD = [
    ("too few columns", "p,tv,a,1\n", "it has 4 columns, expected 5"),
    ("too many columns", "p,tv,a,1,0,9\n", "it has 6 columns, expected 5"),
    ("no query", "p,,d,4,0\n", "it has no query"),
    ("no document", "p,tv,,4,0\n", "it has no document"),
    ("no page", ",tv,d,4,0\n", "it has no page"),
    ("a word as click", "p,tv,d,4,maybe\n", "it has the clicked 'maybe'"),
    ("negative clicks", "p,tv,d,4,-1\n", "it has the clicked -1"),
    ("no click", "p,tv,d,4,\n", "it has the clicked None"),
    ("position 0", "p,tv,d,0,0\n", "it has the position 0; expected a whole number from 1: add 1"),
    ("position 1.5", "p,tv,d,1.5,0\n", "it has the position 1.5"),
    ("position in words", "p,tv,d,first,0\n", "it has the position 'first'"),
    ("other query", "p,phone,d,4,0\n", "it has query 'phone', but other rows of its page"),
    ("taken position", "p,tv,d,3,0\n", "it is at position 3 of its page, but another document"),
]


@pytest.mark.parametrize("place", ["middle", "end"])
@pytest.mark.parametrize(("line", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_bad_row_is_named_or_left_out(tmp_path, line, message, place):
    path = tmp_path / "log.csv"
    lines = csv(ROWS).splitlines(keepends=True)
    at = 4 if place == "middle" else len(lines)
    path.write_text("".join([*lines[:at], "\n", line, *lines[at:]]))  # an empty line is no row
    with pytest.raises(ParseError) as error:
        read_click_table(path)
    assert str(error.value).startswith(f"{path}:{at + 2}: {message}"), error.value
    log = read_click_table(path, skip_bad_rows=True)
    assert list(as_pages(log)) == WHOLE
    assert len(log.notes) == 1
    assert "1 " in log.notes[0]
    assert f"log.csv:{at + 2}: it " in log.notes[0]


def test_bad_rows_of_json_and_parquet(tmp_path):
    lines = json_lines(ROWS).splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    path.write_text("".join([*lines[:2], '{"page": "p", \n', "[1]\n", *lines[2:]]))
    with pytest.raises(ParseError, match=r"log.jsonl:3: it is not a JSON object"):
        read_click_table(path)
    log = read_click_table(path, skip_bad_rows=True)
    assert list(as_pages(log)) == WHOLE
    assert log.notes[0].startswith(f"2 bad rows left out; the first: {path}:3: it is not")
    table = pa.table({"query": ["q", None], "item": ["a", "b"], "click": [1, 0]})
    pq.write_table(table, tmp_path / "log.parquet")
    with pytest.raises(ParseError, match=r"log.parquet: row 1 has no query"):
        read_click_table(tmp_path / "log.parquet")
    with pytest.raises(DataError, match="none of its 1 rows can be used; the first: row 0 has no"):
        from_click_table(table.slice(1), skip_bad_rows=True)


def test_without_positions_a_row_that_is_left_out_keeps_its_place():
    table = pa.table({"query": ["q"] * 3, "item": ["a", None, "c"], "click": [0, 0, 1]})
    log = from_click_table(table, skip_bad_rows=True)
    assert (log.positions.tolist(), log.rows.tolist()) == ([1, 3], [0, 2])


def test_duplicates(tmp_path):
    """A log may have a row for each event: shown, then clicked."""
    again = ("p", "tv", "a", 1, 1)
    path = tmp_path / "log.csv"
    path.write_text(csv([*ROWS, again]))
    with pytest.raises(ParseError, match=r"log.csv:7: it repeats the document at position 1"):
        read_click_table(path)
    log = read_click_table(path, drop_duplicates=True)
    assert next(as_pages(log)) == ("tv", ["a", "b", "c"], [1, 2, 3], ["a", "b"])
    assert log.notes == ("1 duplicate row left out",)
    assert log.rows is None or log.rows.tolist() == [0, 1, 2, 3, 4]
    assert read_click_table(path, drop_duplicates=True, skip_bad_rows=True).notes == log.notes


def test_pages_of_several_columns(tmp_path):
    """Neither the user nor the minute is the id of a page alone."""
    names = ("user", "minute", "query", "item", "click")
    rows = [(1, 1, "q", "a", 0), (1, 2, "q", "a", 1), (2, 1, "q", "b", 0), (1, 1, "q", "b", 1)]
    (tmp_path / "log.csv").write_text(csv(rows, names))
    log = read_clicks([tmp_path / "log.csv"], columns={"page": "user, minute"})
    assert [page[1] for page in as_pages(log)] == [["a", "b"], ["a"], ["b"]]
    with pytest.raises(DataError, match="there is no column 'hour'"):
        read_clicks([tmp_path / "log.csv"], columns={"page": "user,hour"})


def test_latin_1(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(csv([("p", "été", "a", 1, 0), ("p", "été", "b", 2, 1)]).encode("latin-1"))
    with pytest.raises(ParseError, match="not UTF-8 text; pass encoding='latin-1'"):
        read_clicks([path])
    assert read_clicks([path], encoding="latin-1").query_ids.tolist() == ["été"]


RELPRED = (
    "0\t0\tQ\t8\t0\t7\t103\t51\n0\t103\tC\t51\n0\t150\tQ\t8\t0\t103\t51\n0\t160\tC\t7\n"
    "0\t165\tC\t51\n0\t170\tC\t99\n10\t0\tQ\t13\t1\t5\t6\n10\t4\tC\t5\n10\t5\tC\t5\n"
)


def test_relpred(tmp_path):
    """A click belongs to the last page of its session that shows the document."""
    path = tmp_path / "log.txt.gz"
    path.write_bytes(gzip.compress(RELPRED.encode()))
    assert detect_format(path) == "relpred"
    log = read_clicks([path])
    assert [(q, d, c) for q, d, _, c in as_pages(log)] == [
        ("8_0", ["7", "103", "51"], ["7", "51"]),
        ("8_0", ["103", "51"], ["51"]),
        ("13_1", ["5", "6"], ["5"]),
    ]
    assert log.notes == ("1 click on documents that were not shown left out",)
    bad = tmp_path / "bad.txt"
    bad.write_text(RELPRED + "10\t7\tC\n")
    with pytest.raises(ParseError, match=r"bad.txt:10: found '10\\t7\\tC', expected 'session time"):
        read_relpred(bad)
    assert len(read_relpred(bad, skip_bad_rows=True)) == 3


TIANGONG = """<TianGong><session num="7">
<interaction num="1" starttime="0"><query_id>q1</query_id><results>
<result rank="1"><docid>d1</docid><vtype>30</vtype></result>
<result rank="2"><docid>d2</docid><vtype>10</vtype></result></results>
<clicked><click num="1"><rank>2</rank></click></clicked></interaction>
<interaction num="2"><query_id>q2</query_id><results>
<result rank="2"><docid>d2</docid></result><result rank="1"><docid>d3</docid></result></results>
</interaction>{more}</session></TianGong>
"""


def test_tiangong(tmp_path):
    path = tmp_path / "log.xml"
    path.write_text(
        TIANGONG.format(more='<interaction num="3"><query_id>q1</query_id></interaction>')
    )
    assert detect_format(path) == "tiangong"
    assert list(as_pages(read_clicks([path]))) == [
        ("q1", ["d1", "d2"], [1, 2], ["d2"]),
        ("q2", ["d3", "d2"], [1, 2], []),
    ]
    path.write_text(TIANGONG.format(more='<interaction num="4"><results/></interaction>'))
    with pytest.raises(
        ParseError, match="interaction 4 cannot be used: there is no query_id or qu"
    ):
        read_tiangong(path)
    assert read_tiangong(path, skip_bad_rows=True).notes[0].startswith("1 bad row left out")
    path.write_text(TIANGONG[:80])
    with pytest.raises(ParseError, match=r"log.xml:\d: it is not XML"):
        read_tiangong(path)


@pytest.mark.parametrize("name", ["notes.txt", "clicks.dat"])
def test_an_unknown_format_is_an_error(tmp_path, name):
    (tmp_path / name).write_text("nothing of the kind\n")
    with pytest.raises(DataError, match=f"cannot tell the format of {name}; give --format table"):
        read_clicks([tmp_path / name])
    (tmp_path / "log.txt").write_text(RELPRED)
    with pytest.raises(
        DataError, match="drop_duplicates= is for tables, but the format is relpred"
    ):
        read_clicks([tmp_path / "log.txt"], drop_duplicates=True)


@pytest.fixture(scope="module")
def searches():
    """Pages of a user who looks less at lower places, ranked by a feature with noise."""
    rng = np.random.default_rng(0)
    data = mslr_like(80, rng, n_features=5, mean_length=12.0).data
    return data, simulate_log(data, data.X[:, 1], ultra_user(), rng, noise=0.5, impressions=8)


def test_features_come_from_the_log_or_from_items(tmp_path, searches):
    data, log = searches
    X = data.X[log.document_ids[log.documents]]
    columns = {f"f{j}": X[:, j] for j in range(5)}
    table = pa.table(
        {
            "page": np.repeat(log.page_ids, log.sizes),
            "query": log.query_ids[log.row_queries],
            "document": log.document_ids[log.documents],
            "position": log.positions,
            "clicked": log.clicks.astype(int),
            **columns,
        }
    )
    order = np.random.default_rng(1).permutation(len(X))
    pq.write_table(table.take(order), tmp_path / "log.parquet")
    read = ClickTable(read_rows([tmp_path / "log.parquet"]), {})
    shown = features_of_table(read)
    assert shown.names == tuple(columns)
    rows = read.log.document_ids[read.log.documents]
    np.testing.assert_array_equal(shown.X, data.X[rows])
    names = ["item", *columns]
    lines = [names, *([k, *row] for k, row in enumerate(data.X.tolist()))]
    (tmp_path / "items.csv").write_text("".join(",".join(map(str, x)) + "\n" for x in lines))
    items = features_of_items(read.log, tmp_path / "items.csv")
    np.testing.assert_array_equal(items.X, shown.X)
    (tmp_path / "few.csv").write_text("".join(",".join(map(str, x)) + "\n" for x in lines[:9]))
    with pytest.raises(ParseError, match=r"few.csv: it has no document \d+; the log shows"):
        features_of_items(read.log, tmp_path / "few.csv")


def test_the_correction_is_chosen_by_what_the_log_can_support(searches):
    data, log = searches
    rng = np.random.default_rng(0)
    shown = ShownFeatures(data.X[log.document_ids[log.documents]])
    trained = train_on_clicks(make_ranker("xendcg"), log, shown, rng=rng)
    low, high = trained.gain[1:]
    assert low < trained.gain[0] < high
    assert trained.correction == ("all-pairs" if trained.gain[0] > 0 else "naive")
    fixed = ClickLog.from_pages([(q, ["a", "b"], ["b"]) for q in range(40)])
    X = np.tile(np.eye(2, dtype=np.float32), (40, 1))
    trained = train_on_clicks(make_ranker("xendcg"), fixed, ShownFeatures(X), rng=rng)
    assert (trained.correction, trained.gain) == ("naive", None)
    assert "cannot be separated from relevance" in trained.reason
    with pytest.raises(DataError, match="cannot be separated"):
        train_on_clicks(make_ranker("xendcg"), fixed, ShownFeatures(X), "all-pairs", rng=rng)
    with pytest.raises(DataError, match="unknown correction 'ips'; choose from auto, naive"):
        train_on_clicks(make_ranker("xendcg"), fixed, ShownFeatures(X), "ips", rng=rng)
    nothing = fixed.with_clicks(np.zeros(80))
    with pytest.raises(DataError, match="no page of the log has a click"):
        train_on_clicks(make_ranker("xendcg"), nothing, ShownFeatures(X), rng=rng)


@pytest.mark.parametrize(
    ("name", "content"),
    [("log.json", b"[" * 100_000), ("log.jsonl", b'{"a":' * 50_000 + b"\n")],
)
@pytest.mark.parametrize("kind", [None, "ubi", "table"])
def test_json_that_is_nested_too_deeply_is_an_error(tmp_path, name, content, kind):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="it is not"):
        read_clicks([tmp_path / name], format=kind)
