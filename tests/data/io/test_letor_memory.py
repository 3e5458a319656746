"""The memory limit holds: the highest resident size of a process that reads, against the limit."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from rankloop.data import memory
from rankloop.data.io.letor import iter_letor, read_letor
from rankloop.exceptions import MemoryLimitError

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from /proc"
)

MB = 2**20
SLACK = 3 * MB  # what Python's and the C library's allocators keep for themselves

CHILD = """
import json, sys, warnings
from pathlib import Path
from rankloop.data import memory
from rankloop.data.io.letor import iter_letor, read_letor
from rankloop.exceptions import MemoryLimitError

def resident(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))

def measured(call):
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
    before = resident("VmRSS")
    try:
        result = call()
    except MemoryLimitError as error:
        result = str(error)
    return resident("VmHWM") - before, result

def rows_read(way, paths, limit, threads):
    options = {"threads": threads, "skip_bad_rows": True}
    if limit is not None:
        options["memory_limit"] = limit
    if way == "read":
        return read_letor(*paths, **options).n_documents
    return sum(batch.n_documents for batch in iter_letor(*paths, **options))

warnings.simplefilter("ignore")
ways, paths, limits, threads, free, tiny = json.loads(sys.argv[1])
memory.free_memory = lambda: free
for way in ways:
    rows_read(way, [tiny], None, threads)  # what is loaded once is loaded
print(json.dumps({
    way: [measured(lambda: rows_read(way, paths, limit, threads)) for limit in limits]
    for way in ways
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    (folder / "tiny").write_text("1 qid:a 1:1 #docid = x\n0 qid:b 2:1\n1 qid:a 3:1\n")
    return folder


def measure(folder, ways, names, limits, threads=2, free=2**40):
    """Peaks beyond the start and what came of it, by way and limit, in one fresh process."""
    paths = [str(folder / name) for name in names]
    arguments = json.dumps([list(ways), paths, limits, threads, free, str(folder / "tiny")])
    command = [sys.executable, "-c", CHILD, arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def dense(n, query):
    features = " ".join(f"{i}:0.{i:06d}" for i in range(1, 47))
    return (f"{i % 3} qid:{query(i)} {features} #docid = GX{i:08d}\n" for i in range(n))


FILES = {  # what they hold, and MB with which they can be read
    "dense": (lambda: dense(50_000, lambda i: i // 50), 20),
    "scattered queries": (lambda: dense(50_000, lambda i: i * 7919 % 1009), 30),
    "a query a row": (lambda: (f"1 qid:{i} 1:1\n" for i in range(100_000)), 20),
    "long query ids": (lambda: (f"1 qid:{'q' * 200}{i} 1:1\n" for i in range(20_000)), 30),
    "long document ids": (
        lambda: (f"1 qid:{i // 9} 1:1 #docid = {'d' * 300}{i}\n" for i in range(40_000)),
        35,
    ),
    "ids beyond ASCII": (
        lambda: (f"1 qid:{i // 9} 1:1 #docid = {'é中𝄞' * 40}{i}\n" for i in range(30_000)),
        35,
    ),
    "wide and sparse": (lambda: (f"1 qid:{i // 9} 1:1 20000:1\n" for i in range(500)), 50),
    "one wide row after many": (
        lambda: ("1 qid:1 1:1\n" if i < 40_000 else "1 qid:1 500:1\n" for i in range(40_001)),
        98,
    ),
    "one long query": (lambda: ("1 qid:7 1:1 2:0.5 10:3\n" for _ in range(200_000)), 15),
    "long lines": (
        lambda: (
            f"1 qid:{q} {' '.join(f'{i}:0.5' for i in range(1, 60_000))}\n" for q in range(30)
        ),
        20,
    ),
    "mostly bad rows": (
        lambda: ("1 qid:1 1:1\n" if i % 9 == 0 else "x\n" for i in range(900_000)),
        8,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_the_limit_holds_whatever_fills_the_memory(folder, kind):
    lines, suffices = FILES[kind]
    (folder / kind).write_text("".join(lines()))
    limits = [6 * MB, 14 * MB, suffices * MB, 130 * MB]
    for way, ends in measure(folder, ["read", "iter"], [kind], limits).items():
        for limit, (peak, result) in zip(limits, ends, strict=True):
            assert peak < limit + SLACK, (way, limit / MB, result)
            assert isinstance(result, int) or "memory_limit" in result
        rows = {result for _, result in ends if isinstance(result, int)}
        assert len(rows) == 1
        assert isinstance(ends[-2][1], int)  # and it is not met for nothing


@pytest.mark.slow
def test_several_files_share_the_limit(folder):
    for name in ("one", "two", "three"):
        (folder / name).write_text("".join(dense(20_000, lambda i: i // 50)))
    limits = [8 * MB, 20 * MB, 34 * MB]
    ends = measure(folder, ["read"], ["one", "two", "three"], limits)["read"]
    for limit, (peak, result) in zip(limits, ends, strict=True):
        assert peak < limit + SLACK, (limit / MB, result)
    assert ends[-1][1] == 60_000


CODECS = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "xz": lambda data: lzma.compress(data, preset=1),
    "zst": zstandard.ZstdCompressor(level=3).compress,
}


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_a_small_file_that_swells_meets_the_limit(folder, codec):
    name = f"bomb.{codec}"
    (folder / name).write_bytes(CODECS[codec](b"1 qid:1 99999:1\n" * 100_000))  # 37 GB of zeros
    assert (folder / name).stat().st_size < 10_000
    limits = [24 * MB, 120 * MB, None]
    defaults = {"read": 150 * MB, "iter": 256 * MB}  # three quarters of what is free
    for way, ends in measure(folder, defaults, [name], limits, free=200 * MB).items():
        for limit, (peak, result) in zip(limits, ends, strict=True):
            assert peak < (defaults[way] if limit is None else limit) + SLACK
            assert "memory_limit" in result


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_a_line_without_end_is_refused_early(folder, codec):
    name = f"line.{codec}"
    (folder / name).write_bytes(CODECS[codec](b"#" * (64 * MB)))
    with pytest.raises(ValueError, match=r"a line is longer than \d+ KB; is this LETOR text\?"):
        read_letor(folder / name, memory_limit=80 * MB)


@pytest.mark.slow
def test_threads_do_not_multiply_what_is_held(folder):
    (folder / "wide rows").write_text(FILES["long lines"][0]().__next__() * 60)
    for threads in (1, 8):
        (peak, result), *_ = measure(folder, ["read"], ["wide rows"], [24 * MB], threads)["read"]
        assert peak < 24 * MB + SLACK
        assert result == 60


def test_the_default_is_a_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    assert memory.memory_limit_or_default(None) == 750
    assert memory.memory_limit_or_default("2KB") == 2048


@pytest.mark.parametrize("read", [read_letor, lambda path, **k: list(iter_letor(path, **k))])
def test_decompression_counts(tmp_path, read):
    path = tmp_path / "rows.xz"
    path.write_bytes(lzma.compress(b"1 qid:1 1:1\n" * 1000, preset=9))  # looks back 64 MB
    with pytest.raises(MemoryLimitError, match=r"decompressing it takes more than 32.0 MB"):
        read(path, memory_limit="96MB")
    read(path, memory_limit="256MB")
