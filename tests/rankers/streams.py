"""Streams of made-up queries of every shape, and the rankers to run on them."""

from __future__ import annotations

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.registry import online_names, ranker_class

GRADES = {
    "five": [0, 0, 0, 1, 2, 3, 4],
    "binary": [0, 0, 1],
    "one": [1],
    "real": [0, 0.25, 0.5, 1.75, 3.5],
}

# (sizes of the lists, features, queries)
SHAPES = {
    "short": (range(6), 7, 60),  # empty queries and single documents among them
    "forty": ([40], 30, 6),  # pairs in Gram space: 32 <= m <= 4 d
    "many": ([0, 1, 12, 40], 20, 200),  # enough for a second thread that prepares queries
    "long": ([33, 70, 100], 6, 4),  # m > 1.6 d: SOLAR-II in feature space
    "wide": ([12], 40, 8),  # more features than documents
}

LINEAR = [name for name in online_names() if issubclass(ranker_class(name), LinearRanker)]
KERNEL = ["kernel-slam", "kernel-minimax", "kernel-solar-i", "kernel-predtron"]


def stream(shape="short", grades="five", *, seed=0, whole=False, unjudged=0.1, ties=False):
    """A data set; `whole` features are small whole numbers, so that scores tie and are exact."""
    sizes, d, n = SHAPES[shape]
    rng = np.random.default_rng(seed)
    group = rng.choice(list(sizes), n)
    m = group.sum()
    X = rng.integers(-2, 3, (m, d)) if whole else rng.normal(size=(m, d))
    if ties:
        X = np.repeat(X[:1], m, axis=0)
    y = rng.choice(np.array(GRADES[grades], float), m)
    y[rng.random(m) < unjudged] = -1
    offsets = np.r_[0, np.cumsum(group)].astype(np.int64)
    return QueryDataset(X.astype(np.float32), y, offsets, np.arange(n))
