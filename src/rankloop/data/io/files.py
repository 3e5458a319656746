"""Files in and out, compressed or not."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from rankloop._utils.arguments import path_text
from rankloop.data.io.decompression import (
    DecompressionLimitError,
    decompress,
    zstandard_package,
)
from rankloop.data.io.replacing import replace_when_done
from rankloop.data.memory import show_size
from rankloop.exceptions import DataError, MemoryLimitError, ParseError, RankloopError

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zip")
DECOMPRESSION_LIMIT = 2**28
_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"PK\x03\x04": ".zip",
    b"PK\x05\x06": ".zip",  # without files
}


def bare_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of the format, without that of the compression: `a.txt.gz` -> `.txt`."""
    name = Path(path_text(path))
    return (name.with_suffix("") if name.suffix in COMPRESSED_SUFFIXES else name).suffix.lower()


@contextlib.contextmanager
def open_input(
    path: str | os.PathLike[str], decompression_limit: int = DECOMPRESSION_LIMIT
) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, and decompress it if it is compressed; `-` is stdin.

    Every error, from an impossible name to a disk that fails, becomes a ParseError that names the
    file. So the block should do nothing but read.

    Parameters
    ----------
    path : the file
    decompression_limit : bytes that decompression may use; xz and zstd files say how much they
        need, and a file that needs more raises a MemoryLimitError
    """
    name = os.fspath(path)
    try:
        with _open(name) as raw:
            head = raw.peek(6)[:6] if isinstance(raw, io.BufferedReader) else b""
            codec = next((code for magic, code in _MAGIC.items() if head.startswith(magic)), None)
            yield raw if codec is None else _decompress(name, raw, codec, decompression_limit)
    except gzip.BadGzipFile as error:
        raise damage_error(name, error) from None
    except OSError as error:
        raise unreadable(name, error) from None
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise damage_error(name, error) from None
    except DecompressionLimitError as error:
        raise MemoryLimitError(
            f"{name}: decompressing it takes more than {show_size(error.limit)}; raise "
            "memory_limit where there is one, or decompress the file first"
        ) from None
    except RankloopError:
        raise
    except MemoryError:
        raise MemoryLimitError(
            f"{name}: there is not enough memory to read it; read it in parts"
        ) from None


def _decompress(name: str, raw: BinaryIO, codec: str, limit: int) -> BinaryIO:
    try:
        return decompress(raw, codec, limit)
    except DataError as error:
        raise ParseError(name, None, str(error)) from None


@contextlib.contextmanager
def _open(name: str) -> Iterator[BinaryIO]:
    if name != "-":
        try:
            raw = Path(name).open("rb")  # noqa: SIM115
        except ValueError as error:  # a NUL, or what the file system's encoding lacks
            raise unreadable(name, error) from None
        with raw:
            yield raw
        return
    stdin = getattr(sys.stdin, "buffer", None)
    if stdin is None or stdin.closed:
        raise ParseError(name, None, "cannot read it: standard input is closed; name a file")
    yield stdin


def damage_error(name: str, error: Exception) -> ParseError:
    """Return the error for a compressed file that ends early or is corrupt."""
    return ParseError(
        name,
        None,
        f"the compressed file is truncated or damaged ({error}); nothing was read from it: "
        "get a complete copy",
    )


def unreadable(name: str, error: Exception) -> ParseError:
    """Return the error for a file that cannot be opened or read."""
    return ParseError(name, None, f"cannot read it: {getattr(error, 'strerror', None) or error}")


@contextlib.contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, compressed as its suffix says; `-` is stdout.

    The file gets its name `path` only when the block ends without an error; an error leaves an
    old file unchanged.
    """
    name = path_text(path)
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if Path(name).suffix == ".zip":
        raise DataError(f"zip archives are read, but not written; end {name!r} in .gz, .xz or .zst")
    with replace_when_done(name) as partial, partial.open("wb") as raw:
        stream = _compress(raw, Path(name).suffix)
        try:
            yield stream
        except BaseException:
            with contextlib.suppress(Exception):  # what was written so far is given up
                stream.close()
            raise
        stream.close()


def _compress(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if suffix == ".bz2":
        return cast("BinaryIO", bz2.BZ2File(raw, "wb"))
    if suffix == ".xz":
        return cast("BinaryIO", lzma.LZMAFile(raw, "wb"))
    if suffix == ".zst":
        return cast("BinaryIO", zstandard_package().open(raw, "wb", closefd=False))
    return raw
