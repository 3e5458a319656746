"""A file is replaced whole or not at all: by its name, its permissions and on the disk."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rankloop.data.io import replacing
from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError


@pytest.fixture(params=["nameless", "hidden"])
def way(request, monkeypatch):
    """Both ways to write beside a file; `hidden` is that of systems without nameless files."""
    if request.param == "hidden":
        monkeypatch.setattr(replacing._Nameless, "make", lambda *_: None)
    return request.param


def write(path, content=b"new"):
    with replace_when_done(path) as partial:
        partial.write_bytes(content)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_new_file_takes_the_place_of_the_old_one(tmp_path, way):
    path = tmp_path / "file"
    for content in (b"old", b"new"):
        write(path, content)
        assert (path.read_bytes(), names(tmp_path)) == (content, ["file"])


def test_an_error_leaves_the_old_file_and_nothing_beside(tmp_path, way):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def interrupted(error):
        with replace_when_done(path) as partial:
            partial.write_bytes(b"new")
            assert path.read_bytes() == b"old"
            raise error

    for error in (RuntimeError("midway"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            interrupted(error)
        assert (path.read_bytes(), names(tmp_path)) == (b"old", ["file"])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755, 0o666])
def test_permissions_of_an_old_file_stay(tmp_path, way, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077, 0o002])
def test_those_of_a_new_file_are_by_the_umask(tmp_path, way, umask):
    before = os.umask(umask)
    try:
        write(tmp_path / "file")
        (tmp_path / "other").write_bytes(b"x")
        assert os.umask(umask) == umask  # and not changed
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "other")]
    assert modes == [0o666 & ~umask] * 2


@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_stays_and_leads_to_the_new_content(tmp_path, way, there):
    for folder in "ab":
        (tmp_path / folder).mkdir()
    target, link = tmp_path / "a" / "file", tmp_path / "b" / "link"
    if there:
        target.write_bytes(b"old")
    (tmp_path / "b" / "second").symlink_to("../a/file")
    link.symlink_to("second")
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == link.read_bytes() == b"new"
    assert (names(tmp_path / "a"), names(tmp_path / "b")) == (["file"], ["link", "second"])


def test_a_device_is_written_to_and_stays_one(tmp_path):
    write("/dev/null", b"x" * 1000)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(DataError, match="cannot write /dev/full: No space left on device"):
        write("/dev/full", b"x" * 100_000)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (".", "it is a folder"),
        ("missing/file", "No such file or directory"),
        ("nul\0", "embedded null"),
        ("loop", "its symbolic links lead in a circle"),
        ("x" * 300, "File name too long"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path, way, path, says):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(DataError, match=f"cannot write .*({says})"):
        write(f"{tmp_path}/{path}")
    assert names(tmp_path) == ["loop"]


def test_content_is_on_the_disk_before_it_has_the_name(tmp_path, way, monkeypatch):
    path, done, fsync = tmp_path / "file", [], os.fsync

    def spy(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        done.append((kind, path.exists(), os.fstat(descriptor).st_size if kind == "file" else None))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    write(path, b"12345")
    assert done == [("file", False, 5), ("folder", True, None)]


# Killed

KILLED = """
import os, signal, sys
from rankloop.data.io import replacing
if sys.argv[2] == "hidden":
    replacing._Nameless.make = lambda *_: None
with replacing.replace_when_done(sys.argv[1]) as partial:
    partial.write_bytes(b"new" * 100_000)
    if sys.argv[3] == "inside":
        os.kill(os.getpid(), signal.SIGKILL)
    os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["inside", "at the end"])
def test_a_kill_leaves_the_old_file_and_in_the_end_nothing_else(tmp_path, way, when):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), way, when])
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    if way == "nameless":
        assert names(tmp_path) == ["file"]
    else:
        assert len(names(tmp_path)) == 2
    write(path)
    assert (path.read_bytes(), names(tmp_path)) == (b"new", ["file"])


def test_a_kill_between_two_names_is_mended_by_the_next(tmp_path):
    (tmp_path / ".file.rankloop-new").write_bytes(b"whole, but not in place")
    write(tmp_path / "file")
    assert ((tmp_path / "file").read_bytes(), names(tmp_path)) == (b"new", ["file"])


def test_what_others_are_still_writing_is_left_to_them(tmp_path, way):
    path = tmp_path / "file"
    with replace_when_done(path) as outer:
        outer.write_bytes(b"first")
        write(path, b"second")
        assert path.read_bytes() == b"second"
    assert (path.read_bytes(), names(tmp_path)) == (b"first", ["file"])


def test_many_writers_at_once(tmp_path, way):
    path, contents, errors = tmp_path / "file", [bytes([k]) * 50_000 for k in range(8)], []
    write(path, contents[0])

    def rewrite(content):
        try:
            for _ in range(30):
                write(path, content)
                assert path.read_bytes() in contents
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=rewrite, args=[content]) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert (path.read_bytes() in contents, names(tmp_path)) == (True, ["file"])


# A full disk

FULL = """
import resource, signal, sys
from rankloop.data.io import replacing
from rankloop.exceptions import DataError
if sys.argv[2] == "hidden":
    replacing._Nameless.make = lambda *_: None
if len(sys.argv) > 3:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    with replacing.replace_when_done(sys.argv[1]) as partial:
        partial.write_bytes(b"new" * 100_000)
except DataError as error:
    print(error)
"""


def test_a_file_beyond_the_limit_leaves_the_old_one(tmp_path, way):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", FULL, str(path), way, "limited"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"cannot write {path}: File too large\n"
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["file"])


def test_a_full_disk_leaves_the_old_file(tmp_path, way):
    mount = "mount -t tmpfs -o size=128k none $1 && echo -n old > $1/file"
    script = f'{mount} || exit 9; "$2" -c "$3" "$1/file" "$4" && cat $1/file && ls -A $1'
    isolated = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "-"]
    try:
        done = subprocess.run(
            [*isolated, str(tmp_path), sys.executable, FULL, way], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if done.returncode in (1, 9) and "DataError" not in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    said = f"cannot write {tmp_path}/file: No space left on device\n"
    assert (done.returncode, done.stdout) == (0, f"{said}oldfile\n")
