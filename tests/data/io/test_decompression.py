"""Compressed streams: what they hold, whatever is wrong with them, and how little they take."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zlib

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.io.decompression import DecompressionLimitError, decompress
from rankloop.data.io.files import open_input
from rankloop.exceptions import MemoryLimitError, ParseError

LIMIT = 2**28
DAMAGE = (EOFError, lzma.LZMAError, gzip.BadGzipFile)
CODECS = {
    ".bz2": bz2.compress,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".zst": zstandard.ZstdCompressor(level=1).compress,
}
CHECKED = {".zst": zstandard.ZstdCompressor(write_checksum=True).compress}
each_codec = pytest.mark.parametrize("codec", CODECS)


def content(data, codec, limit=LIMIT):
    return decompress(io.BufferedReader(io.BytesIO(data)), codec, limit).read()


@settings(max_examples=50)
@given(
    parts=st.lists(st.binary(max_size=300) | st.just(b"row\n" * 60_000), min_size=1, max_size=4),
    codec=st.sampled_from(sorted(CODECS)),
)
def test_parts_one_after_the_other_are_one_content(parts, codec):
    assert content(b"".join(map(CODECS[codec], parts)), codec) == b"".join(parts)


@pytest.mark.parametrize("options", [{"write_checksum": True}, {"write_content_size": False}])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_000, 65_792, 3_000_000])
def test_zstd_frames_of_every_form(options, size, rng):
    data = rng.integers(0, 4, size).astype("u1").tobytes()
    frame = zstandard.ZstdCompressor(**options).compress(data)
    skipped = b"\x5a\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"any"
    assert content(frame + skipped + frame, ".zst") == 2 * data
    stream = zstandard.ZstdCompressor(**options).compressobj()
    assert content(stream.compress(data) + stream.flush(), ".zst") == data


def test_xz_streams_may_be_padded():
    part = CODECS[".xz"](b"content")
    assert content(part + bytes(4) + part + bytes(400_000), ".xz") == b"contentcontent"


@each_codec
def test_every_cut_is_noticed(codec, rng):
    whole = CODECS[codec](rng.bytes(300))
    for end in range(1, len(whole)):
        with pytest.raises(DAMAGE):
            content(whole[:end], codec)


@each_codec
def test_every_flipped_bit_is_noticed_or_does_not_matter(codec, rng):
    data = rng.bytes(300)
    whole = CHECKED.get(codec, CODECS[codec])(data)
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        with contextlib.suppress(*DAMAGE, zlib.error, DecompressionLimitError):
            assert content(bytes(flipped), codec) == data  # gzip notes a time and a system


@each_codec
def test_what_follows_the_compressed_data_is_noticed(codec, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(CODECS[codec](b"rows") + b"junk behind it")
    with pytest.raises(ParseError, match="truncated or damaged"), open_input(path) as stream:
        stream.read()


@each_codec
def test_a_piece_at_a_time_is_held(codec):
    bomb = CODECS[codec](bytes(2**27))
    stream = decompress(io.BufferedReader(io.BytesIO(bomb)), codec, LIMIT)
    assert len(stream.read(10)) == 10
    pieces = getattr(getattr(stream, "raw", None), "_pieces", ())
    assert all(len(piece) <= 2**17 for piece in pieces)


@pytest.mark.parametrize("codec", [".xz", ".zst"])
def test_looking_back_further_than_the_limit_is_refused(codec, tmp_path):
    data = bytes(2**22)
    far = {
        ".xz": lambda: lzma.compress(data, preset=6),
        ".zst": lambda: zstandard.ZstdCompressor(level=19).compress(data),
    }
    whole = far[codec]()
    with pytest.raises(DecompressionLimitError):
        content(whole, codec, 2**20)
    assert content(whole, codec, 2**24) == data
    path = tmp_path / "file"
    path.write_bytes(whole)
    with (
        pytest.raises(MemoryLimitError, match=r"decompressing it takes more than 1.0 MB; raise"),
        open_input(path, decompression_limit=2**20) as stream,
    ):
        stream.read()
