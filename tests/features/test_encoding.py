"""Rows of a description become finite numbers, dense or sparse: a twin in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop import _core
from rankloop.data.sparse_rows import SparseRows
from rankloop.features import Feature, Features
from rankloop.features.encoding import FEW
from rankloop.features.hashing import bucket_of

NAN = float("nan")


def twin(features, row):
    """Return what a row becomes, by the name of the column; what is missing is 0."""
    out = {}
    for column, x in zip(features, row, strict=True):
        if column.kind == "category":
            if not math.isnan(x) and 0 <= x < column.codes:
                is_own = x < column.own_codes
                out[column.code_names[int(x)]] = 1.0 if is_own else column.bucket_value
            continue
        value = column.default if math.isnan(x) else x
        if column.kind == "date" and not math.isnan(x):
            value = column.origin - x
        value = value if column.low is None else max(value, column.low)
        out[column.encoded_name] = value if column.high is None else min(value, column.high)
        if column.missing == "indicator" and math.isnan(x):
            out[f"{column.name} is missing"] = 1.0
    return out


numbers = st.builds(
    Feature,
    name=st.just(""),
    kind=st.sampled_from(["number", "boolean", "date"]),
    missing=st.sampled_from(["indicator", "default"]),
    default=st.sampled_from([0.0, 1.0, 2.5]),
    low=st.sampled_from([None, -1.0]),
    high=st.sampled_from([None, 3.0]),
    origin=st.sampled_from([0.0, 10.0]),
)
categories = st.builds(
    Feature,
    name=st.just(""),
    kind=st.just("category"),
    categories=st.sampled_from([(), ("a",), ("a", "b")]),
    limit=st.sampled_from([0, 3, FEW + 5]),
    buckets=st.sampled_from([0, 2]),
    bucket_value=st.just(0.5),
    part_of=st.sampled_from(["", ""]),
)


@st.composite
def described(draw):
    columns = draw(st.lists(st.one_of(numbers, categories), max_size=6))
    named = [Feature(**{**vars(c), "name": f"x{j}"}) for j, c in enumerate(columns)]
    value = st.sampled_from([NAN, 0.0, 1.0, 2.0, 4.0, 22.0, 1000.0])
    rows = draw(st.lists(st.lists(value, min_size=len(named), max_size=len(named)), max_size=4))
    return Features(tuple(named)), rows


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(described())
def test_dense_and_sparse_rows_are_those_of_the_twin(case):
    features, rows = case
    X = np.array(rows, np.float32).reshape(len(rows), len(features))
    encoded, names = features.encode(X), features.encoded_names
    assert len(set(names)) == len(names) == encoded.shape[1]
    for row, values in zip(rows, encoded.tolist(), strict=True):
        known = twin(features, row)
        assert [known.get(name, 0.0) for name in names] == values
    starts, columns, values = features.encoding.sparse(X)
    sparse = SparseRows(values, columns, starts, len(names))
    assert np.array_equal(sparse.toarray(), encoded)
    assert np.count_nonzero(encoded) == sparse.nnz


def test_the_order_of_columns():
    features = Features(
        (
            Feature("brand", "category", limit=FEW + 1),
            Feature("sale", "boolean"),
            Feature("size", "category", ("S", "M")),
            Feature("price", missing="indicator"),
        )
    )
    names = features.encoded_names
    assert names[:5] == ["price", "sale", "price is missing", "size = S", "size = M"]
    assert names[5] == "brand: category 1"
    assert (features.encoding.indicators, features.encoding.wide) == (4 + FEW + 1, FEW + 1)


def test_a_list_has_one_column_for_each_category():
    parts = [Feature(f"tags {k}", "category", ("a", "b", "c"), part_of="tags") for k in (1, 2)]
    features = Features((*parts, Feature("price")))
    X = np.array([[0, 2, 5], [1, np.nan, 6], [1, 1, 7]], np.float32)
    assert features.encoded_names == ["price", "tags = a", "tags = b", "tags = c"]
    assert features.encode(X).tolist() == [[5, 1, 0, 1], [6, 0, 1, 0], [7, 0, 1, 0]]
    assert features.native_names == ("tags = a", "tags = b", "tags = c", "price")
    assert features.natural(X).tolist() == [[1, 0, 1, 5], [0, 1, 0, 6], [0, 1, 0, 7]]
    assert features.native_categories == []


@pytest.mark.parametrize(
    ("places", "numbers"),
    [([[0, 0, -1]], [[1, 0, 0, 1, -1]]), ([[2, 0, -1]], None), ([[0, 3, 1]], None)],
)
def test_the_core_refuses_places_outside(places, numbers):
    X = np.zeros((1, 1), np.float32)
    given = np.array(numbers or [[1, 0, 0, -1, 1]], np.float32)
    with pytest.raises(ValueError, match="do not fit"):
        _core.encode_columns(X, np.array(places, np.int32), given, 2)


def test_the_hash_is_the_same_everywhere():
    assert [bucket_of(word, 1000) for word in ("acme", "", "naïve", "日本")] == HASHES
    shares = np.bincount([bucket_of(f"w{k}", 16) for k in range(4000)], minlength=16)
    assert shares.min() > 190
    assert shares.max() < 310


HASHES = [600, 756, 6, 160]
"""What `b2sum -l 64` of coreutils prints, as a little-endian number, modulo 1000."""
