"""Numbers and places as JSON: the core beside the standard library."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop import _core

doubles = st.floats(allow_nan=False, allow_infinity=False)


def places(items, rows, scores, first=1, **more):
    rows, scores = np.array(rows, np.int64), np.array(scores, np.float64)
    return json.loads(_core.places_json(items, rows, scores, first, **more))


def test_a_place_says_what_is_known_of_it():
    found = places(
        ["a", "b", "c"],
        [2, 0],
        [0.5, 1.0, 2.0],
        first=11,
        propensities=np.array([0.25, 1.0]),
        teams=np.array([1, 0]),
        names=["price", "age"],
        contributions=np.arange(6.0).reshape(3, 2),
    )
    assert found == [
        {
            "id": "c",
            "rank": 11,
            "score": 2.0,
            "propensity": 0.25,
            "team": 1,
            "contributions": {"price": 4.0, "age": 5.0},
        },
        {
            "id": "a",
            "rank": 12,
            "score": 0.5,
            "propensity": 1.0,
            "team": 0,
            "contributions": {"price": 0.0, "age": 1.0},
        },
    ]
    assert places([], [], []) == places(["a"], [], [1.0]) == []
    assert places(["a"], [0], [math.nan]) == [{"id": "a", "rank": 1, "score": None}]


@given(st.lists(st.tuples(st.text(), doubles), max_size=5))
def test_texts_and_numbers_come_back_as_they_were(pairs):
    texts = [text.encode("utf-8", "replace").decode() for text, _ in pairs]
    found = places(texts, range(len(pairs)), [number for _, number in pairs])
    assert [place["id"] for place in found] == texts
    for place, (_, number) in zip(found, pairs, strict=True):
        assert isinstance(place["score"], float)
        assert struct.pack("d", place["score"]) == struct.pack("d", number)


def test_rows_that_are_no_items_are_refused():
    for row in (-1, 1):
        with pytest.raises(ValueError, match="a row is no item"):
            places(["a"], [row], [1.0])
    with pytest.raises(ValueError, match="scores"):
        places(["a"], [0], [])


written = st.one_of(
    doubles.map(repr),
    doubles.map(lambda x: f"{x:.6f}"),
    doubles.map(lambda x: f"{x:.17e}"),
    st.integers(-(10**30), 10**30).map(str),
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)


@given(st.lists(st.lists(written, min_size=3, max_size=3), min_size=1, max_size=4), st.booleans())
def test_numbers_are_read_as_python_reads_them(rows, spaced):
    comma = " , " if spaced else ","
    text = "".join(f"[{comma.join(row)}]" for row in rows).encode()
    with np.errstate(over="ignore"):
        expected = np.array([[float(number) for number in row] for row in rows]).astype(np.float32)
    found = _core.json_rows(text, len(rows), 3)
    assert found is None or found.tobytes() == expected.tobytes()
    assert found is not None or not all(abs(float(n)) < 1e300 for row in rows for n in row)
