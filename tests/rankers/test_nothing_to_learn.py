"""Grades from which no order can be learnt are an error, which says what they look like."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.rankers.registry import ranker_names

X = np.random.default_rng(0).normal(size=(12, 2))
GRADES = {
    "no document is judged": (np.full(12, -1), [4, 8]),
    "every grade is 1, so": (np.ones(12), [4, 8]),
    "every grade is 1, apart from those below 0, which mean unjudged": ([1, -1] * 6, [4, 8]),
    "each query has only one judged document": (np.arange(12), [1] * 12),
    "all judged documents have the same grade": ([0] * 4 + [2] * 8, [4, 8]),
}


@pytest.mark.parametrize("found", GRADES)
def test_it_says_what_the_grades_look_like(found):
    y, group = GRADES[found]
    ranker = rl.Slam().fit(X, [0, 1] * 6, group=[4, 8])
    before = ranker.digest()
    with pytest.raises(DataError, match=found):
        ranker.fit(X, y, group=group)
    assert ranker.digest() == before
    ranker.partial_fit(X, y, group=group)  # of a stream, a part may teach nothing


def test_rankers_that_take_equal_grades_learn_from_them():
    """And no others do."""
    data = rl.QueryDataset.from_arrays(X, X[:, 0] > 0, group=[1] * 12)
    for name in ranker_names():
        traits = rl.make_ranker(name).traits
        if traits.takes_equal_grades:
            assert np.ptp(rl.make_ranker(name).fit(data).predict(X, group=[12])) > 0, name
        elif not traits.is_baseline and traits.is_online:
            ranker = rl.make_ranker(name).partial_fit(data)
            assert name == "neural-pdgd" or not np.ptp(ranker.predict(X, group=[12])), name
