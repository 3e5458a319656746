"""Every learner of boosted trees, and how good it is."""

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
    rl.learners.YetiRank(trees=12, random_state=3),
    rl.learners.ListNetBoost(trees=12),
    rl.learners.LossBoost("logistic", trees=12),
    rl.learners.LossBoost("squared-hinge", trees=12),
]
each = pytest.mark.parametrize("ranker", KINDS, ids=repr)


def fitted(ranker, data, **options):
    return copy.deepcopy(ranker).fit(data, **options)


def quality(ranker, data):
    shuffled = data.shuffled(np.random.default_rng(0))
    return rl.evaluate(shuffled, ranker.predict(shuffled), "nDCG@10")["nDCG@10"]
