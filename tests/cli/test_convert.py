import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl

ROUTES = [("parquet",), ("arrow",), ("parquet", "arrow"), ("arrow", "parquet"), ("txt",)]


def equal(a, b):
    """Whether two data sets hold the same, bit for bit."""
    return (
        np.array_equal(a.X, b.X, equal_nan=True)
        and np.array_equal(a.y, b.y)
        and np.array_equal(a.offsets, b.offsets)
        and a.query_ids.tolist() == b.query_ids.tolist()
        and (a.doc_ids is None) == (b.doc_ids is None)
        and (a.doc_ids is None or a.doc_ids.tolist() == b.doc_ids.tolist())
    )


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids="-".join)
@pytest.mark.parametrize("layout", ["wide", "list"])
def test_there_and_back(ok, simulated, tmp_path, route, layout):
    here = simulated
    for suffix in route:
        there = tmp_path / f"there.{suffix}"
        ok("convert", here, there, *([] if there.suffix == ".txt" else ["--layout", layout]))
        here = there
    back = tmp_path / "back.txt"
    ok("convert", here, back)
    assert back.read_bytes() == simulated.read_bytes()
    assert simulated.stat().st_size > 10_000


def test_ids_of_queries_and_documents_survive(ok, tmp_path):
    text = "2 qid:cheap-shoes 1:0.5 #docid = GX-1\n0 qid:007 1:0 #docid = \u00e9t\u00e9\n"
    source, table, back = (tmp_path / name for name in ("a.txt", "a.parquet", "b.txt"))
    source.write_text(text)
    ok("convert", source, table)
    ok("convert", table, back)
    assert back.read_text() == text


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed(ok, simulated, tmp_path, suffix):
    packed, back = tmp_path / f"packed.txt{suffix}", tmp_path / "back.txt"
    ok("convert", simulated, packed)
    assert packed.stat().st_size < simulated.stat().st_size / 1.5
    open_as = {".gz": gzip.open, ".xz": lzma.open}.get(suffix)
    if open_as is not None:
        assert open_as(packed).read() == simulated.read_bytes()
    renamed = packed.rename(tmp_path / "no-suffix")  # known by its first bytes
    ok("convert", renamed, back)
    assert back.read_bytes() == simulated.read_bytes()


def test_standard_input_and_output(ok, jumbled):
    outcome = ok("convert", "-", "-", stdin=jumbled.read_bytes())
    assert outcome.stdout == jumbled.read_bytes()
    assert outcome.err.strip() == "-: 2 queries, 5 documents, 2 features"


def test_sparse_text_leaves_zeros_out(ok, jumbled, tmp_path):
    target = tmp_path / "sparse.txt"
    ok("convert", jumbled, target, "--sparse")
    assert target.read_text().splitlines()[3] == "1 qid:3 2:3 #docid = d"
    assert ":0 " not in target.read_text()
    assert equal(rl.read_letor(target), rl.read_letor(jumbled))


def test_gather_brings_queries_together(ok, jumbled):
    outcome = ok("convert", jumbled, "-", "--gather")
    rows = jumbled.read_bytes().splitlines()
    assert outcome.stdout.splitlines() == [rows[i] for i in (0, 2, 4, 1, 3)]


def test_a_jumbled_table_needs_gather(ok, run, jumbled, tmp_path):
    table, target = tmp_path / "jumbled.parquet", tmp_path / "target.txt"
    ok("convert", jumbled, table)
    assert equal(rl.read_table(table), rl.read_letor(jumbled))
    outcome = run("convert", table, target)
    assert outcome.code == 1
    assert "starts again after other queries" in outcome.err
    assert not target.exists()
    ok("convert", table, target, "--gather")
    gathered = rl.read_letor(target)
    assert gathered.rows is None
    assert equal(gathered, rl.read_letor(jumbled))


def test_features_that_a_file_never_names(ok, jumbled, tmp_path):
    target = tmp_path / "wide.parquet"
    ok("convert", jumbled, target, "--n-features", 4)
    assert rl.read_table(target).X.tolist()[0] == [0.5, 0.0, 0.0, 0.0]


def test_null(ok):
    row = b"1 qid:1 1:NULL 2:3\n"
    assert ok("convert", "-", "-", stdin=row).stdout == b"1 qid:1 1:0 2:3\n"
    assert ok("convert", "-", "-", "--null", "-1", stdin=row).stdout == b"1 qid:1 1:-1 2:3\n"
    assert ok("convert", "-", "-", "--null", "nan", stdin=row).stdout == row


