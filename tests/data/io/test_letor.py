from __future__ import annotations

import lzma
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.io import letor
from rankloop.data.io.letor import iter_letor, read_letor, write_letor
from rankloop.data.joining import concat
from rankloop.exceptions import BadRowsWarning, DataError, MemoryLimitError, ParseError

from .letor_twin import assert_same, decimals, feature, letor_files, naive_read, same_bits

SUFFIXES = ["", ".gz", ".xz", ".zst"]


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("letor") / "file.txt"


def read(path, content, block=None, **options):
    path.write_bytes(content)
    with mock.patch.object(letor, "_BLOCK", block or letor._BLOCK):
        return read_letor(path, **options)


# The reader and its twin


@settings(max_examples=150)
@given(content=letor_files())
@example(content=b"1 qid:1 1:1\n1 qid:1 0:2\n")  # an index 0 shifts the rows before it
@example(content=b"1 qid:7\n")
@example(content=b"0 qid:1 1:1 #docid = a#b\n0 qid:1 2:1\t#docid=\xc3\xa9\n#1 qid:2")
def test_reads_what_the_twin_reads(path, content):
    twin = naive_read(content)
    assert_same(read(path, content), twin)
    for threads in (1, 2, 4):
        for block in (1, 20, 150):
            assert_same(read(path, content, block, threads=threads), twin)


@given(content=letor_files(), null=st.sampled_from([0.0, np.nan, -1.0]), extra=st.integers(0, 5))
def test_options_mean_the_same_to_both(path, content, null, extra):
    width = max(naive_read(content).X.shape[1], 1) + extra
    options = {"null": null, "n_features": width}
    assert_same(read(path, content, 30, threads=2, **options), naive_read(content, **options))
    assume(naive_read(content).X.shape[1])
    options = {"null": null, "zero_based": True}
    assert_same(read(path, content, 30, threads=2, **options), naive_read(content, **options))


def test_rows_without_features_have_none(path):
    assert read(path, b"1 qid:1\n", zero_based=True).X.shape == (1, 0)


@settings(max_examples=20)
@given(content=letor_files(min_rows=2))
def test_document_ids_can_be_left_out(path, content):
    assert read(path, content, doc_ids=False).doc_ids is None


@settings(max_examples=50)
@given(first=letor_files(), second=letor_files())
def test_several_files_are_one_after_the_other(path, first, second):
    other = path.with_name("other.txt")
    path.write_bytes(first)
    other.write_bytes(second)
    parts = [read_letor(path), read_letor(other)]
    try:
        data = read_letor(path, other)
    except DataError:  # one counts features from 0, the other perhaps not
        data = read_letor(path, other, zero_based=True)
        parts = [read_letor(path, zero_based=True), read_letor(other, zero_based=True)]
    assert data.n_documents == sum(part.n_documents for part in parts)
    assert data.n_features == max(part.n_features for part in parts)
    joined = concat(parts)
    assert same_bits(data.X, joined.X)
    assert data.query_ids.tolist() == joined.query_ids.tolist()


@settings(max_examples=200)
@given(texts=st.lists(decimals, min_size=1, max_size=40))
@example(
    texts=["1.00000005960464477539062", "1.000000059604644775390626", "0.1e1", "9007199254740993"]
)
@example(texts=["0.000000000000000000000000000001", "123456789012345678901234567890e-20"])
@example(
    texts=["2.4703282292062328e-324", "1e-45", "7.006492321624085e-46", "7.006492321624086e-46"]
)
@example(
    texts=["12345678", "1234567.1234567", "12345678.12345678", "-1234567", "-0.000000", "1.e5"]
)
def test_numbers_are_pythons(path, texts):
    row = "0 qid:1 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts, 1)) + "\n"
    expected = np.array([[feature(text, 0.0) for text in texts]], np.float32)
    assert same_bits(read(path, row.encode()).X, expected)
    grades = "".join(f"{text} qid:1\n" for text in texts)  # a grade is a double
    usable = [t for t in texts if abs(float(t)) < 1.7e308]
    if len(usable) == len(texts):
        assert same_bits(read(path, grades.encode(), 50).y, np.array([float(t) for t in texts]))


