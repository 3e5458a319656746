"""Write a file completely or not at all, even after an error, a kill or on a full disk."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop._utils.arguments import path_text
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replace_when_done(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new file to write to; it replaces `path` if the block ends without an error.

    Until then `path` is unchanged, and it stays unchanged after an error. The new content is on the
    disk before it gets the name, and the name is on the disk before this returns. A new file gets
    its permissions from the umask and an old one keeps them; a symbolic link stays, and its target
    is replaced. A device or a pipe is written directly.

    The new file has no name while it is written, so a process that is killed leaves nothing behind.
    If the system cannot do that (other than Linux, some network file systems), its name begins with
    a dot, and the next process that writes the same file removes what a killed one left.

    Raises
    ------
    DataError
        if the file cannot be made or the disk is full.
    """
    name = path_text(path)
    with _as_our_error(name, OSError, ValueError):
        target = Path(os.path.realpath(name))
        mode = _mode(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise DataError(f"cannot write {path}: it is a folder")
    if mode is not None and stat.S_ISLNK(mode):
        raise DataError(f"cannot write {path}: its symbolic links lead in a circle")
    if mode is not None and not stat.S_ISREG(mode):
        with _as_our_error(path):
            yield target
        return
    with contextlib.ExitStack() as opened:
        with _as_our_error(path, OSError, ValueError):
            folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
            opened.callback(os.close, folder)
            new = _Nameless.make(target, folder) or _Hidden(target)
            opened.callback(new.close)
        with _as_our_error(path):
            yield new.path
        with _as_our_error(path, OSError):
            if mode is not None:
                os.fchmod(new.descriptor, stat.S_IMODE(mode))
            os.fsync(new.descriptor)
            new.take_place()
            os.fsync(folder)


@contextlib.contextmanager
def _as_our_error(path: str | os.PathLike[str], *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds, and those of a full disk, into a DataError."""
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in _NO_ROOM
        if not full and not isinstance(error, kinds):
            raise
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot write {os.fspath(path)}: {reason}") from None


def _mode(target: Path) -> int | None:
    """Return the kind and the permissions of a file; None if there is none."""
    try:
        return target.lstat().st_mode
    except FileNotFoundError:
        return None


class _Nameless:
    """A file without a name, which disappears with the last process that has it open."""

    def __init__(self, descriptor: int, target: Path, folder: int) -> None:
        self.descriptor, self.path = descriptor, Path(f"/proc/self/fd/{descriptor}")
        self._target, self._folder = target, folder

    @classmethod
    def make(cls, target: Path, folder: int) -> _Nameless | None:
        """Make one in the folder, or return None if the file system does not support it."""
        flag = getattr(os, "O_TMPFILE", None)
        if flag is None or not Path("/proc/self/fd").is_dir():
            return None
        try:
            descriptor = os.open(target.parent, flag | os.O_RDWR, 0o666)
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
                return None
            raise
        return cls(descriptor, target, folder)

    def take_place(self) -> None:
        """Give it a name in the folder of the target, then the name of the target.

        All writers of one target use the same first name, one after the other. If a process is
        killed between the two steps, the next one removes the file.
        """
        beside = self._target.with_name(f".{self._target.name}.rankloop-new")
        fcntl.flock(self._folder, fcntl.LOCK_EX)  # until the folder is closed
        beside.unlink(missing_ok=True)
        # a folder is given only because Python then follows the link in /proc
        os.link(self.path, beside, src_dir_fd=self._folder, follow_symlinks=True)
        beside.rename(self._target)

    def close(self) -> None:
        os.close(self.descriptor)


class _Hidden:
    """A file whose name begins with a dot, locked while its writer is alive."""

    def __init__(self, target: Path) -> None:
        self._target, self._prefix = target, f".{target.name}."
        self._remove_those_of_the_dead()
        while True:
            self.path = target.parent / f"{self._prefix}{secrets.token_hex(8)}.partial"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
            self.descriptor = os.open(self.path, flags, 0o666)
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
            if os.fstat(self.descriptor).st_nlink:
                return
            os.close(self.descriptor)  # removed before it was locked

    def take_place(self) -> None:
        """Rename it."""
        self.path.replace(self._target)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)

    def _remove_those_of_the_dead(self) -> None:
        for entry in os.scandir(self._target.parent):
            if not (entry.name.startswith(self._prefix) and entry.name.endswith(".partial")):
                continue
            with contextlib.suppress(OSError):  # its writer is alive, or it is gone or not ours
                descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    Path(entry.path).unlink()
                finally:
                    os.close(descriptor)
