"""Whatever cannot be read is an error of ours that names it, through every reader."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankloop as rl
from rankloop.data.io import files
from rankloop.data.io.formats import read_batches
from rankloop.data.io.scores import read_scores
from rankloop.exceptions import DataError, ParseError

READERS = {
    "read": rl.read,
    "read_batches": lambda path: list(read_batches(path)),
    "read_letor": rl.read_letor,
    "iter_letor": lambda path: list(rl.data.iter_letor(path)),
    "read_table": rl.read_table,
    "iter_table": lambda path: list(rl.data.iter_table(path)),
    "read_qrels": rl.data.read_qrels,
    "read_run": rl.data.read_run,
    "read_scores": read_scores,
}
each_reader = pytest.mark.parametrize("reader", READERS)
ROWS = b"2 qid:10 1:0.5 #docid = A\n0 qid:10 2:0.25 #docid = B\n"


@each_reader
@pytest.mark.parametrize(
    "name",
    ["missing", "a\0b", "\ud800", "x" * 5000, "file/below", "", "/proc/self/mem", "/proc/self"],
)
def test_names_and_files_that_cannot_be_read(reader, name, tmp_path):
    (tmp_path / "file").write_bytes(ROWS)
    path = name if name.startswith("/") else f"{tmp_path}/{name}" if name else ""
    if name.startswith("/") and not Path(name).exists():
        pytest.skip("this system has no /proc")
    with pytest.raises(ParseError) as caught:
        READERS[reader](path)
    assert caught.value.path in (path, str(Path(path)))
    assert "\n" not in str(caught.value)


@each_reader
def test_a_folder(reader, tmp_path):
    with pytest.raises(ParseError, match=r"Is a directory|contains no data files"):
        READERS[reader](tmp_path)


@each_reader
def test_a_file_that_may_not_be_read(reader, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(ROWS)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(io, "open", refuse)  # as root may read everything
    with pytest.raises(ParseError, match="cannot read it: Permission denied") as caught:
        READERS[reader](path)
    assert caught.value.path == str(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read(tmp_path):
    tmp_path.chmod(0)
    with pytest.raises(ParseError, match="cannot read it: Permission denied"):
        rl.read(tmp_path)


@each_reader
def test_a_disk_that_fails_midway(reader, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(ROWS)

    class Failing(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, _):
            raise OSError(5, "Input/output error")

    def opened(*_, **__):
        return io.BufferedReader(Failing())

    monkeypatch.setattr(io, "open", opened)
    with pytest.raises(ParseError, match="cannot read it: Input/output error"):
        READERS[reader](path)


STREAMED = [name for name in READERS if "table" not in name]


@pytest.mark.parametrize("reader", STREAMED)
@pytest.mark.parametrize("stdin", ["none", "closed", "text only"])
def test_standard_input_that_cannot_be_read(reader, stdin, monkeypatch):
    closed = io.TextIOWrapper(io.BytesIO())
    closed.buffer.close()
    kinds = {"none": None, "closed": closed, "text only": io.StringIO("1 qid:1 1:1\n")}
    monkeypatch.setattr(sys, "stdin", kinds[stdin])
    with pytest.raises(ParseError, match="standard input is closed; name a file") as caught:
        READERS[reader]("-")
    assert caught.value.path == "-"


def test_a_process_without_standard_input():
    code = "try: rl.read_letor('-')\nexcept rl.exceptions.ParseError as error: print(error)"
    closed = f'exec {sys.executable} -c "import rankloop as rl\n{code}" <&-'
    done = subprocess.run(["sh", "-c", closed], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("-: cannot read it: ")


LIMITED = """
import os, resource, sys
import rankloop as rl
path, more, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rl.read_letor(path + ".small", threads=1)  # what is loaded once is loaded
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))
try:
    print(rl.read_letor(path, threads=threads, memory_limit="8GB").n_documents)
except rl.exceptions.MemoryLimitError as error:
    print(error)
"""
on_linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def read_with_address_space(path, row, more, threads):
    """Read 50,000 rows in a process that can take so many more bytes."""
    path.write_bytes(row * 50_000)
    Path(f"{path}.small").write_bytes(row)
    command = [sys.executable, "-c", LIMITED, str(path), str(more), str(threads)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@on_linux
def test_threads_that_cannot_be_started_are_done_without(tmp_path):
    rows = read_with_address_space(tmp_path / "file", b"1 qid:1 1:1\n", 64 << 20, 1000)
    assert rows == "50000\n"  # a thread's stack takes 8 MB


@on_linux
def test_memory_that_is_not_there_is_an_error_of_ours(tmp_path):
    path = tmp_path / "file"
    said = read_with_address_space(path, b"1 qid:1 1:1 5000:1\n", 300 << 20, 1)  # of 1 GB
    assert said.startswith(f"{path}: there is not enough memory to read it")


def test_errors_are_errors_about_data():
    assert issubclass(ParseError, DataError)
    assert files.unreadable("name", OSError(5, "why")).path == "name"
