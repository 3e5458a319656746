from __future__ import annotations

import gzip
import io
import lzma
import re
import warnings
from unittest import mock

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop import _core
from rankloop.data.io import letor
from rankloop.data.io.letor import iter_letor, read_letor
from rankloop.exceptions import BadRowsWarning, DataError, MemoryLimitError, ParseError

from .letor_twin import assert_same, naive_read

GOOD = b"".join(b"%d qid:%d 1:0.5 2:%d #docid = D%d\n" % (i % 3, i // 4, i, i) for i in range(60))
BAD_ROWS = {
    "nan": (b"1 qid:1 1:nan", "feature 1 is 'nan'; expected a finite number, or NULL"),
    "inf": (b"1 qid:1 2:-inf", "feature 2 is '-inf'; expected a finite number"),
    "hexadecimal": (b"1 qid:1 1:0x10", "feature 1 is '0x10'"),
    "underscore": (b"1 qid:1 1:1_0", "feature 1 is '1_0'"),
    "half an exponent": (b"1 qid:1 1:1e", "feature 1 is '1e'"),
    "two points": (b"1 qid:1 1:1.2.3", "feature 1 is '1.2.3'"),
    "comma": (b"1 qid:1 1:0,5", "feature 1 is '0,5'"),
    "no value": (b"1 qid:1 3:", "feature 3 is ''"),
    "no value before another": (b"1 qid:1 1: 2:5", "feature 1 is ''"),
    "Microsoft's infinity": (b"1 qid:1 1:1.#INF 2:7", "feature 1 is '1.#INF'; expected a finite"),
    "Microsoft's NaN": (b"1 qid:1 1:-1.#IND00 2:7", "feature 1 is '-1.#IND00'; expected a finite"),
    "Microsoft's quiet NaN": (
        b"1 qid:1 1:1.#QNAN 2:7",
        "with nan as the value for NULL it is",
    ),
    "# inside a value": (b"1 qid:1 1:0.5#docid = A", "feature 1 is '0.5#docid'"),
    "# after a grade": (b"1# qid:1 1:1", "'1#' where the grade should be"),
    "# in a query id": (b"1 qid:a#b 1:1", "'a#b' has a '#'; put a blank before a comment"),
    "# in an index": (b"1 qid:1 1#2:1", "'1#2:1' where a feature should be"),
    "too large": (b"1 qid:1 1:3.5e38", "too large for a 32-bit float"),
    "1e39": (b"1 qid:1 1:1e39", "feature 1 is '1e39', too large for a 32-bit float"),
    "1e308": (b"1 qid:1 1:-1e308", "feature 1 is '-1e308', too large for a 32-bit float"),
    "1e400": (b"1 qid:1 1:1e400", "feature 1 is '1e400', too large for a 32-bit float"),
    "40 digits": (b"1 qid:1 1:" + b"9" * 40, f"'{'9' * 40}', too large for a 32-bit float"),
    "400 digits": (b"1 qid:1 1:-1" + b"0" * 400, "0...', too large for a 32-bit float"),
    "400 digits and a point": (b"1 qid:1 1:" + b"1" * 400 + b".5", "too large for a 32-bit float"),
    "rounds to infinity": (b"1 qid:1 1:-3.4028235677973366e38", "too large for a 32-bit float"),
    "grade a word": (b"good qid:1 1:1", "'good' where the grade should be"),
    "grade nan": (b"nan qid:1 1:1", "'nan' where the grade should be; expected a finite number"),
    "grade infinite": (b"1e999 qid:1 1:1", "'1e999' where the grade should be"),
    "no grade": (b"qid:1 1:1", "'qid:1' where the grade should be"),
    "twice": (b"1 qid:1 1:1 1:2", "feature 1 stands twice"),
    "twice, apart": (b"1 qid:1 3:1 1:1 2:5 3:2", "feature 3 stands twice"),
    "beyond max_index": (b"1 qid:1 51:1", "outside 0 to 50; correct it, or change max_index"),
    "negative index": (b"1 qid:1 -1:1", "'-1:1' where a feature should be"),
    "index a word": (b"1 qid:1 x:1", "'x:1' where a feature should be; expected index:value"),
    "index a fraction": (b"1 qid:1 1.5:1", "'1.5:1' where a feature should be"),
    "huge index": (b"1 qid:1 99999999999999999999:1", "where a feature should be"),
    "no colon": (b"1 qid:1 0.5", "'0.5' where a feature should be"),
    "qid among features": (b"1 1:1 qid:1", "'qid:1' among the features"),
    "two qids": (b"1 qid:1 qid:2 1:1", "'qid:2' among the features"),
    "empty qid": (b"1 qid: 1:1", "'qid:' without an id"),
    "qid not UTF-8": (b"1 qid:\xff\xfe 1:1", r"'\xff\xfe' is not UTF-8"),
    "qid a surrogate": (b"1 qid:\xed\xa0\x80 1:1", "is not UTF-8"),
    "qid cut short": (b"1 qid:\xc3 1:1", "is not UTF-8"),
    "no qid": (b"1 1:1", "no query id, while others have"),
    "rubbish": (b"\x00\x01\xf0\x9f", r"'\x00\x01\xf0\x9f' where the grade should be"),
}
LAYOUTS = [(1, 1 << 18), (1, 30), (2, 30), (4, 100)]  # threads, bytes a block
each_layout = pytest.mark.parametrize(("threads", "block"), LAYOUTS)


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("letor") / "file.txt"


def read(path, content, block=1 << 18, **options):
    path.write_bytes(content)
    with mock.patch.object(letor, "_BLOCK", block):
        return read_letor(path, **options)


def with_line(bad, at):
    """The good rows with another in front of row `at`, which is line `at + 1` then."""
    lines = GOOD.splitlines(keepends=True)
    return b"".join([*lines[:at], bad + b"\n", *lines[at:]])


@pytest.mark.matrix
@each_layout
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_row_is_named_or_left_out(path, kind, threads, block):
    bad, message = BAD_ROWS[kind]
    for at in (0, 37, 60):
        options = {"threads": threads, "max_index": 50}
        with pytest.raises(ParseError) as caught:
            read(path, with_line(bad, at), block, **options)
        assert caught.value.path == str(path)
        assert caught.value.line == at + 1
        assert str(caught.value).startswith(f"{path}:{at + 1}: ")
        assert message in str(caught.value)
        with pytest.warns(BadRowsWarning) as seen:
            data = read(path, with_line(bad, at), block, skip_bad_rows=True, **options)
        assert len(seen) == 1
        assert f"1 bad row left out of 61; line {at + 1}: " in str(seen[0].message)
        assert_same(data, naive_read(GOOD))


@each_layout
def test_indices_beyond_the_number_of_features(path, threads, block):
    options = {"n_features": 2, "threads": threads}
    with pytest.raises(ParseError, match=r"'3:1' is outside 0 to 2.*n_features") as caught:
        read(path, with_line(b"1 qid:1 3:1", 41), block, **options)
    assert caught.value.line == 42
    with pytest.raises(ParseError, match=r"'2:0' is outside 0 to 1.*zero_based"):
        read(path, GOOD, block, zero_based=True, **options)
    with pytest.raises(ParseError, match="'0:1' is outside 1 to") as caught:
        read(path, with_line(b"1 qid:1 0:1", 41), block, zero_based=False, threads=threads)
    assert caught.value.line == 42
    with pytest.warns(BadRowsWarning, match="2 bad rows left out of 62"):
        data = read(path, GOOD + b"1 qid:1 3:1\n" * 2, block, skip_bad_rows=True, **options)
    assert_same(data, naive_read(GOOD))


def test_the_line_where_indices_turn_out_to_be_too_many(path):
    content = b"1 qid:1 1:5\n1 qid:1 0:5\n2 qid:1 3:5\n"
    with pytest.raises(ParseError) as caught:
        read(path, content, n_features=3)
    assert caught.value.line == 3


@settings(max_examples=40)
@given(
    places=st.lists(st.integers(0, 59), min_size=1, max_size=12, unique=True),
    kinds=st.lists(st.sampled_from(sorted(set(BAD_ROWS) - {"no qid"})), min_size=12, max_size=12),
    layout=st.sampled_from(LAYOUTS) | st.tuples(st.integers(1, 4), st.integers(1, 500)),
)
def test_the_first_bad_row_is_named_and_all_are_counted(path, places, kinds, layout):
    lines = GOOD.splitlines()
    for place, kind in zip(places, kinds, strict=False):
        lines[place] = BAD_ROWS[kind][0]
    content, (threads, block) = b"\n".join(lines), layout
    options = {"threads": threads, "max_index": 50}
    with pytest.raises(ParseError) as caught:
        read(path, content, block, **options)
    assert caught.value.line == min(places) + 1
    with pytest.warns(BadRowsWarning, match=f" {len(places)} bad rows? left out of 60; ") as seen:
        data = read(path, content, block, skip_bad_rows=True, **options)
    named = [f"line {place + 1}:" in str(seen[0].message) for place in sorted(places)]
    assert named == [i < 3 for i in range(len(places))]
    good = [line for i, line in enumerate(GOOD.splitlines()) if i not in places]
    assert_same(data, naive_read(b"\n".join(good)))


def test_a_row_without_query_id_can_be_the_first_bad_row(path):
    with pytest.raises(ParseError) as caught:
        read(path, b"1 qid:1 1:5\n1 1:6\n2 qid:1 1:x\n")
    assert caught.value.line == 2


def test_lines_count_blank_ones_and_comments(path):
    with pytest.raises(ParseError) as caught:
        read(path, b"\n# comment\r\n1 qid:1 1:1\r\n\r\n  \n1 qid:1 1:x\n", 4, threads=2)
    assert caught.value.line == 6


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_name_the_line_in_the_file_and_count_bad_rows(path, threads):
    content = GOOD * 100 + b"1 qid:1 1:x\n" + GOOD * 100
    path.write_bytes(content)
    options = {"memory_limit": 1 << 16, "threads": threads}
    with pytest.raises(ParseError) as caught:
        list(iter_letor(path, **options))
    assert caught.value.line == 6001
    with pytest.warns(BadRowsWarning, match=r"1 bad row .*line 6001: feature 1 is 'x'"):
        batches = list(iter_letor(path, skip_bad_rows=True, **options))
    assert sum(batch.n_documents for batch in batches) == 12000


@pytest.mark.parametrize("n", [100, 2000])
def test_batches_without_query_ids_after_batches_with_them(path, n):
    rows = b"".join(b"1 qid:%03d 1:%07d\n" % (i // 9, i) for i in range(8000))
    path.write_bytes(rows + b"1 1:0000001\n" * n)
    batches = iter_letor(path, memory_limit=1 << 18, threads=1)
    assert next(batches).n_documents < 8000
    with pytest.raises(ParseError, match="no query id, while others have") as caught:
        list(batches)
    assert caught.value.line == 8001
    with pytest.warns(BadRowsWarning, match=r"bad rows? left out .*no query id"):
        batches = list(iter_letor(path, memory_limit=1 << 18, threads=1, skip_bad_rows=True))
    assert sum(batch.n_documents for batch in batches) == 8000


def test_rows_without_query_ids_before_rows_with_them(path):
    content = b"1 1:5\n1 1:6\n2 qid:1 1:7\n1 1:8\n"
    with pytest.raises(ParseError, match="no query id, while others have") as caught:
        read(path, content)
    assert caught.value.line == 1
    with pytest.warns(BadRowsWarning, match="3 bad rows left out of 4; line 1: the row has no"):
        data = read(path, content, 6, skip_bad_rows=True)
    assert data.X.tolist() == [[7]]


def test_batches_without_any_query_id_say_so(path):
    path.write_bytes(b"1 1:1\n" * 100_000)
    with pytest.raises(MemoryLimitError, match=r"its first [\d,]+ rows have no query id"):
        list(iter_letor(path, memory_limit=1 << 19))


# Whole files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty; expected rows such as"),
        (b"# a\n\n# b\n", "none of its 3 lines is a usable row"),
        (b" \r\n\t\n", "none of its 2 lines is a usable row"),
    ],
)
def test_files_without_rows(path, content, message):
    with pytest.raises(ParseError, match=message) as caught:
        read(path, content)
    assert caught.value.line is None
    with pytest.raises(ParseError, match=message):
        list(iter_letor(path))


def test_no_row_is_usable(path):
    with (
        pytest.warns(BadRowsWarning, match="2 bad rows left out of 2"),
        pytest.raises(ParseError, match="none of its 2 lines is a usable row"),
    ):
        read(path, b"x\ny\n", skip_bad_rows=True)


def test_binary_rubbish(path, rng):
    with pytest.raises(ParseError, match="where the grade should be") as caught:
        read(path, b"\x00" + rng.bytes(100_000))
    assert caught.value.line == 1
    assert len(str(caught.value)) < len(str(path)) + 400


def test_a_missing_file_and_a_folder(path):
    with pytest.raises(ParseError, match="No such file"):
        read_letor(path.with_name("missing.txt"))
    with pytest.raises(ParseError, match="Is a directory"):
        read_letor(path.parent)
    with pytest.raises(DataError, match="at least one path"):
        read_letor()


CODECS = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress}


@pytest.mark.matrix
@pytest.mark.parametrize("read_all", [read_letor, lambda *a, **k: list(iter_letor(*a, **k))])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("codec", CODECS)
def test_truncated_and_corrupt_files(path, rng, codec, threads, read_all):
    # Random digits do not compress, so that a cut leaves many good rows in front of it.
    rows = b"".join(b"1 qid:1 1:%r\n" % x for x in rng.random(20_000).tolist())
    whole = CODECS[codec](rows)
    for content in (whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(content)
        with pytest.raises(ParseError, match="truncated or damaged") as caught:
            read_all(path, threads=threads)
        assert caught.value.path == str(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    path.write_bytes(flipped)
    with pytest.raises(ParseError) as caught:  # a wrong row where deflate makes one of it
        read_all(path, threads=threads)
    damaged = ["truncated or damaged", "CRC check failed"]
    assert caught.value.line or any(text in str(caught.value) for text in damaged)


def test_a_bad_row_goes_before_a_source_that_fails_later():
    content = b"1 qid:1 1:1\n" * 349_999 + b"x\n"  # long enough for another thread to read on

    stream = io.BytesIO(content)

    def readinto(buffer):
        n = stream.readinto(buffer)
        if n == 0:
            raise OSError("the disk broke")
        return n

    options = {"n_features": 0, "base": -1, "null_value": 0.0, "max_index": 10, "max_bytes": 0}
    options |= {"skip_bad": False, "doc_ids": True, "sparse": False, "block_bytes": 1 << 18}
    reader = _core.LetorReader(readinto, **options)
    assert reader.read(None, 4)["error"][0] == 350_000


@pytest.mark.parametrize("damage", ["checksum", "trailing"])
def test_damage_of_gzip_files_is_called_so(path, damage):
    content = bytearray(gzip.compress(GOOD))
    content[-6] ^= 1
    path.write_bytes(content if damage == "checksum" else gzip.compress(GOOD) + b"junk")
    with pytest.raises(ParseError, match="truncated or damaged"):
        read_letor(path)


# Query sizes beside the file

ROWS = b"2 1:1\n1 1:2\n0 1:3\n"


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.txt"
    path.write_bytes(ROWS)
    return path


def test_without_query_ids_and_side_file(plain):
    with pytest.raises(
        ParseError, match=r"no row has a query id.*plain.txt.query and .*plain.txt.group"
    ):
        read_letor(plain)


@pytest.mark.parametrize("suffix", [".query", ".group"])
@pytest.mark.parametrize("sizes", [b"2\n1\n", b"2\r\n1", b" 2 1 "])
def test_side_files(plain, suffix, sizes):
    plain.with_name(plain.name + suffix).write_bytes(sizes)
    data = read_letor(plain)
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.query_ids.tolist() == [0, 1]


def test_a_side_file_by_name_goes_first(plain, tmp_path):
    (tmp_path / "plain.txt.query").write_text("3")
    (tmp_path / "sizes").write_text("1\n1\n1\n")
    assert read_letor(plain, query_file=tmp_path / "sizes").n_queries == 3
    assert read_letor(plain).n_queries == 1
    with pytest.raises(DataError, match="belongs to one file"):
        read_letor(plain, plain, query_file=tmp_path / "sizes")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("2\n2\n", "add up to 4 rows, but there are 3"),
        ("", "add up to 0 rows"),
        ("4\n-1\n", "must not be negative"),
        ("2\nx\n", "expected one query size per line"),
        ("1.5\n1.5\n", "expected one query size per line"),
        ("9" * 30, "size"),
    ],
)
def test_wrong_side_files(plain, sizes, message):
    plain.with_name("plain.txt.query").write_text(sizes)
    with pytest.raises(DataError, match=message):
        read_letor(plain)


# Limits and options


@pytest.mark.slow
@each_layout
def test_the_memory_limit(path, threads, block):
    rows = GOOD * 100
    with pytest.raises(MemoryLimitError, match=r"limit of 200.0 KB after .*iter_letor.*memory_lim"):
        read(path, rows, block, threads=threads, memory_limit="200KB")
    data = read(path, rows, block, threads=threads, memory_limit="4MB")  # with the sort by query
    assert_same(data, naive_read(rows))


@pytest.mark.slow
def test_bringing_queries_together_counts(path):
    rows = b"".join(b"1 qid:%d 1:1\n" % (i % 2) for i in range(2000))
    message = r"bringing the rows of each query together takes more than the limit"
    for limit in range(200_000, 800_000, 2000):
        try:
            data = read(path, rows, 64, threads=1, memory_limit=limit)
        except MemoryLimitError as error:
            refused = str(error)
    assert data.offsets.tolist() == [0, 1000, 2000]
    assert re.search(message, refused)  # the last to be met


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 0}, "n_features must be at least 1; found 0"),
        ({"n_features": -3}, "n_features must be at least 1"),
        ({"max_index": 0}, "max_index must be at least 1"),
        ({"max_index": 10**8}, "max_index must be at most"),
        ({"max_index": "9"}, "max_index must be a whole number; found '9'"),
        ({"sparse": "yes"}, "sparse must be True, False or 'auto'; found 'yes'"),
        ({"n_features": 2.5}, "n_features must be a whole number; found 2.5"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"threads": 10**6}, "threads must be at most 1,024; found 1,000,000"),
        ({"null": np.inf}, "null must be a number that float32 can hold, or NaN; found inf"),
        ({"null": 1e39}, "null must be a number that float32 can hold"),
        ({"null": "none"}, "null must be a number"),
        ({"memory_limit": "much"}, "cannot read 'much' as a size"),
        ({"memory_limit": 0}, "must be positive"),
    ],
)
def test_options_that_cannot_be(path, options, message):
    path.write_bytes(GOOD)
    with pytest.raises(DataError, match=message):
        read_letor(path, **options)
    with pytest.raises(DataError, match=message):
        list(iter_letor(path, **options))


def test_good_files_give_no_warning(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read(path, GOOD, skip_bad_rows=True)
    assert np.isfinite(data.X).all()
