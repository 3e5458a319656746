"""Every ranker of boosted trees, and how good it is."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rankloop as rl

KINDS = [
    rl.XENDCGBoost(trees=12),
    rl.XENDCGBoost(0.5, trees=12),
    rl.XENDCGBoost("tight", trees=12),
    rl.LambdaMART(trees=12),
    rl.rankers.YetiRank(trees=12, random_state=3),
    rl.rankers.ListNetBoost(trees=12),
    rl.rankers.LossBoost("logistic", trees=12),
    rl.rankers.LossBoost("squared-hinge", trees=12),
]
each = pytest.mark.parametrize("ranker", KINDS, ids=repr)


def fitted(ranker, data, **options):
    return copy.deepcopy(ranker).fit(data, **options)


def quality(ranker, data):
    shuffled = data.shuffle(np.random.default_rng(0))
    return rl.evaluate(shuffled, ranker.predict(shuffled), "nDCG@10")["nDCG@10"]
