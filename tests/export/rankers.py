"""Fitted rankers of every kind, on data that has missing values and ties where they may occur."""

from __future__ import annotations

import functools

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.rankers.registry import make_ranker

QUERIES, DOCUMENTS, FEATURES = 14, 6, 5

ALONE = {
    "slam": "slam",
    "solar-ii": "solar-ii",
    "ranksvm": "ranksvm",
    "coordinate-ascent": "coordinate-ascent:rounds=2,restarts=1",
    "single-feature": "single-feature",
    "constant": "constant",
    "rankboost": "rankboost:rounds=20",
    "ranknet": "ranknet:hidden=3",
    "standard": "prepared:scale=standard",
    "log": "prepared:scale=log",
    "products": "prepared:maps=['raw','square','0*1']",
    "fourier": "lifted:features=fourier(rbf(1),8)",
}
KERNELS = {
    "nystrom": "lifted:features=nystrom(rbf(1),6)",
    "rbf": "kernel-slam:budget=20",
    "mixed kernel": "kernel-slam:kernel=poly(2)+chi2(1)*linear,budget=20",
    "keeprank": "keeprank",
}
LISTS = {
    "auto": "auto",
    "mix": "mix",
    "maps": "prepared:scale=standard,maps=['minmax','rank','centre']",
    "minmax": "prepared:maps=['raw','minmax']",
}
TREES = {"trees": "lambdamart:trees=8,leaves=4,min_data_in_leaf=2"}

CATEGORIES = {
    "trees": 8,
    "leaves": 4,
    "min_data_in_leaf": 2,
    "categorical": [2],
    "params": {"min_data_per_group": 1, "cat_smooth": 0.0, "cat_l2": 0.0, "max_cat_to_onehot": 1},
}


@functools.cache
def data(missing: bool = False) -> QueryDataset:
    """Give small queries; some values are equal, and some missing if wanted."""
    rng = np.random.default_rng(7)
    n = QUERIES * DOCUMENTS
    X = rng.gamma(1.0, 2.0, (n, FEATURES)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = rng.integers(0, 6, n)
    y = np.clip(np.round(X[:, 0] + 2 * (X[:, 2] % 2) + rng.normal(0, 0.5, n)), 0, 4)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    group = [DOCUMENTS] * QUERIES
    return QueryDataset.from_arrays(X, y, group=group, allow_nan=missing)


@functools.cache
def fitted(text: str, missing: bool = False):
    """Fit a ranker."""
    return make_ranker(text).fit(data(missing))