def test_random_decimals(path, rng):
    values = np.concatenate([rng.random(3000), 10 ** rng.uniform(-46, 38, 3000)])
    for form in ("{:.6f}", "{:.17g}", "{:.3e}", "{:.25f}", "{!r}", "{:.9g}"):
        texts = [form.format(float(x)) for x in values]
        row = "0 qid:1 " + " ".join(f"{i}:{t}" for i, t in enumerate(texts, 1))
        expected = np.array([[np.float32(float(t)) for t in texts]])
        assert same_bits(read(path, row.encode()).X, expected)


@pytest.mark.parametrize("text", ["1e0000000005", "25e-0000000001"])
def test_exponents_with_many_leading_zeros(path, text):
    assert read(path, f"1 qid:1 1:{text}".encode()).X[0, 0] == np.float32(float(text))


def test_long_fractions_underflow_to_zero(path):
    assert read(path, b"1 qid:1 1:0." + b"0" * 400 + b"1", null=np.nan).X[0, 0] == 0


def test_a_skipped_row_leaves_no_trace(path):
    with pytest.warns(BadRowsWarning):
        data = read(path, b"1 qid:1 1:5 2:6\n1 qid:1 0:nan\n", skip_bad_rows=True)
    assert data.X.tolist() == [[5, 6]]


def test_row_order_of_several_files_is_that_of_the_files(path):
    other = path.with_name("other.txt")
    path.write_text("1 qid:1 1:1\n1 qid:2 1:2\n1 qid:1 1:3\n")
    other.write_text("1 qid:3 1:4\n")
    data = read_letor(path, other)
    assert data.in_row_order(data.X[:, 0]).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["OHSUMED/S1", "OHSUMED-null/S5", "MQ2008/S2"])
def test_real_files_equal_the_twin(data_dir, name):
    file = data_dir / f"{name}.txt.xz"
    if not file.exists():
        pytest.skip(f"{file} not found")
    twin = naive_read(lzma.decompress(file.read_bytes()), null=np.nan)
    assert_same(read_letor(file, null=np.nan), twin)


# What is missing, and what is a comment


@pytest.mark.parametrize("word", ["NULL", "null", "1.79769e308", "-1.797693134862315708e+308"])
def test_missing_values_are_what_the_caller_wants(path, word):
    content = f"1 qid:1 1:{word} 2:7\n".encode()
    assert read(path, content).X.tolist() == [[0, 7]]
    assert read(path, content, null=-5).X.tolist() == [[-5, 7]]
    kept = read(path, content, null=np.nan)
    assert np.isnan(kept.X[0, 0])
    assert kept.X[0, 1] == 7
    assert kept.has_missing


@pytest.mark.parametrize(
    "word",
    ["nan", "NaN", "-nan", "1.#QNAN", "-1.#QNAN", "1.#qnan0", "1.#IND", "-1.#IND00", "1.#SNAN"],
)
def test_nan_is_missing_where_missing_values_are_kept(path, word):
    content = f"1 qid:1 1:{word} 2:7\n".encode()
    kept = read(path, content, null=np.nan)
    assert np.isnan(kept.X[0, 0])
    assert kept.X[0, 1] == 7
    with pytest.raises(ParseError, match="expected a finite number"):
        read(path, content, null=-1)


@pytest.mark.parametrize(
    "word", ["inf", "-inf", "Infinity", "1.#INF", "-1.#INF00", "1e39", "1e400"]
)
def test_infinity_is_never_missing(path, word):
    with pytest.raises(ParseError, match=r"feature 1 is '.*expected a finite|too large"):
        read(path, f"1 qid:1 1:{word} 2:7\n".encode(), null=np.nan)


@pytest.mark.parametrize("blank", [" ", "\t", " \t ", "\r"])
def test_a_comment_starts_after_a_blank(path, blank):
    data = read(path, f"1 qid:1 1:5{blank}# 2:6 #docid = A#B\n#1 qid:2\n{blank}#\n".encode())
    assert data.X.tolist() == [[5]]
    assert data.doc_ids.tolist() == ["A#B"]


@given(text=decimals)
def test_numbers_round_alike_in_every_place(path, text):
    """The first, a middle and the last value of a row, which end in different bytes."""
    for row in (f"1:{text}", f"1:{text} 2:1", f"1:{text}\t#", f"2:1 1:{text}\r"):
        assert read(path, f"1 qid:1 {row}\n".encode()).X[0, 0] == feature(text, 0)


# Writing and reading back

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORDS = st.text("abcXYZ0189-_.:=é中", min_size=1, max_size=18)


