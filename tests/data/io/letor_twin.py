"""A naive twin of the LETOR reader, written from its docstrings, and files to compare them on."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MISSING = 1.79769e308  # Istella writes the largest double for a missing value


@dataclass
class Twin:
    X: np.ndarray
    y: np.ndarray
    query_ids: list
    offsets: list
    rows: list
    doc_ids: list | None


def number(text):
    assert NUMBER.fullmatch(text), text
    return float(text)


def feature(text, null):
    """One value: np.float32 of what Python reads, NULL and Istella's largest double missing."""
    if text.lower() == "null" or math.inf > abs(number(text)) >= MISSING:
        return np.float32(null)
    return np.float32(number(text))


def doc_id(comment):
    match = re.search(r"docid[ \t]*=[ \t]*([^ \t\r]+)", comment)
    return match[1] if match else ""


def naive_read(content, *, zero_based=None, null=0.0, n_features=None):
    """Read good LETOR text: split lines, split words, one dictionary per row."""
    grades, qids, features, docs = [], [], [], []
    for line in content.decode().split("\n"):
        row, comment = re.fullmatch(r"(.*?)((?:^|(?<=[ \t\r]))#.*)?", line).groups("")
        words = row.split()
        if not words:
            continue
        assert words[1].startswith("qid:")
        grades.append(number(words[0]))
        qids.append(words[1][4:])
        pairs = [word.split(":") for word in words[2:]]
        features.append({int(index): feature(text, null) for index, text in pairs})
        docs.append(doc_id(comment))
    indices = [index for row in features for index in row]
    if zero_based is None:
        zero_based = 0 in indices
    first = 0 if zero_based else 1
    width = n_features or (max(indices) - first + 1 if indices else 0)
    X = np.zeros((len(grades), width), np.float32)
    for i, row in enumerate(features):
        for index, value in row.items():
            X[i, index - first] = value
    queries = list(dict.fromkeys(qids))
    rows = [i for query in queries for i, qid in enumerate(qids) if qid == query]
    plain = all(
        re.fullmatch("0|-?[1-9][0-9]{0,18}", query) and -(2**63) <= int(query) < 2**63
        for query in queries
    )
    return Twin(
        X[rows],
        np.array(grades)[rows],
        [int(query) for query in queries] if plain else queries,
        np.cumsum([0, *(qids.count(query) for query in queries)]).tolist(),
        rows,
        [docs[i] for i in rows] if any(docs) else None,
    )


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same(data, twin):
    """The data set read is the twin's, bit for bit."""
    assert same_bits(data.X, twin.X)
    assert same_bits(data.y, twin.y)
    assert data.query_ids.tolist() == twin.query_ids
    assert data.offsets.tolist() == twin.offsets
    rows = range(len(data.y)) if data.rows is None else data.rows.tolist()
    assert list(rows) == twin.rows
    assert (None if data.doc_ids is None else data.doc_ids.tolist()) == twin.doc_ids


def fits_float32(text):
    value = abs(float(text))
    return (
        math.inf > value >= MISSING or value < 3.4028235677973366e38
    )  # else it rounds to infinity


_digits = st.text("0123456789", min_size=1, max_size=30)
_decimals = st.builds(
    lambda sign, whole, dot, fraction, exponent: sign + whole + dot + fraction + exponent,
    st.sampled_from(["", "", "-", "+"]),
    _digits,
    st.just("."),
    st.just("") | _digits,
    st.just("")
    | st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "e-"]), st.integers(0, 60)),
)
decimals = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: str(np.float32(x))),
    st.floats(-3e38, 3e38).map(repr),
    st.floats(-1e6, 1e6).map("{:.6f}".format),
    st.floats(-1e6, 1e6).map("{:.17g}".format),
    st.floats(-1e-36, 1e-36).map("{:.25e}".format),
    _decimals.filter(fits_float32),
    st.builds("{}.{}".format, st.integers(0, 10**25), _digits).filter(fits_float32),
)
"""The text of a number that float32 can hold."""

_special = st.sampled_from(
    [
        *("NULL", "0", "-0", "-0.0", "+3", "007", "00.50", ".5", "5.", "1e0", "1E2", "0e999"),
        *("1e-45", "7e-46", "1.4e-45", "1e-400", "-1e-38", "1.17549435e-38", "3.4028235e38"),
        *("1.79769e+308", "1.797693134862315708e+308"),
        *("1.00000005960464477539062", "1.000000059604644775390626"),  # around half a unit
    ]
)
_blanks = st.sampled_from([" ", " ", " ", "  ", "\t", " \t "])
_grades = st.sampled_from(["0", "1", "2", "-1", "4", "0.5", "+3", "1e-3", "31", "2.0", "-0"]) | (
    st.floats(-100, 1e6).map(repr)
)
_words = st.text("abcXYZ019-_.:=é中", min_size=1, max_size=20)
_comments = st.one_of(
    st.just(""),
    st.just(""),
    st.builds("#docid = {} inc = 1 prob = 0.2".format, _words),
    st.builds("#docid={}".format, _words),
    st.builds("# docid \t=  {} ".format, _words),
    st.sampled_from(["#", "# no id here", "#docid", "#docid =", "# 3:5 qid:7"]),
)
_qids = st.one_of(
    st.integers(0, 5).map(str),
    st.integers(0, 10**18).map(str) | st.just("123456789012345678"),
    st.sampled_from(["a", "b", "007", "q-1", "x:y", "é", "99999999999999999999"]),
)


@st.composite
def _rows(draw, qids, lowest, highest):
    indices = draw(st.lists(st.integers(lowest, highest), unique=True, max_size=6))
    if draw(st.booleans()):
        indices.sort()
    words = [draw(_grades), "qid:" + draw(qids)]
    for index in indices:
        zeros = draw(st.sampled_from(["", "", "", "0", "00"]))
        words.append(f"{zeros}{index}:{draw(decimals | _special)}")
    lead, tail = draw(st.sampled_from(["", "", " ", "\t"])), draw(st.sampled_from(["", "", " "]))
    comment = draw(_comments)
    return lead + draw(_blanks).join(words) + (draw(_blanks) + comment if comment else tail)


@st.composite
def letor_files(draw, *, min_rows=1, max_rows=12):
    """Bytes of a whole, good LETOR file with at least one row."""
    lowest = draw(st.integers(0, 1))
    highest = draw(st.integers(lowest, 9) | st.just(40))
    qids = st.sampled_from(draw(st.lists(_qids, min_size=1, max_size=4)))
    rows = draw(st.lists(_rows(qids, lowest, highest), min_size=min_rows, max_size=max_rows))
    lines = []
    for row in rows:
        lines += draw(
            st.lists(st.sampled_from(["", " ", "# comment", "\t#docid = no"]), max_size=1)
        )
        lines.append(row)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()
