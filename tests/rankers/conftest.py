"""Data that trees learn from in moments."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl


def noisy(
    n=40, d=5, seed=0, *, sizes=range(2, 15), grades=3, sample_weight=False, query_weight=False
):
    """Queries whose grades follow a score that bends, with noise."""
    rng = np.random.default_rng(seed)
    group = rng.choice(list(sizes), n)
    m = group.sum()
    X = rng.normal(size=(m, d)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=m)), 0, 3)
    return rl.QueryDataset(
        X,
        y,
        np.r_[0, np.cumsum(group)].astype(np.int64),
        np.arange(n),
        feature_names=tuple("abcdefghijklmnop"[:d]),
        sample_weight=rng.integers(1, 4, m).astype(float) if sample_weight else None,
        query_weight=rng.integers(1, 4, n).astype(float) if query_weight else None,
    )


@pytest.fixture(name="noisy")
def _noisy():
    return noisy


@pytest.fixture(scope="session")
def train():
    return noisy(60, seed=1)


@pytest.fixture(scope="session")
def valid():
    return noisy(40, seed=2)
