"""Digests and checksums of the core are those of Python's own libraries, bit for bit."""

from __future__ import annotations

import zlib
from hashlib import blake2b

import pytest

from rankloop import _core

SIZES = [0, 1, 7, 127, 128, 129, 255, 256, 257, 1000, 18_700]


@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 9, 40])
def test_digests_of_messages_of_all_sizes_together(n, rng):
    texts = [rng.bytes(int(size)) for size in rng.choice(SIZES, n)]
    expected = [blake2b(text, digest_size=16).digest() for text in texts]
    assert _core.digests(texts) == expected


def test_checksums_continue_from_position_and_time(rng):
    texts = [rng.bytes(size) for size in [*range(40), *SIZES]]
    times = [int(time) for time in rng.integers(0, 2**42, len(texts))]
    expected = [
        zlib.crc32(text, zlib.crc32(b"%d %d" % (7 + k, at)))
        for k, (text, at) in enumerate(zip(texts, times, strict=True))
    ]
    assert _core.checksums(7, times, texts) == expected


def test_what_is_no_list_of_bytes_is_refused():
    with pytest.raises(ValueError, match="a list of bytes"):
        _core.digests(["text"])
    with pytest.raises(ValueError, match="one time a text"):
        _core.checksums(1, [1, 2], [b"a"])
