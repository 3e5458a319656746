"""The core's digests and checksums beside those of the standard library."""

from __future__ import annotations

import random
import threading
from hashlib import blake2b
from zlib import crc32

import pytest

from rankloop import _core

SIZES = [*range(300), 1000, 4096, 70_000]


def test_digests_and_checksums_are_those_of_the_standard_library():
    chance = random.Random(0)
    texts = [chance.randbytes(n) for n in SIZES]
    assert _core.blake2b_of_each(texts) == [blake2b(t, digest_size=16).digest() for t in texts]
    sums = [crc32(t, crc32(n.to_bytes(8, "little"))) for n, t in enumerate(texts, start=2**40)]
    assert _core.crc32_of_each(2**40, texts) == sums
    assert _core.blake2b_of_each(texts[-1:]) == [blake2b(texts[-1], digest_size=16).digest()]
    assert _core.blake2b_of_each([]) == _core.crc32_of_each(1, []) == []


@pytest.mark.parametrize(
    "call", [_core.blake2b_of_each, lambda texts: _core.crc32_of_each(1, texts)]
)
def test_only_bytes_are_sealed(call):
    with pytest.raises(ValueError, match="bytes"):
        call([b"a", "b"])


def test_a_list_that_changes_meanwhile_does_no_harm():
    texts = [random.Random(n).randbytes(200_000) for n in range(40)]
    expected = _core.blake2b_of_each(texts)
    found = []
    working = threading.Thread(target=lambda: found.append(_core.blake2b_of_each(texts)))
    working.start()
    texts.clear()
    working.join()
    assert found in ([expected], [[]])


def test_a_chain_is_a_digest_of_all_that_was_added():
    words = ["None", "applied", "größer", ""] * 100
    expected = b""
    for position, word in enumerate(words, start=7):
        text = expected + position.to_bytes(8, "little") + word.encode()
        expected = blake2b(text, digest_size=16).digest()
    assert _core.blake2b_chain(b"", 7, words) == expected
    half = _core.blake2b_chain(b"", 7, words[:150])
    assert _core.blake2b_chain(half, 157, words[150:]) == expected
    assert _core.blake2b_chain(half, 157, []) == half
