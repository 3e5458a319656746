"""Noise is what it says, and touches nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop as rl
from rankloop.data.noise import GRADE_PROBABILITIES
from rankloop.exceptions import DataError


def made_up(sizes, seed=0):
    """The feature tells query and place."""
    rng, n = np.random.default_rng(seed), sum(sizes)
    return rl.QueryDataset.from_arrays(
        np.c_[np.repeat(np.arange(len(sizes)), sizes), np.arange(n)],
        rng.integers(-1, 5, n),
        group=sizes,
        doc_ids=[f"d{i}" for i in range(n)],
        sample_weight=np.arange(n) + 1.0,
        query_weight=np.arange(len(sizes)) + 1.0,
    )


@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=8),
    st.floats(0, 3),
    st.integers(0, 5),
)
def test_negatives_come_from_other_queries(sizes, share, seed):
    data = made_up(sizes)
    if sum(size > 0 for size in sizes) < 2:
        with pytest.raises(DataError, match="at least two queries must have documents"):
            rl.data.add_negatives(data, share, np.random.default_rng(seed))
        return
    more = rl.data.add_negatives(data, share, np.random.default_rng(seed))
    assert more.sizes.tolist() == [m + int(share * m + 0.5) for m in sizes]
    assert np.array_equal(more.query_ids, data.query_ids)
    assert np.array_equal(more.query_weight, data.query_weight)
    for q, (old, new) in enumerate(zip(data, more, strict=True)):
        own, added = slice(0, len(old)), slice(len(old), None)
        assert np.array_equal(new.X[own], old.X)
        assert np.array_equal(new.y[own], old.y)
        assert (new.X[added, 0] != q).all()
        assert not new.y[added].any()
        places = new.X[:, 1].astype(int)
        assert [f"d{i}" for i in places] == list(new.doc_ids)
        assert np.array_equal(new.sample_weight, places + 1.0)


def test_every_other_document_is_as_likely():
    data = made_up([2, 4, 1])
    found = np.zeros(7)
    rng = np.random.default_rng(0)
    for _ in range(400):
        drawn = rl.data.add_negatives(data, 5, rng).query(0).X[2:, 1].astype(int)
        found += np.bincount(drawn, minlength=7)
    assert not found[:2].any()
    share = found[2:] / found.sum()
    assert np.abs(share - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / found.sum())


def test_new_grades_have_their_probabilities():
    n = 40_000
    data = rl.QueryDataset.from_arrays(np.zeros((n, 1)), np.full(n, 7), group=[n])
    y = rl.data.perturb_grades(data, 0.4, np.random.default_rng(0)).y
    for grade, chance in [(7, 0.6), *((g, 0.4 * p) for g, p in enumerate(GRADE_PROBABILITIES))]:
        error = np.sqrt(chance * (1 - chance) / n)
        assert abs((y == grade).mean() - chance) < 4 * error


def test_only_grades_of_judged_documents_change():
    data = made_up([50, 50])
    noisy = rl.data.perturb_grades(data, 1.0, np.random.default_rng(0))
    assert noisy.X is data.X
    assert noisy.doc_ids is data.doc_ids
    assert np.array_equal(noisy.y < 0, data.y < 0)
    assert (noisy.y != data.y).any()
    assert np.array_equal(rl.data.perturb_grades(data, 0.0, np.random.default_rng(0)).y, data.y)


def test_errors():
    data, rng = made_up([2, 2]), np.random.default_rng(0)
    for share in (-0.1, float("nan"), float("inf")):
        with pytest.raises(DataError, match="share must be a number of at least 0"):
            rl.data.add_negatives(data, share, rng)
    with pytest.raises(DataError, match="share must be from 0 to 1"):
        rl.data.perturb_grades(data, 1.5, rng)
    for chances in ((0.5, 0.4), (1.5, -0.5), ((1.0,),)):
        with pytest.raises(DataError, match="sum to 1"):
            rl.data.perturb_grades(data, 0.5, rng, chances)
    for function in (rl.data.add_negatives, rl.data.perturb_grades):
        with pytest.raises(DataError, match="rng must be"):
            function(data, 0.5, 0)