@st.composite
def datasets(draw, values=FLOATS):
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    ids = draw(
        st.sampled_from([st.integers(0, 3), st.integers(0, 10**17), WORDS.map("q{}".format)])
    )
    return QueryDataset.from_arrays(
        draw(arrays(np.float32, (n, d), elements=values)),
        draw(arrays(np.float64, n, elements=st.floats(-1e300, 1e300) | st.integers(-1, 4))),
        qid=draw(st.lists(ids, min_size=n, max_size=n)),
        doc_ids=draw(st.none() | st.lists(WORDS, min_size=n, max_size=n)),
        allow_nan=True,
    )


def assert_same_data(a, b):
    assert same_bits(a.X, b.X)
    assert same_bits(a.y, b.y)
    for name in ("query_ids", "offsets", "doc_ids", "rows"):
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None), name
        assert left is None or left.tolist() == right.tolist(), name


@settings(max_examples=200)
@given(
    data=datasets(FLOATS | st.just(np.nan)),
    zero_based=st.booleans(),
    suffix=st.sampled_from(SUFFIXES),
)
def test_round_trip(path, data, zero_based, suffix):
    target = path.with_suffix(".txt" + suffix)
    write_letor(data, target, zero_based=zero_based)
    assert_same_data(read_letor(target, null=np.nan), data)  # it finds the base by itself
    assert_same_data(read_letor(target, null=np.nan, zero_based=zero_based, threads=1), data)


@given(data=datasets(FLOATS.map(lambda x: x + 0.0) | st.just(0.0)), zero_based=st.booleans())
def test_sparse_round_trip(path, data, zero_based):
    write_letor(data, path, zero_based=zero_based, sparse=True)
    kept = path.read_text().count(":") - path.read_text().count("qid:")
    if data.doc_ids is None and data.query_ids.dtype.kind == "i":
        assert kept == np.count_nonzero(data.X)
    assert_same_data(read_letor(path, zero_based=zero_based, n_features=data.n_features), data)


def test_missing_values_are_written_as_null(path):
    data = QueryDataset.from_arrays([[np.nan, 0.5]], [1], qid=[3], allow_nan=True)
    write_letor(data, path)
    assert path.read_text() == "1 qid:3 1:NULL 2:0.5\n"
    assert read_letor(path).X.tolist() == [[0, 0.5]]


def test_rows_are_written_in_the_callers_order(path):
    qid, column = ["b", "a", "b", "a"], np.arange(4.0)
    write_letor(QueryDataset.from_arrays(column[:, None], column, qid=qid), path)
    lines = path.read_text().splitlines()
    assert lines == [f"{i} qid:{q} 1:{i}" for i, q in enumerate(qid)]


@pytest.mark.parametrize("bad", ["", "a b", "a#b", "a\nb", "a\tb"])
def test_query_ids_that_text_cannot_hold_are_refused(path, bad):
    path.write_text("kept")
    with pytest.raises(DataError, match="query id"):
        write_letor(QueryDataset.from_arrays([[1.0]], [1], qid=[bad]), path)
    assert path.read_text() == "kept"


@pytest.mark.parametrize("bad", ["a b", "a\n5 qid:9 1:7", "a\tb"])
def test_document_ids_that_text_cannot_hold_are_refused(path, bad):
    with pytest.raises(DataError, match="document id"):
        write_letor(QueryDataset.from_arrays([[1.0]], [1], qid=[1], doc_ids=[bad]), path)


@pytest.mark.parametrize("qid", [-5, 2**63 - 1])
def test_every_whole_number_is_an_id_that_reads_back(path, qid):
    write_letor(QueryDataset.from_arrays([[1.0]], [1], qid=[qid]), path)
    assert read_letor(path).query_ids.tolist() == [qid]


# Batches


