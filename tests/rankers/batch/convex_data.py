"""Data for the smooth batch rankers."""

from __future__ import annotations

import numpy as np

import rankloop as rl


def noisy(n=40, d=5, seed=0, *, weights=False, unjudged=0.1, sizes=range(1, 15)):
    """Queries whose grades follow a linear score, with noise; of one grade, some of them."""
    rng = np.random.default_rng(seed)
    group = rng.choice(list(sizes), n)
    m = group.sum()
    X = rng.normal(size=(m, d)).astype(np.float32) * 2.0 ** np.arange(d)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=m)), 0, 3)
    y[rng.random(m) < unjudged] = -1
    return rl.QueryDataset(
        X.astype(np.float32),
        y,
        np.r_[0, np.cumsum(group)].astype(np.int64),
        np.arange(n),
        feature_names=tuple("abcdefghijklmnop"[:d]),
        sample_weight=rng.integers(0, 4, m).astype(float) if weights else None,
        query_weight=rng.integers(0, 4, n).astype(float) if weights else None,
    )
