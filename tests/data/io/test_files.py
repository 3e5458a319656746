from __future__ import annotations

import gzip
import io
import lzma
import subprocess
import sys

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data.io import files
from rankloop.data.io.files import bare_suffix, open_input, open_output
from rankloop.exceptions import DataError, MissingExtraError, ParseError

SUFFIXES = ["", ".gz", ".xz", ".zst"]
CODECS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
each_suffix = pytest.mark.parametrize("suffix", SUFFIXES)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def content_of(path):
    with open_input(path) as stream:
        return stream.read()


def write(path, *pieces):
    """Write pieces; an exception among them is raised midway."""
    with open_output(path) as out:
        for piece in pieces:
            if isinstance(piece, BaseException):
                raise piece
            out.write(piece)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@given(pieces=st.lists(st.binary(max_size=300), max_size=4), suffix=st.sampled_from(SUFFIXES))
def test_what_is_written_is_read(folder, pieces, suffix):
    content = b"x" + b"".join(pieces)  # not by chance a compressed file's first bytes
    path = folder / f"file{suffix}"
    write(path, b"x", *pieces)
    assert content_of(path) == content
    assert (path.read_bytes() == content) == (suffix == "")


@pytest.mark.parametrize("named", [".txt", *SUFFIXES[1:]])
@each_suffix
def test_compression_is_known_by_content_not_by_name(tmp_path, suffix, named):
    path = tmp_path / f"file{named}"
    path.write_bytes(CODECS[suffix](b"2 qid:1 1:1\n" * 1000))
    assert content_of(path) == b"2 qid:1 1:1\n" * 1000


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_several_compressed_parts_are_one_file(tmp_path, suffix):
    path, compress = tmp_path / "file", CODECS[suffix]
    path.write_bytes(compress(b"one ") + compress(b"") + compress(b"two" * 100_000))
    assert content_of(path) == b"one " + b"two" * 100_000


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_every_cut_is_noticed(tmp_path, suffix, rng):
    path, whole = tmp_path / "file", CODECS[suffix](rng.bytes(2000))
    for end in [7, 100, len(whole) // 2, len(whole) - 5, len(whole) - 1]:
        path.write_bytes(whole[:end])
        with pytest.raises(ParseError, match="truncated or damaged") as caught:
            content_of(path)
        assert caught.value.path == str(path)


@pytest.mark.parametrize(
    "suffix",
    [
        ".gz",
        ".xz",
        ".zst",
    ],
)
def test_output_is_the_same_each_time(tmp_path, suffix):
    written = []
    for _ in range(2):
        write(tmp_path / f"file{suffix}", b"content")
        written.append((tmp_path / f"file{suffix}").read_bytes())
    assert written[0] == written[1]


def test_an_empty_file(tmp_path):
    (tmp_path / "empty").touch()
    assert content_of(tmp_path / "empty") == b""


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(ParseError, match="No such file") as caught:
        content_of(tmp_path / "missing")
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "missing"), None)
    with pytest.raises(ParseError, match="Is a directory"):
        content_of(tmp_path)
    with pytest.raises(DataError, match="it is a folder"):
        write(tmp_path, b"x")
    with pytest.raises(DataError, match="No such file"):
        write(tmp_path / "missing" / "file", b"x")


# Whole or not at all


@each_suffix
def test_an_error_midway_leaves_the_old_file(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="midway"):
        write(path, b"new" * 100_000, RuntimeError("midway"))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == [path.name]


@each_suffix
def test_an_error_midway_leaves_no_new_file(tmp_path, suffix):
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / f"file{suffix}", b"new", KeyboardInterrupt())
    assert names(tmp_path) == []


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with open_output(path) as out:
        out.write(b"new")
        out.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


# Standard input and output


def run(code, *arguments, content=b""):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


ROWS = b"2 qid:10 1:0.5 #docid = A\n0 qid:10 2:0.25 #docid = B\n1 qid:x 1:7 #docid = C\n"


def test_a_pipe_from_standard_input_to_standard_output():
    copy = "from rankloop.data.io.letor import *; write_letor(read_letor('-'), '-', sparse=True)"
    assert run(copy, content=ROWS) == ROWS
    count = (
        "from rankloop.data.io.letor import *\n"
        "print([(b.n_documents, b.query_ids.tolist()) for b in iter_letor('-')])"
    )
    assert run(count, content=ROWS) == b"[(3, ['10', 'x'])]\n"


def test_a_file_as_standard_input(tmp_path):
    (tmp_path / "rows").write_bytes(ROWS)
    code = "from rankloop.data.io.letor import *; print(read_letor('-').doc_ids.tolist())"
    with (tmp_path / "rows").open("rb") as stdin:
        out = subprocess.run([sys.executable, "-c", code], stdin=stdin, capture_output=True)
    assert out.stdout == b"['A', 'B', 'C']\n"


def test_an_error_in_standard_input_names_it():
    code = (
        "from rankloop import read_letor\nfrom rankloop.exceptions import ParseError\n"
        "try: read_letor('-')\n"
        "except ParseError as e: print(e.path, e.line)"
    )
    assert run(code, content=ROWS + b"x\n") == b"- 4\n"


def test_standard_input_and_output_stay_open(monkeypatch):
    class Stdio:
        buffer = io.BytesIO(b"content")

    monkeypatch.setattr(sys, "stdin", Stdio)
    with open_input("-") as stream:
        assert stream.read() == b"content"
    assert not Stdio.buffer.closed


# Names and extras


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.txt", ".txt"), ("a.txt.gz", ".txt"), ("b/a.TSV.zst", ".tsv"), ("a.xz", ""), ("a", "")],
)
def test_bare_suffix(name, suffix):
    assert bare_suffix(name) == suffix


def test_without_zstandard_the_error_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(CODECS[".zst"](b"x"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankloop\[zstd\]'"):
        content_of(tmp_path / "file")
    with pytest.raises(MissingExtraError):
        write(tmp_path / "new.zst", b"x")
    assert names(tmp_path) == ["file"]


def test_the_magic_numbers_are_the_codecs():
    magic = {suffix: start for start, suffix in files._MAGIC.items()}
    for suffix, compress in CODECS.items():
        assert suffix == "" or compress(b"x").startswith(magic[suffix])
