"""Short queries of every kind for the weak rankers."""

from __future__ import annotations

import numpy as np

import rankloop as rl

GRADES = {"whole": [-1, 0, 0, 0, 1, 2], "real": [-1, 0, 0, 0.25, 1.5, 1.75], "binary": [0, 0, 1]}


def queries(seed=0, grades="whole", n=8, most=7, d=4, *, ties=True, weights=""):
    """Short queries, some empty, unjudged documents and documents alike among them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, most + 1, n)
    m = int(group.sum())
    X = rng.integers(0, 4, (m, d)).astype(float) if ties else rng.normal(size=(m, d))
    if not ties:
        X[rng.random(m) < 0.3] = X[0]
    y = rng.choice(np.array(GRADES[grades], float), m)
    return rl.QueryDataset(
        X.astype(np.float32),
        y,
        np.r_[0, np.cumsum(group)].astype(np.int64),
        np.arange(n),
        sample_weight=rng.integers(0, 3, m).astype(float) if "d" in weights else None,
        query_weight=rng.integers(0, 3, n).astype(float) if "q" in weights else None,
    )


def repeated(data):
    """Weights as counts: each query as often as it weighs, each document as often as it weighs."""
    X, y, qid = [], [], []
    for q, query in enumerate(data):
        counts = np.ones(len(query)) if query.sample_weight is None else query.sample_weight
        rows = np.repeat(np.arange(len(query)), counts.astype(int))
        for copy in range(int(query.weight)):
            X.append(query.X[rows])
            y.append(query.y[rows])
            qid += [100 * q + copy] * len(rows)
    return rl.QueryDataset.from_arrays(np.concatenate(X), np.concatenate(y), qid=qid)


def trained(ranker, data, **options):
    """The ranker, and the objective after each round."""
    told = []
    return ranker.fit(data, on_round=lambda r: told.append(r.objective), **options), told
