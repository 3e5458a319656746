"""Model files that nobody wrote: each is refused with a ModelError, or makes a ranker that works.

Every ranker is saved, then its file is changed: bytes of the zip, values of the manifest, headers
and contents of arrays, lines of trees; checksums and sizes are made right again in most cases, so
that what lies behind them is tried too. Whatever can be loaded has to rank, explain itself, learn
and be saved, or say why not in an error of ours.

    python -m tests.fuzz.models --cases 20000
"""

from __future__ import annotations

import contextlib
import warnings
from functools import cache

import numpy as np

import rankloop as rl
from rankloop.exceptions import ModelError, RankloopError
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.registry import make_ranker, ranker_names

from .harness import main
from .mutations import mutated

QUERIES, FEATURES = 30, 5
VARIANTS = [
    "slam:average=True",
    "solar-ii:covariance=diagonal",
    "solar-ii:average=True",
    "kernel-slam:budget=20,removal=forgetron",
    "kernel-slam:budget=20,removal=merging",
    "kernel-slam:budget=none,average=True",
    "kernel-minimax:kernel=poly(2)+linear,budget=8,removal=random",
    "prepared:maps=['nystrom(rbf(2),12)','raw','fourier(rbf(2),6)']",
    "prepared:maps=['rank','0*1'],scale=standard",
    "prepared:scale=standard,maps=['raw','rank']",
    "lifted:features=orthogonal(rbf(1),8)",
    "ranknet:hidden=3",
    "keeprank:normalise=False,average=False",
    "lambdamart:trees=3,leaves=4,categorical=[4]",
    "lambdamart:trees=3,leaves=4,params={'linear_tree': True}",
    "xendcg-boost:trees=3,increasing=[0]",
    "xendcg-boost:trees=3,params={'boosting': 'dart'}",
    "lambdamart:trees=3,leaves=5",
]
FOREST = {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}
SETTINGS = {"blend": {"seeds": 1}, "lambdamart:trees=3,leaves=5": {"params": FOREST}}
RANKERS = [*ranker_names(), *VARIANTS]


def data(seed=0, n_features=FEATURES):
    """A few queries; the last feature is a category."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8 * QUERIES, n_features)).astype(np.float32)
    if n_features:
        X[:, -1] = rng.integers(0, 9, len(X))
    y = np.clip(np.round(X[:, :2].sum(axis=1) + 1), 0, 3)
    return rl.QueryDataset.from_arrays(X, y, group=[8] * QUERIES)


def prepare(folder):
    """Save every ranker once."""
    queries = data()
    for number, text in enumerate(RANKERS):
        ranker = make_ranker(text).set_params(**SETTINGS.get(text, {}))
        if "trees" in ranker._parameters():
            ranker.set_params(trees=3)
        ranker.fit(queries).save(folder / f"{number}.rlm")


@cache
def original(folder, number):
    """The bytes of a saved ranker."""
    return (folder / f"{number}.rlm").read_bytes()


def label(case):
    """The ranker whose file a case changes."""
    return RANKERS[case % len(RANKERS)]


def outcome(case, folder):
    """Load one changed file, and use what it holds."""
    warnings.simplefilter("ignore")  # numbers may be huge
    rng = np.random.default_rng([case, 2])
    whole = original(folder, case % len(RANKERS))
    others = original(folder, int(rng.integers(len(RANKERS))))
    how, changed = mutated(whole, others, rng)
    path = folder / "changed.rlm"
    path.write_bytes(changed)
    try:
        ranker = rl.load(path)
    except ModelError as error:
        if "MemoryError" in str(error):
            raise
        return f"{how}: refused"
    try:
        use(ranker, rng)
    except RankloopError:
        return f"{how}: loaded, refused to work"
    return f"{how}: works"


def use(ranker, rng):
    """Rank, explain, learn and save."""
    width = getattr(ranker, "n_features_in_", FEATURES)
    queries = data(1, width).select(slice(0, 3))
    with contextlib.suppress(RankloopError):
        ranker.predict(queries)
        ranker.rank(queries.query(0))
        if hasattr(ranker, "explain"):
            ranker.explain()
        repr(ranker)
    if isinstance(ranker, OnlineRanker):
        with contextlib.suppress(RankloopError):
            ranker.learn(queries.query(0).X, queries.query(0).y)
        with contextlib.suppress(RankloopError):
            ranker.predict_then_learn(queries)
            ranker.discount_past(0.5)
    ranker.predict(queries)


if __name__ == "__main__":
    main(prepare)
