"""Compressed files as streams of bytes, in bounded memory; an incomplete file is an error.

However large its content is, at most 128 KB of it are held at a time. A file whose decompression
needs a longer history than the limit is refused (xz and zstd files choose its length).
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from rankloop.exceptions import DataError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


_PIECE = 2**17
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class DecompressionLimitError(Exception):
    """The decompression of a file needs more memory than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def decompress(raw: BinaryIO, codec: str, limit: int) -> BinaryIO:
    """Return the content of a compressed file: `.gz`, `.bz2`, `.xz`, `.zst` or `.zip`.

    Reading it raises EOFError, OSError, LZMAError, zlib.error, BadZipFile or BadGzipFile if the
    file is incomplete or damaged, and DecompressionLimitError if its decompression needs more bytes
    than the limit.
    """
    if codec == ".gz":  # which looks back 32 KB
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if codec == ".zip":
        return _only_member(raw)
    if codec == ".bz2":  # which has blocks of at most 900 KB
        pieces = _bzip2_pieces(raw)
    else:
        pieces = _xz_pieces(raw, limit) if codec == ".xz" else _zstd_pieces(raw, limit)
    return cast("BinaryIO", io.BufferedReader(_Pieces(raw, pieces, limit)))


def memory_taken(stream: BinaryIO) -> int:
    """Return the bytes that decompressing a stream may take; 0 if it is not compressed."""
    if isinstance(stream, gzip.GzipFile | zipfile.ZipExtFile):
        return _PIECE
    pieces = getattr(stream, "raw", None)
    return pieces.limit + _PIECE if isinstance(pieces, _Pieces) else 0


def _only_member(raw: BinaryIO) -> BinaryIO:
    """Return the only file of an archive."""
    if not raw.seekable():
        raise DataError("a zip archive cannot be read from standard input; unpack it first")
    archive = zipfile.ZipFile(raw)
    members = [member for member in archive.infolist() if not member.is_dir()]
    names = [member.filename for member in members]
    if any(name.startswith(("xl/", "word/")) for name in names):
        raise DataError("it is a document of an office program; save the table as CSV")
    if len(members) != 1:
        shown = f": {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if names else ""
        raise DataError(
            f"the zip archive has {len(members)} files{shown}; expected one: unpack it, and name "
            "the files to read"
        )
    if members[0].flag_bits & 1:
        raise DataError("the zip archive is encrypted; unpack it first")
    if members[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError("the zip archive has another compression than deflate; unpack it first")
    return cast("BinaryIO", archive.open(members[0]))


class _Pieces(io.RawIOBase):
    """Pieces of content as one stream."""

    def __init__(self, raw: IO[bytes], pieces: Iterator[bytes], limit: int) -> None:
        self._raw, self._pieces, self.limit = raw, pieces, limit
        self._pending = memoryview(b"")

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._pending = memoryview(piece)
        n = min(len(buffer), len(self._pending))
        buffer[:n], self._pending = self._pending[:n], self._pending[n:]
        return n


def _xz_pieces(raw: IO[bytes], limit: int) -> Iterator[bytes]:
    """Yield the content of streams one after the other, with optional zeros between them."""
    chunk = raw.read(_PIECE)
    while chunk:
        decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limit)
        while not decoder.eof:
            if not chunk and decoder.needs_input:
                raise EOFError("it ends before its end-of-stream mark")
            try:
                yield decoder.decompress(chunk, _PIECE)
            except lzma.LZMAError as error:
                if "memory usage limit" in str(error).lower():
                    raise DecompressionLimitError(limit) from None
                raise
            chunk = raw.read(_PIECE) if decoder.needs_input and not decoder.eof else b""
        chunk = decoder.unused_data.lstrip(b"\0")
        while not chunk and (more := raw.read(_PIECE)):
            chunk = more.lstrip(b"\0")


def _bzip2_pieces(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of streams one after the other."""
    chunk = raw.read(_PIECE)
    while chunk:
        decoder = bz2.BZ2Decompressor()
        while not decoder.eof:
            if not chunk and decoder.needs_input:
                raise EOFError("it ends before its end-of-stream mark")
            try:
                yield decoder.decompress(chunk, _PIECE)
            except OSError as error:
                raise EOFError(str(error)) from None
            chunk = raw.read(_PIECE) if decoder.needs_input and not decoder.eof else b""
        chunk = decoder.unused_data or raw.read(_PIECE)


def _zstd_pieces(raw: IO[bytes], limit: int) -> Iterator[bytes]:
    """Yield the content of frames one after the other, block by block.

    A block holds at most 128 KB. The decoder gets one block at a time, because it decodes all its
    input at once, and a few bytes can become gigabytes.
    """
    zstandard = zstandard_package()
    decompressor = zstandard.ZstdDecompressor(max_window_size=min(max(limit, 2**10), 2**31))
    while magic := raw.read(4):
        if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:  # a frame to be skipped
            for size in _parts(int.from_bytes(_exactly(raw, 4), "little")):
                _exactly(raw, size)
            continue
        frame = decompressor.decompressobj()
        try:
            yield from (frame.decompress(part) for part in _zstd_blocks(raw, magic))
        except zstandard.ZstdError as error:
            if "too much memory" in str(error):
                raise DecompressionLimitError(limit) from None
            raise EOFError(str(error)) from None
        if not frame.eof:
            raise EOFError("it ends before its end-of-frame mark")


def _zstd_blocks(raw: IO[bytes], magic: bytes) -> Iterator[bytes]:
    """Yield the header of a frame, its blocks and its checksum, as defined in RFC 8878."""
    if magic != _ZSTD_MAGIC:
        raise EOFError("other data follows the compressed data")
    (descriptor,) = _exactly(raw, 1)
    single_segment = descriptor >> 5 & 1
    size_bytes = (single_segment, 2, 4, 8)[descriptor >> 6]
    header = (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + size_bytes
    yield magic + bytes([descriptor]) + _exactly(raw, header)
    last = False
    while not last:
        head = _exactly(raw, 3)
        number = int.from_bytes(head, "little")
        last, repeats_a_byte, size = bool(number & 1), number >> 1 & 3 == 1, number >> 3
        yield head + _exactly(raw, 1 if repeats_a_byte else size)
    if descriptor & 4:
        yield _exactly(raw, 4)


def _exactly(raw: IO[bytes], n: int) -> bytes:
    data = raw.read(n)
    if len(data) < n:
        raise EOFError("it ends in the middle of a frame")
    return data


def _parts(n: int) -> Iterator[int]:
    while n > 0:
        yield min(n, _PIECE)
        n -= _PIECE


def zstandard_package() -> ModuleType:
    """Return the package zstandard, or raise an error that says how to install it."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "zstd", "zstd compression") from None
    return zstandard