def test_qrels(ok, jumbled, tmp_path):
    judged = tmp_path / "judged.qrels"
    ok("convert", jumbled, judged)
    assert judged.read_text() == "7 0 a 2\n3 0 b 0\n7 0 c 0\n3 0 d 1\n7 0 e 1\n"
    back = ok("convert", judged, "-").out
    assert back.splitlines()[0] == "2 qid:7 #docid = a"


def test_to_names_the_format_where_the_suffix_does_not(ok, jumbled, tmp_path):
    table, text = tmp_path / "table.bin", tmp_path / "text.parquet"
    ok("convert", jumbled, table, "--to", "parquet")
    assert table.read_bytes().startswith(b"PAR1")
    ok("convert", jumbled, text, "--to", "letor")
    assert text.read_bytes() == jumbled.read_bytes()


def test_says_what_it_wrote(ok, jumbled, tmp_path):
    target = tmp_path / "target.parquet"
    assert ok("convert", jumbled, target).out == f"{target}: 2 queries, 5 documents, 2 features\n"
    assert ok("convert", jumbled, target, "--json").json == {
        "source": str(jumbled),
        "target": str(target),
        "format": "parquet",
        "queries": 2,
        "documents": 5,
        "features": 2,
    }


def test_bad_rows(ok, run, tmp_path):
    source, target = tmp_path / "bad.txt", tmp_path / "good.txt"
    rows = ["2 qid:1 1:1", "x qid:1 1:1", "1 qid:1 1:2", "0 qid:1 1:abc", "0 qid:2 1:3"]
    source.write_text("\n".join(rows) + "\n")
    outcome = run("convert", source, target)
    assert (outcome.code, target.exists()) == (1, False)
    assert outcome.err.strip().startswith(f"error: {source}:2: ")
    outcome = ok("convert", source, target, "--skip-bad-rows")
    assert target.read_text().splitlines() == [rows[0], rows[2], rows[4]]
    warning = outcome.err.strip()
    assert warning.startswith(f"warning: {source}: 2 bad rows left out of 5; line 2: ")
    assert "; line 4: " in warning


def test_the_file_may_be_its_own_target(ok, jumbled, tmp_path):
    ok("convert", jumbled, jumbled, "--sparse")
    assert b":0 " not in jumbled.read_bytes()
    assert len(jumbled.read_bytes().splitlines()) == 5


@pytest.mark.parametrize("name", ["MQ2008/S1.txt.xz", "YandexIMat2009-sample/train.txt.xz"])
def test_real_data_through_every_format(ok, data_dir, tmp_path, name):
    here = data_dir / name
    if not here.is_file():
        pytest.skip(f"{name} is not among the real data")
    before = rl.read_letor(here)
    for suffix in ("parquet", "arrow", "txt.gz"):
        there = tmp_path / f"there.{suffix}"
        ok("convert", here, there, "--gather", *(["--sparse"] if ".txt" in there.name else []))
        here = there
    after = rl.read_letor(here, n_features=before.n_features)
    assert equal(before, after)


class TestFailure:
    """A command that fails leaves what was there."""

    @pytest.fixture
    def precious(self, tmp_path) -> Path:
        path = tmp_path / "out" / "precious.txt"
        path.parent.mkdir()
        path.write_text("precious")
        yield path
        assert path.read_text() == "precious"
        assert list(path.parent.iterdir()) == [path]  # and nothing half-written beside it

    def test_bad_row(self, run, precious, tmp_path):
        source = tmp_path / "bad.txt"
        source.write_text("1 qid:1 1:1\n" * 1000 + "bad\n")
        assert run("convert", source, precious).code == 1

    def test_half_way_through_writing(self, run, precious, tmp_path):
        n = 70_000  # more than one batch of a table
        qid = np.arange(n) // 10
        qid[-1] = 0  # the first query starts again
        source = tmp_path / "jumbled.parquet"
        rl.data.write_table(
            rl.QueryDataset.from_arrays(np.ones((n, 1)), np.ones(n), qid=qid), source
        )
        outcome = run("convert", source, precious)
        assert outcome.code == 1
        assert "starts again" in outcome.err

    def test_truncated_input(self, run, precious, simulated, tmp_path):
        source = tmp_path / "cut.txt.gz"
        source.write_bytes(gzip.compress(simulated.read_bytes())[:-500])
        outcome = run("convert", source, precious)
        assert outcome.code == 1
        assert "truncated or damaged" in outcome.err

    def test_missing_input(self, run, precious, tmp_path):
        assert run("convert", tmp_path / "nothing.txt", precious).code == 1
