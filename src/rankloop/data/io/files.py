"""Files in and out, compressed or not."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from rankloop.data.io.replacing import replaced_when_done
from rankloop.exceptions import MissingExtraError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst")
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


def bare_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that names the format, compression left aside: `a.txt.gz` -> `.txt`."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix in COMPRESSED_SUFFIXES else name).suffix.lower()


@contextlib.contextmanager
def open_input(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed where its first bytes say so; `-` is stdin.

    A file that is missing, or compressed and damaged, raises a ParseError that names it.
    """
    name = os.fspath(path)
    try:
        raw = sys.stdin.buffer if name == "-" else Path(name).open("rb")  # noqa: SIM115
    except OSError as error:
        raise ParseError(name, None, f"cannot read it: {error.strerror or error}") from None
    with contextlib.nullcontext(raw) if name == "-" else raw:
        head = raw.peek(6)[:6] if isinstance(raw, io.BufferedReader) else b""
        codec = next((suffix for magic, suffix in _MAGIC.items() if head.startswith(magic)), None)
        try:
            yield raw if codec is None else _decompressed(raw, codec)
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise damaged(name, error) from None
        except IsADirectoryError as error:
            raise ParseError(name, None, f"cannot read it: {error.strerror or error}") from None


def damaged(name: str, error: Exception) -> ParseError:
    """Return the error for a compressed file that ends early or is corrupt."""
    return ParseError(
        name,
        None,
        f"the compressed file is truncated or damaged ({error}); nothing was read from it: "
        "get a whole copy",
    )


@contextlib.contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, compressed as its suffix says; `-` is stdout.

    What is written appears under `path` only when the block ends well; an error leaves what was
    there before untouched.
    """
    name = os.fspath(path)
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replaced_when_done(name) as partial, partial.open("wb") as raw:
        stream = _compressed(raw, Path(name).suffix)
        yield stream
        if stream is not raw:
            stream.close()


def _decompressed(raw: IO[bytes], codec: str) -> BinaryIO:
    if codec == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if codec == ".xz":
        return cast("BinaryIO", lzma.LZMAFile(raw))
    return io.BufferedReader(_ZstdInput(raw))


def _compressed(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if suffix == ".xz":
        return cast("BinaryIO", lzma.LZMAFile(raw, "wb"))
    if suffix == ".zst":
        return cast("BinaryIO", _zstandard().open(raw, "wb", closefd=False))
    return raw


class _ZstdInput(io.RawIOBase):
    """Zstandard frames one after the other; unlike the package's own reader, notices a cut file."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._zstandard = raw, _zstandard()
        self._frame: Any = None
        self._pending = b""

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            between_frames = self._frame is None or self._frame.eof
            left_over = self._frame.unused_data if self._frame is not None else b""
            chunk = left_over if between_frames and left_over else self._raw.read(1 << 17)
            if not chunk:
                if between_frames:
                    return 0
                raise EOFError("it ends before its end-of-frame mark")
            if between_frames:
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._pending = self._frame.decompress(chunk)
            except self._zstandard.ZstdError as error:
                raise EOFError(str(error)) from None
        n = min(len(buffer), len(self._pending))
        buffer[:n], self._pending = self._pending[:n], self._pending[n:]
        return n


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "zstd", "zstd compression") from None
    return zstandard
