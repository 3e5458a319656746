"""TREC files: golden files, exact round trips, joins checked by a plain twin and by trec_eval."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest
import pytrec_eval
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT
from rankloop.data.io import trec
from rankloop.data.io.trec import Qrels, Run, read_qrels, read_run, write_qrels, write_run
from rankloop.data.io.trec_join import (
    dataset_from_qrels,
    join,
    qrels_from_dataset,
    run_from_scores,
    run_scores,
)
from rankloop.exceptions import DataError, ParseError

QRELS = b"301 0 FBIS3-10082 1\n301\t0  FBIS3-10169 0\r\n\n 302 Q0 CR93E-282 -1 \n302 0 \xc3\xa9 0.5"
RUN = b"301 Q0 FBIS3-10169 1 2.5e1 bm25\n301 Q0 FR940202 2 -7 bm25\n303 Q0 x 1 0.1 other\n"
FILES = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4).filter(
    lambda text: text.encode().split() == [text.encode()]
)
QUERY = st.sampled_from([[1, 2, 30], ["1", "007", "q\u00a0x"], ["1", "2", "30"]])
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def lines(values: st.SearchStrategy, docs: st.SearchStrategy) -> st.SearchStrategy:
    """Rows of (query, document, value), each pair once."""

    def rows(queries):
        row = st.tuples(st.sampled_from(queries), docs, values)
        return st.lists(row, min_size=1, max_size=15, unique_by=lambda r: r[:2])

    return QUERY.flatmap(rows)


def columns(rows):
    queries, docs, values = zip(*rows, strict=True)
    return np.array(queries), np.array(docs, TEXT), np.array(values, float)


# --- golden files ---


def test_qrels_are_read_in_file_order(tmp_path):
    (tmp_path / "qrels").write_bytes(QRELS)
    qrels = read_qrels(tmp_path / "qrels")
    assert qrels.query_ids.tolist() == [301, 301, 302, 302]
    assert qrels.doc_ids.tolist() == ["FBIS3-10082", "FBIS3-10169", "CR93E-282", "é"]
    assert qrels.grades.tolist() == [1, 0, -1, 0.5]
    assert len(qrels) == 4
    write_qrels(qrels, tmp_path / "again")
    assert (tmp_path / "again").read_text(encoding="utf-8") == (
        "301 0 FBIS3-10082 1\n301 0 FBIS3-10169 0\n302 0 CR93E-282 -1\n302 0 é 0.5\n"
    )


def test_runs_are_read_in_file_order_and_written_by_rank(tmp_path):
    (tmp_path / "run").write_bytes(b"\xef\xbb\xbf" + RUN)
    run = read_run(tmp_path / "run")
    assert run.query_ids.tolist() == [301, 301, 303]
    assert run.doc_ids.tolist() == ["FBIS3-10169", "FR940202", "x"]
    assert run.scores.tolist() == [25, -7, 0.1]
    assert (run.tag, len(run)) == ("bm25", 3)
    mixed = Run([2, 1, 2, 2, 1], [*"abcde"], [1, 1, 3, 1, 0.1], "t")
    write_run(mixed, tmp_path / "mixed")
    assert (tmp_path / "mixed").read_text() == (
        "2 Q0 c 1 3.0 t\n2 Q0 a 2 1.0 t\n2 Q0 d 3 1.0 t\n1 Q0 b 1 1.0 t\n1 Q0 e 2 0.1 t\n"
    )


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_compressed_files(tmp_path, suffix, compress):
    (tmp_path / "qrels.txt").write_bytes(compress(QRELS))  # known by content
    qrels = read_qrels(tmp_path / "qrels.txt")
    assert qrels.grades.tolist() == [1, 0, -1, 0.5]
    write_qrels(qrels, tmp_path / f"qrels{suffix}")
    assert (tmp_path / f"qrels{suffix}").read_bytes()[:2] == compress(b"")[:2]
    assert read_qrels(tmp_path / f"qrels{suffix}").doc_ids.tolist() == qrels.doc_ids.tolist()


# --- round trips ---


@pytest.mark.slow
@FILES
@given(rows=lines(FINITE, WORD), chunk=st.sampled_from([1, 7, 2**22]))
def test_qrels_come_back(tmp_path, monkeypatch, rows, chunk):
    qrels = Qrels(*columns(rows))
    write_qrels(qrels, tmp_path / "qrels")
    with monkeypatch.context() as patch:
        patch.setattr(trec, "_CHUNK", chunk)
        back = read_qrels(tmp_path / "qrels")
    assert list(map(str, back.query_ids)) == [str(q) for q, _, _ in rows]
    assert back.doc_ids.tolist() == qrels.doc_ids.tolist()
    assert back.grades.tolist() == qrels.grades.tolist()


@pytest.mark.slow
@FILES
@given(rows=lines(FINITE, WORD), tag=WORD)
def test_runs_come_back_in_rank_order(tmp_path, rows, tag):
    write_run(Run(*columns(rows), tag), tmp_path / "run")
    back = read_run(tmp_path / "run")
    queries = list(dict.fromkeys(q for q, _, _ in rows))
    ranked = sorted(rows, key=lambda row: (queries.index(row[0]), -row[2]))  # stable
    assert [*zip(map(str, back.query_ids), back.doc_ids, back.scores, strict=True)] == [
        (str(q), doc, score) for q, doc, score in ranked
    ]
    assert back.tag == tag


# --- joining ---


@settings(deadline=None)
@given(rows=lines(st.sampled_from([0.0, 1, 2]), WORD))
def test_qrels_as_a_data_set_and_back(rows):
    qrels = Qrels(*columns(rows))
    data = dataset_from_qrels(qrels)
    assert data.X.shape == (len(rows), 0)
    back = qrels_from_dataset(data)
    for name in ("query_ids", "doc_ids", "grades"):
        assert getattr(back, name).tolist() == getattr(qrels, name).tolist()


@settings(deadline=None)
@given(
    judged=lines(st.sampled_from([0.0, 1, 2]), st.sampled_from("abcdef")),
    retrieved=lines(FINITE, st.sampled_from("defghi")),
)
def test_join_is_the_union_of_judged_and_retrieved(judged, retrieved):
    qrels, run = Qrels(*columns(judged)), Run(*columns(retrieved))
    grades = {(str(q), doc): grade for q, doc, grade in judged}
    scores = {(str(q), doc): score for q, doc, score in retrieved}
    queries = list(dict.fromkeys(q for q, _ in grades))
    kept = [pair for pair in scores if pair[0] in queries]
    if not kept:
        with pytest.raises(DataError, match="no query in common"):
            join(qrels, run)
        return
    joined = join(qrels, run)
    pairs = sorted(
        kept + [pair for pair in grades if pair not in scores], key=lambda p: queries.index(p[0])
    )
    data = joined.dataset
    assert [*zip(map(str, data.qid), data.doc_ids, strict=True)] == pairs
    assert data.y.tolist() == [grades.get(pair, -1) for pair in pairs]
    assert joined.scores.tolist() == [scores.get(pair, -np.inf) for pair in pairs]
    assert (data.X.shape, data.rows) == ((len(pairs), 0), None)
    assert joined.n_unjudged_queries == len({q for q, _ in scores} - set(queries))
    assert joined.n_missing_queries == len(set(queries) - {q for q, _ in scores})
    assert joined.n_unjudged == sum(pair not in grades for pair in kept)
    assert joined.n_not_retrieved == sum(pair not in scores for pair in grades)
    np.testing.assert_array_equal(run_scores(data, run), joined.scores)
    again = qrels_from_dataset(data)
    assert {
        (str(q), doc): g
        for q, doc, g in zip(again.query_ids, again.doc_ids, again.grades, strict=True)
    } == grades


def test_trec_eval_reads_our_files_as_we_do(tmp_path):
    rng = np.random.default_rng(0)
    pairs = [(q, f"d{d}") for q in range(5) for d in range(20)]
    judged = [(q, d, int(rng.integers(0, 3))) for q, d in pairs if rng.random() < 0.6]
    retrieved = [(q, d, rng.normal()) for q, d in pairs if rng.random() < 0.6]
    write_qrels(Qrels(*columns(judged)), tmp_path / "qrels")
    write_run(Run(*columns(retrieved)), tmp_path / "run")
    with (tmp_path / "qrels").open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    with (tmp_path / "run").open() as file:
        run = pytrec_eval.parse_run(file)
    assert qrels == {str(q): {d: g for p, d, g in judged if p == q} for q in range(5)}
    assert run == {str(q): {d: s for p, d, s in retrieved if p == q} for q in range(5)}
    counts = pytrec_eval.RelevanceEvaluator(qrels, {"num_rel", "num_rel_ret"}).evaluate(run)
    joined = join(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run"))
    for q, query in enumerate(joined.dataset):
        relevant = query.y > 0
        start, end = joined.dataset.offsets[q : q + 2]
        found = np.isfinite(joined.scores[start:end])
        assert counts[str(query.id)]["num_rel"] == relevant.sum()
        assert counts[str(query.id)]["num_rel_ret"] == (relevant & found).sum()


def dataset(**options) -> QueryDataset:
    return QueryDataset.from_arrays(np.zeros((4, 1)), [0, -1, 2, 1], qid=[*"baba"], **options)


def test_scores_to_run_and_back():
    data = dataset(doc_ids=[*"wxyz"])  # gathered: w y | x z
    run = run_from_scores(data, [1.0, 1.0, -np.inf, 0.0], "mine")
    assert run.query_ids.tolist() == ["b", "b", "a"]
    assert run.doc_ids.tolist() == ["w", "y", "z"]
    assert run.tag == "mine"
    assert run_scores(data, run).tolist() == [1, 1, -np.inf, 0]
    assert run_from_scores(data, [1, 2, 3, 4]).doc_ids.tolist() == ["y", "w", "z", "x"]


def test_without_document_ids_the_callers_row_is_the_id():
    data = dataset()
    assert run_from_scores(data, [4, 3, 2, 1]).doc_ids.tolist() == ["0", "2", "1", "3"]
    qrels = qrels_from_dataset(data)
    assert qrels.query_ids.tolist() == ["b", "b", "a"]  # row 1 is unjudged
    assert qrels.doc_ids.tolist() == ["0", "2", "3"]
    assert qrels.grades.tolist() == [0, 2, 1]


def test_run_scores_refuses_documents_it_would_drop():
    data = dataset(doc_ids=[*"wxyz"])
    with pytest.raises(
        DataError, match="1 documents of the run are not in the data set, the first 'q' of q"
    ):
        run_scores(data, Run(["a", "a", "c"], ["x", "q", "r"], [1, 2, 3]))
    assert run_scores(data, Run(["a", "c"], ["x", "r"], [1, 3])).tolist() == [-np.inf] * 2 + [
        1,
        -np.inf,
    ]
    with pytest.raises(
        DataError, match=r"the run and the data set have no query in common.*'b'.*'c'"
    ):
        run_scores(data, Run(["c"], ["x"], [1]))
    with pytest.raises(
        DataError, match="document 'w' of query b occurs twice in the data set, in rows 0"
    ):
        run_scores(dataset(doc_ids=[*"wxwz"]), Run(["a"], ["x"], [1]))


def test_values_are_checked():
    with pytest.raises(DataError, match="scores must be finite; found nan in row 1"):
        Run([1, 1], ["a", "b"], [1, np.nan])
    with pytest.raises(DataError, match="doc_ids has 1 values for 2 rows"):
        Qrels([1, 1], ["a"], [1, 2])
    with pytest.raises(DataError, match="scores has 3 values for 4 rows"):
        run_from_scores(dataset(), [1, 2, 3])
    with pytest.raises(DataError, match="'a' of query 1 occurs twice in the run, in rows 0 and 2"):
        join(Qrels([1], ["a"], [1]), Run([1, 1, 1], ["a", "b", "a"], [1, 2, 3]))


# --- errors ---


@pytest.mark.parametrize(
    ("read", "text", "line", "message"),
    [
        (
            read_qrels,
            b"1 0 a 1\n1 0 b\n",
            2,
            "3 fields; expected 4, .*: query 0 document grade; cor",
        ),
        (read_qrels, b"1 0 a 1\n1 0 b\n1 0 c 1 1\n", 2, "3 fields; expected 4"),
        (read_qrels, b"\n\n1 0 a b 1", 3, "5 fields; expected 4"),
        (
            read_qrels,
            b"1 0 a 1\n\n1 0 b high\n",
            3,
            "the grade is 'high'; expected a finite number",
        ),
        (read_qrels, b"1 0 a nan\n", 1, "the grade is 'nan'; expected a finite number"),
        (read_qrels, b"1 0 a 1_0\n", 1, "the grade is '1_0'"),
        (
            read_qrels,
            b"1 0 a 1\n2 0 a 1\n\n1 0 a 0\n",
            4,
            "'a' of query 1 is already in line 1; keep",
        ),
        (read_qrels, b"1 0 a 1\n1 0 \xff 1\n", 2, r"b'\\xff' is not UTF-8; convert"),
        (read_qrels, b" \n\n", None, "no lines; expected lines of: query 0 document grade"),
        (read_qrels, b"", None, "no lines"),
        (
            read_run,
            b"1 Q0 a 1 0.5\n",
            1,
            "5 fields; expected 6, .*: query Q0 document rank score tag",
        ),
        (read_run, b"1 Q0 a 1 inf t\n", 1, "the score is 'inf'; expected a finite number"),
        (read_qrels, b"1 0 a 1\n2 0 b 1\n1 0 a 0\n2 0 b 1\n", 3, "'a' of query 1 is already in"),
        (read_qrels, b"1 0 a 1\n2 0 b 1\n2 0 b 1\n1 0 a 0\n", 3, "'b' of query 2 is already in"),
        (read_run, b"1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", 2, "already in line 1"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 16, 2**22])
def test_bad_lines_are_named(tmp_path, monkeypatch, read, text, line, message, chunk):
    monkeypatch.setattr(trec, "_CHUNK", chunk)
    (tmp_path / "bad").write_bytes(text)
    with pytest.raises(ParseError, match=message) as caught:
        read(tmp_path / "bad")
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "bad"), line)


@pytest.mark.parametrize("bad", ["", "a b", "a\n", "\t"])
def test_ids_that_would_break_a_line_leave_the_old_file(tmp_path, bad):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(DataError, match=r"document id .* is empty or has blanks"):
        write_qrels(Qrels([1, 1], ["a", bad], [1, 1]), path)
    with pytest.raises(DataError, match=r"query id .* is empty or has blanks"):
        write_run(Run(["a", bad], ["a", "b"], [1, 1]), path)
    with pytest.raises(DataError, match=r"tag .* is empty or has blanks"):
        write_run(Run(["a"], ["a"], [1], bad), path)
    assert path.read_text() == "old"


def test_an_error_midway_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def breaking():
        yield "1 0 a 1\n"
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        trec._write(path, breaking())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
