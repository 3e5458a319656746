"""Writing a file whole or not at all, whatever happens meanwhile: an error, a kill, a full disk."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def replaced_when_done(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new file to write to; it takes the place of `path` if all goes well.

    Until then `path` is as it was, and an error leaves it so. Where the block ends well, the new
    content is on the disk before it has the name, and the name is before this returns. A new file
    gets its permissions by the umask and an old one keeps them; a symbolic link stays, and what it
    leads to is replaced. A device or a pipe is written to as it is.

    The new file has no name while it is written, so a process that is killed leaves nothing. Where
    the system cannot do that (other than Linux, some network file systems), it has a name that
    begins with a dot, and the next one to write the same file removes what the dead left.

    Raises
    ------
    DataError
        where the file cannot be made or does not fit the disk.
    """
    with _as_our_error(path, OSError, ValueError):
        target = Path(os.path.realpath(path))
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
            new = _Nameless.made(target, folder) or _Hidden(target)
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
    """Turn errors of these kinds, and any that says that there is no room, into a DataError."""
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in _NO_ROOM
        if not full and not isinstance(error, kinds):
            raise
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot write {os.fspath(path)}: {reason}") from None


def _mode(target: Path) -> int | None:
    """Return what kind of file there is and who may do what with it; None where there is none."""
    try:
        return target.lstat().st_mode
    except FileNotFoundError:
        return None


class _Nameless:
    """A file without a name: gone with the last process that has it open."""

    def __init__(self, descriptor: int, target: Path, folder: int) -> None:
        self.descriptor, self.path = descriptor, Path(f"/proc/self/fd/{descriptor}")
        self._target, self._folder = target, folder

    @classmethod
    def made(cls, target: Path, folder: int) -> _Nameless | None:
        """Make one in the folder, or return None where the file system knows no such files."""
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
        """Give it a name beside the target, then the target's.

        All who write one target share that first name, one after the other. What a kill between
        the two steps leaves is in the way of the next, who removes it.
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
    """A file whose name begins with a dot, locked as long as its writer lives."""

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
            with contextlib.suppress(OSError):  # of the living, or gone, or not ours
                descriptor = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    Path(entry.path).unlink()
                finally:
                    os.close(descriptor)
