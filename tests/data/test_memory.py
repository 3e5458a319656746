"""Sizes in words, and what exceeds a limit."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.memory import check_fits, parse_size, show_size
from rankloop.exceptions import DataError, MemoryLimitError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[(1, 1), (np.int64(7), 7), (2.5e9, 2_500_000_000), ("12", 12), ("1KB", 1024)],
        *[("2 GiB", 2**31), ("1.5m", 3 * 2**19), (" 4T ", 2**42), (10**30, 2**62)],
    ],
)
def test_sizes_that_can_be_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "much", "-1GB", "GB", "1 EB", "1e9", 0, -5, np.nan, None, [1], "٣GB"]
)
def test_sizes_that_cannot(text):
    with pytest.raises(DataError, match=r"cannot read .* as a size|must be positive"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (2048, "2.0 KB"), (2**50, "1024.0 TB")]
)
def test_sizes_for_people(size, text):
    assert show_size(size) == text


def test_what_stands_beside_the_matrix_counts():
    check_fits(10, 5, 200)
    with pytest.raises(MemoryLimitError, match=r"takes 201 bytes with its ids and grades, but"):
        check_fits(10, 5, 200, more=1)
    with pytest.raises(MemoryLimitError, match=r"takes 200 bytes, but the limit is 199 bytes; sel"):
        check_fits(10, 5, 199)
    with pytest.raises(MemoryLimitError, match=r"three quarters of the free memory"):
        check_fits(10**9, 10**9)


def test_a_ranking_does_not_ask_what_is_free(monkeypatch):
    def ask():
        raise AssertionError("in a container this takes ten times as long as a ranking")

    monkeypatch.setattr("rankloop.data.memory.free_memory", ask)
    X = np.random.default_rng(0).normal(size=(20, 46))
    ranker = rl.Slam().learn(X, np.arange(20) % 3)
    assert sorted(ranker.rank(X).order) == list(range(20))
    with pytest.raises(AssertionError, match="in a container"):
        check_fits(10**6, 10**3)