def long_file(path, rng, n_rows, *, contiguous=True, docs=True):
    sizes = rng.integers(1, 40, n_rows)
    qid = np.repeat(np.arange(n_rows), sizes)[:n_rows]
    if not contiguous:
        qid = rng.integers(0, 50, n_rows)
    X = rng.random((n_rows, 6)).astype(np.float32)
    doc_ids = [f"D{i}" if docs and i % 3 else "" for i in range(n_rows)] if docs else None
    data = QueryDataset.from_arrays(X, rng.integers(0, 5, n_rows), qid=qid, doc_ids=doc_ids)
    write_letor(data, path)
    return data


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n_rows=st.integers(1, 4000),
    limit=st.integers(1 << 18, 1 << 20),
    threads=st.sampled_from([1, 2, 4]),
    contiguous=st.booleans(),
    suffix=st.sampled_from(["", ".gz"]),  # others look back further than such limits allow
    docs=st.booleans(),
)
def test_batches_joined_are_the_file(path, seed, n_rows, limit, threads, contiguous, suffix, docs):
    target, shares = path.with_suffix(".long" + suffix), []
    long_file(target, np.random.default_rng(seed), n_rows, contiguous=contiguous, docs=docs)
    options = {"memory_limit": limit, "threads": threads, "progress": shares.append}
    batches, whole = list(iter_letor(target, **options)), read_letor(target)
    assert_same_data(
        replace(concat(batches), rows=None),
        replace(whole, rows=None),
    )
    assert all(batch.X.nbytes <= limit for batch in batches)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    if contiguous:  # no query is cut
        ids = [i for batch in batches for i in batch.query_ids.tolist()]
        assert ids == whole.query_ids.tolist()
    if n_rows > 3000 and limit < 1 << 19 and contiguous:
        assert len(batches) > 1


def test_the_first_batch_fixes_the_number_of_features(path, rng):
    long_file(path, rng, 3000)
    with path.open("a") as out:
        out.write("1 qid:99999 7:1\n")
    batches = iter_letor(path, memory_limit=1 << 16, threads=1)
    assert next(batches).n_features == 6
    with pytest.raises(ParseError, match="'7:1' is outside 1 to 6") as caught:
        list(batches)
    assert caught.value.line == 3001
    wide = list(iter_letor(path, memory_limit=1 << 16, threads=1, n_features=9))
    assert {batch.n_features for batch in wide} == {9}
    assert wide[-1].X[-1].tolist() == [0] * 6 + [1, 0, 0]


def test_a_query_larger_than_the_limit_is_an_error(path):
    path.write_text("1 qid:1 " + " ".join(f"{i}:0.5" for i in range(1, 30)) + "\n")
    path.write_text(path.read_text() * 20000)
    with pytest.raises(MemoryLimitError):
        list(iter_letor(path, memory_limit=1 << 16))


def test_sparse_text_is_read_within_a_small_limit(path):
    path.write_text("".join(f"1 qid:{i // 10} 1:1 1000:3\n" for i in range(5000)))
    batches = iter_letor(path, memory_limit=1 << 20, threads=2)
    assert sum(batch.n_documents for batch in batches) == 5000


MEASURE = """
import resource, sys
from rankloop.data.io.letor import iter_letor
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, rows = peak(), 0
for batch in iter_letor(sys.argv[1], memory_limit="8MB", threads=2):
    rows += batch.n_documents
print(rows, (peak() - before) * 1024)
"""


def test_memory_stays_constant_over_a_long_file(path, rng):
    long = path.with_name("long.txt")
    piece = b"".join(letor.letor_lines(long_file(path, rng, 20000, docs=False)))
    with long.open("wb") as out:
        for _ in range(30):
            out.write(piece)
    command = [sys.executable, "-c", MEASURE, str(long)]
    rows, grown = map(int, subprocess.run(command, capture_output=True, check=True).stdout.split())
    long.unlink()
    assert rows == 600_000
    assert grown < 16 << 20  # the file is 50 MB, its matrix 14 MB; limit 8 MB and slack


def test_the_core_reads_from_any_source():
    content, place = b"1 qid:1 1:5\n" * 100, 0

    def trickle(buffer):  # a live source gives what it has
        nonlocal place
        n = min(len(buffer), 7, len(content) - place)
        buffer[:n] = content[place : place + n]
        place += n
        return n

    options = {"n_features": 0, "base": -1, "null_value": 0.0, "max_index": 10, "max_bytes": 0}
    reader = _core.LetorReader(
        trickle, **options, skip_bad=False, doc_ids=True, sparse=False, block_bytes=64
    )
    table = reader.read(None, 3)
    assert table["X"].tolist() == [[5.0]] * 100
    assert (reader.finished, reader.lines, reader.bytes_read) == (True, 100, len(content))


def test_what_progress_raises_is_not_about_the_file(path):
    path.write_bytes(b"1 qid:1 1:5\n")

    def progress(_):
        raise BrokenPipeError("nobody looks")

    with pytest.raises(BrokenPipeError, match="nobody looks"):
        list(iter_letor(path, progress=progress))
